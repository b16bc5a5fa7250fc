"""Every rule keeps the meaning of random patterns; without its condition, it would not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from sparkext.language.algebra import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Project,
    ToMultiset,
    Union,
    Values,
    Window,
)
from sparkext.language.expressions import (
    And,
    Arithmetic,
    BuiltinCall,
    Comparison,
    Constant,
    Exists,
    Expression,
    Or,
    VariableReference,
)
from sparkext.language.nodes import Node, TriplePattern, Variable
from sparkext.rewriting import binds, filters, unions_and_joins
from sparkext.rewriting.push_filters import push_filters
from sparkext.rewriting.rules import RULES, Rule
from static_data.terms import Iri
from tests.sparkext.rewriting.algebra_evaluation import Evaluation, Solutions, World, integer
from tests.sparkext.rewriting.random_patterns import RandomPatterns

CASES = 250
A, B, V, N = (Variable(name) for name in "abvn")
P, Q, X, W = (Iri(f"http://e/{name}") for name in "pqxw")

# Patterns of the shape of each rule's left side, around random parts.
SHAPES: dict[str, Callable[[RandomPatterns], Node]] = {
    "UAss": lambda r: Union(Union(r.pattern(), r.pattern()), r.pattern()),
    "JAss": lambda r: Join(Join(r.pattern(), r.pattern()), r.pattern()),
    "UComm": lambda r: Union(r.pattern(), r.pattern()),
    "JComm": lambda r: Join(r.pattern(), r.pattern()),
    "JUDistR": lambda r: Join(Union(r.pattern(), r.pattern()), r.pattern()),
    "LUDistR": lambda r: LeftJoin(Union(r.pattern(), r.pattern()), r.pattern(), r.condition()),
    "FDecompI": lambda r: Filter(And(r.condition(), r.condition()), r.pattern()),
    "FDecompII": lambda r: Filter(Or(r.condition(), r.condition()), r.pattern()),
    "FReordI": lambda r: Filter(And(r.condition(), r.condition()), r.pattern()),
    "FReordII": lambda r: Filter(Or(r.condition(), r.condition()), r.pattern()),
    "FUPush": lambda r: Filter(r.condition(), Union(r.pattern(), r.pattern())),
    "FJPush": lambda r: Filter(r.condition(), Join(r.pattern(), r.pattern())),
    "FLPush": lambda r: Filter(r.condition(), r.left_join(1)),
    "FWPush": lambda r: Filter(r.condition(), Window(r.name(), r.pattern())),
    "FGPush": lambda r: Filter(r.condition(), Graph(r.name(), r.pattern())),
    "FBPush": lambda r: Filter(r.condition(), r.extend(2)),
    "FSPush": lambda r: Filter(r.condition(), r.sub_select(2)),
    "FMPush": lambda r: Filter(r.condition(), Minus(r.pattern(), r.pattern())),
    "FOPush": lambda r: LeftJoin(r.pattern(), r.pattern(), r.condition()),
    "BGPush": lambda r: Graph(r.name(), r.extend(1)),
    "BWPush": lambda r: Window(r.name(), r.extend(1)),
    "BJPush": lambda r: r.bind(Join(r.pattern(), r.pattern())),
    "BLPush": lambda r: r.bind(r.left_join(1)),
    "BJPush from right to left": lambda r: Join(r.extend(1), r.pattern()),
    "BLPush from right to left": lambda r: LeftJoin(r.extend(1), r.pattern(), r.condition()),
}


def differences(left: Node, right: Node, world: World, bag: bool) -> tuple[Solutions, Solutions]:
    """What only one of the two patterns answers, and what only the other does."""
    one, other = (Evaluation(world, bag).solutions(node) for node in (left, right))
    return one - other, other - one


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_both_sides_mean_the_same(rule: Rule) -> None:
    rewritten = answered = 0
    for seed in range(CASES):
        random = RandomPatterns(seed)
        left, world = SHAPES[rule.name](random), random.world()
        right = rule.rewrite(left)
        if right is None:
            continue
        assert right != left or rule.name in ("UComm", "JComm", "FReordI", "FReordII")
        rewritten += 1
        for semantics in rule.holds_for:
            assert differences(left, right, world, semantics == "bag") == (Counter(), Counter())
        answered += bool(Evaluation(world, True).solutions(left))
    assert rewritten > CASES / 10 and answered > CASES / 25


def test_every_rule_has_random_patterns_and_a_name_of_its_own() -> None:
    assert [rule.name for rule in RULES] == list(SHAPES)


def test_only_the_decomposition_of_or_is_for_sets_alone() -> None:
    assert [rule.name for rule in RULES if "bag" not in rule.holds_for] == ["FDecompII"]


def test_pushed_filters_keep_the_answers_of_random_patterns() -> None:
    moved = answered = 0
    for seed in range(4 * CASES):
        random = RandomPatterns(seed)
        both = And if seed % 2 else Or
        condition = both(random.condition(), random.condition())
        left = Filter(condition, random.pattern(3))
        right = push_filters(left)
        world = random.world()
        assert differences(left, right, world, True) == (Counter(), Counter())
        moved += right != left
        answered += bool(Evaluation(world, True).solutions(left))
    assert moved > CASES and answered > CASES / 2


# -- what the conditions are for ---------------------------------------------------------------------


def bgp(subject: Variable, predicate: Iri, object_: Variable) -> Bgp:
    return Bgp((TriplePattern(subject, predicate, object_),))


def ref(variable: Variable) -> VariableReference:
    return VariableReference(variable)


def greater(variable: Variable, value: int) -> Expression:
    return Comparison(ref(variable), Constant(integer(value)), ">")


# x p 1, x q 5 and a window and a graph of other triples.
INNER = frozenset({(X, P, integer(1))})
WORLD = World(frozenset({(X, P, integer(1)), (X, Q, integer(5))}), {W: INNER}, {W: World(INNER)})
PA, QB = bgp(A, P, Variable("x")), bgp(A, Q, B)
ON_B = greater(B, 3)

COUNTEREXAMPLES = {
    # rule: (its left side, what it would be rewritten to if the condition were not looked at)
    "FJPush: the variable is bound by P2 only": (
        filters.f_j_push,
        Filter(ON_B, Join(PA, QB)),
        Join(Filter(ON_B, PA), QB),
    ),
    "FLPush: the variable is bound by P2 only": (
        filters.f_l_push,
        Filter(ON_B, LeftJoin(PA, QB)),
        LeftJoin(Filter(ON_B, PA), QB),
    ),
    "FWPush: n in vars(R)": (
        filters.f_w_push,
        Filter(BuiltinCall("BOUND", (ref(N),)), Window(N, PA)),
        Window(N, Filter(BuiltinCall("BOUND", (ref(N),)), PA)),
    ),
    "FWPush: EXISTS": (
        filters.f_w_push,
        Filter(Exists(QB), Window(W, PA)),
        Window(W, Filter(Exists(QB), PA)),
    ),
    "FGPush: n in vars(R)": (
        filters.f_g_push,
        Filter(BuiltinCall("BOUND", (ref(N),)), Graph(N, PA)),
        Graph(N, Filter(BuiltinCall("BOUND", (ref(N),)), PA)),
    ),
    "FGPush: EXISTS": (
        filters.f_g_push,
        Filter(Exists(QB), Graph(W, PA)),
        Graph(W, Filter(Exists(QB), PA)),
    ),
    "FBPush: ?v in vars(R)": (
        filters.f_b_push,
        Filter(ON_B, Extend(PA, B, Constant(integer(7)))),
        Extend(Filter(ON_B, PA), B, Constant(integer(7))),
    ),
    "FSPush: a hidden variable": (
        filters.f_s_push,
        Filter(ON_B, Project(QB, (A,))),
        Project(Filter(ON_B, QB), (A,)),
    ),
    "FOPush: the variable is bound by P1 only": (
        filters.f_o_push,
        LeftJoin(QB, PA, ON_B),
        LeftJoin(QB, Filter(ON_B, PA)),
    ),
    "BGPush: n in vars(C)": (
        binds.b_g_push,
        Graph(N, Extend(PA, V, ref(N))),
        Extend(Graph(N, PA), V, ref(N)),
    ),
    "BWPush: n in vars(C)": (
        binds.b_w_push,
        Window(N, Extend(PA, V, ref(N))),
        Extend(Window(N, PA), V, ref(N)),
    ),
    "BJPush: a variable bound by P2 only": (
        binds.b_j_push,
        Extend(Join(PA, QB), V, Arithmetic(ref(B), Constant(integer(1)), "+")),
        Join(Extend(PA, V, Arithmetic(ref(B), Constant(integer(1)), "+")), QB),
    ),
    "BLPush: a variable bound by P2 only": (
        binds.b_l_push,
        Extend(LeftJoin(PA, QB), V, Arithmetic(ref(B), Constant(integer(1)), "+")),
        LeftJoin(Extend(PA, V, Arithmetic(ref(B), Constant(integer(1)), "+")), QB),
    ),
    "BLPush: ?v in the condition of the OPT": (
        binds.b_l_push,
        Extend(LeftJoin(PA, QB, greater(V, 0)), V, Constant(integer(1))),
        LeftJoin(Extend(PA, V, Constant(integer(1))), QB, greater(V, 0)),
    ),
}


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_without_its_condition_a_rule_changes_the_answer(name: str) -> None:
    rewrite, left, right = COUNTEREXAMPLES[name]
    assert rewrite(left) is None
    assert differences(left, right, WORLD, True) != (Counter(), Counter())


@pytest.mark.parametrize("rule", [binds.b_g_push, binds.b_w_push])
def test_the_quantified_name_is_not_bound_outside(rule: Callable[[Node], Node | None]) -> None:
    # The other side would bind ?n twice, which is no pattern at all.
    kind = Graph if rule is binds.b_g_push else Window
    assert rule(kind(N, Extend(PA, N, Constant(W)))) is None


def test_bind_is_not_pulled_out_of_a_join_that_compares_it() -> None:
    bound = Extend(PA, V, Constant(integer(7)))
    elsewhere = Values((V,), ((integer(8),),))
    for node in (Join(bound, elsewhere), LeftJoin(bound, elsewhere)):
        assert binds.b_j_pull(node) is None and binds.b_l_pull(node) is None
    # Joined first, ?v would be 8 already; the two differ on 7 and 8.
    assert not Evaluation(WORLD, True).solutions(Join(bound, elsewhere))
    assert Evaluation(WORLD, True).solutions(Join(PA, elsewhere))


def test_decomposition_of_or_doubles_a_row_of_a_bag() -> None:
    left = Filter(Or(greater(B, 3), greater(B, 4)), QB)
    right = filters.f_decomp_ii(left)
    assert right is not None
    row = frozenset({(A, X), (B, integer(5))})
    assert Evaluation(WORLD, False).solutions(right) == {row: 1}
    assert Evaluation(WORLD, True).solutions(left) == {row: 1}
    assert Evaluation(WORLD, True).solutions(right) == {row: 2}


def test_the_mirror_image_of_ludistr_is_false() -> None:
    p1, p2, p3 = bgp(A, P, Variable("x")), QB, bgp(A, Iri("http://e/none"), B)
    left = LeftJoin(p1, Union(p2, p3))
    assert unions_and_joins.l_u_dist_r(left) is None
    right = Union(LeftJoin(p1, p2), LeftJoin(p1, p3))
    assert differences(left, right, WORLD, False) != (Counter(), Counter())


def test_a_variable_certain_in_p1_may_be_possible_in_p2() -> None:
    # The paper's "and" would forbid a filter on a join variable.
    filtered = Filter(greater(B, 3), Join(QB, bgp(V, Q, B)))
    pushed = filters.f_j_push(filtered)
    assert pushed == Join(Filter(greater(B, 3), QB), bgp(V, Q, B))


@pytest.mark.parametrize(
    "node",
    [
        Filter(BuiltinCall("RAND", ()), Join(PA, QB)),
        Filter(BuiltinCall("RAND", ()), LeftJoin(PA, QB)),
        Filter(BuiltinCall("RAND", ()), Distinct(QB)),
        Filter(Or(BuiltinCall("RAND", ()), ON_B), QB),
        Extend(Join(PA, QB), V, BuiltinCall("BNODE", ())),
        Join(Extend(PA, V, BuiltinCall("UUID", ())), QB),
        LeftJoin(PA, QB, BuiltinCall("RAND", ())),
    ],
)
def test_what_has_a_new_value_at_each_call_stays(node: Node) -> None:
    moves = [rule.rewrite for rule in RULES if rule.name not in ("JComm", "FReordII")]
    assert [rewrite(node) for rewrite in moves if rewrite(node) is not None] == []


def test_filters_are_pushed_into_a_sub_select_but_not_into_a_group() -> None:
    sub_select = ToMultiset(Project(LeftJoin(QB, PA), (A, B)))
    pushed = push_filters(Filter(ON_B, Join(PA, sub_select)))
    assert pushed == Join(PA, ToMultiset(Project(LeftJoin(Filter(ON_B, QB), PA), (A, B))))
