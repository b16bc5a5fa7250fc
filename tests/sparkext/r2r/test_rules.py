"""The rewrites of joins, each with a pattern before and after, and where they must not act."""

from __future__ import annotations

from sparkext.language import parse_query
from sparkext.language.algebra import Distinct, Group, Project, Window
from sparkext.language.nodes import Node, Variable
from sparkext.r2r.clusters.restrict_groups import restrict_groups
from sparkext.r2r.clusters.share_clusters import shared_cluster, shared_group, with_group
from sparkext.r2r.leaves.flattening import Cluster, flatten, flatten_group
from sparkext.r2r.leaves.leaf import DerivedLeaf, StaticLeaf, WindowLeaf
from sparkext.r2r.leaves.scopes import DEFAULT_GRAPH, NamedGraph
from sparkext.r2r.patterns.local_names import number_hidden
from sparkext.r2r.patterns.stage_rows import StageRows
from static_data.terms import Iri

HEAD = """
PREFIX : <http://example.org/>
SELECT * FROM NAMED WINDOW :now ON :s [NOW] FROM NAMED WINDOW :w30 ON :s [RANGE PT30S] WHERE
"""
COUNTS = """{ SELECT ?a ?b (COUNT(?y) AS ?n)
              WHERE { ?x :creator ?a . ?y :creator ?b . ?x :cites ?y } GROUP BY ?a ?b }"""
MET = f"WINDOW :now {{ ?a :at ?room }} WINDOW :w30 {{ ?b :at ?room }} {COUNTS} FILTER(?a != ?b)"


def cluster(body: str) -> Cluster:
    pattern = number_hidden(parse_query(HEAD + "{" + body + "}").pattern)
    assert isinstance(pattern, Project)
    return flatten_group(pattern.input, DEFAULT_GRAPH)


def group_of(leaf: object) -> Group:
    assert isinstance(leaf, DerivedLeaf)
    return next(node for node in leaf.node.walk() if isinstance(node, Group))


def restrictions(node: Node) -> list[tuple[str, str]]:
    """Window and variable of each Distinct(Project(Window)) joined into a pattern."""
    found = []
    for part in node.walk():
        if isinstance(part, Distinct) and isinstance(part.input, Project):
            window = part.input.input
            assert isinstance(window, Window)
            found.append((str(window.name)[-5:].strip("/<>'\")"), part.input.names[0].name))
    return found


def test_a_group_is_taken_apart_into_leaves_and_conditions() -> None:
    found = cluster(
        "WINDOW :now { ?a :at ?room } GRAPH :g { ?room :name ?t } ?a :name ?n FILTER(?n != ?t && ?n != 'x')"
    )
    assert [type(leaf) for leaf in found.leaves] == [WindowLeaf, StaticLeaf, StaticLeaf]
    assert len(found.conditions) == 2
    assert found.leaves[0].static is False
    assert found.leaves[1].static is True


def test_a_condition_of_an_inner_group_goes_up_only_if_its_variables_are_bound_there() -> None:
    bound = cluster("{ ?a :p ?b FILTER(?a != ?b) } ?b :q ?c")
    assert len(bound.leaves) == 2
    assert len(bound.conditions) == 1
    # ?c is bound outside only: inside its group the condition is an error and removes every row.
    unbound = cluster("{ ?a :p ?b FILTER(?a != ?c) } ?b :q ?c")
    assert [type(leaf) for leaf in unbound.leaves] == [DerivedLeaf, StaticLeaf]
    assert unbound.conditions == ()


def test_optional_and_union_stay_whole() -> None:
    found = cluster("?a :p ?b OPTIONAL { ?b :q ?c } ?a :r ?d")
    assert [type(leaf) for leaf in found.leaves] == [DerivedLeaf, StaticLeaf]
    assert found.leaves[0].certain == {Variable("a"), Variable("b")}
    found = cluster("?a :p ?b { ?b :q ?c } UNION { ?c :q ?b }")
    assert [type(leaf) for leaf in found.leaves] == [StaticLeaf, DerivedLeaf]


def test_a_static_group_is_restricted_to_the_keys_of_the_windows() -> None:
    before = cluster(MET)
    after = restrict_groups(before)
    (old,) = (leaf for leaf in before.leaves if isinstance(leaf, DerivedLeaf))
    (new,) = (leaf for leaf in after.leaves if isinstance(leaf, DerivedLeaf))
    assert restrictions(old.node) == []
    assert restrictions(new.node) == [("now", "a"), ("w30", "b")]
    assert old.static
    assert not new.static
    assert after.conditions == before.conditions


def test_only_plain_keys_that_are_always_bound_restrict_a_group() -> None:
    computed = cluster(
        "WINDOW :now { ?k :at ?room } { SELECT ?k (COUNT(?x) AS ?n) WHERE { ?x :p ?y } GROUP BY (STR(?y) AS ?k) }"
    )
    assert restrict_groups(computed) == computed
    maybe = cluster(
        "WINDOW :now { ?k :at ?room } { SELECT ?k (COUNT(?x) AS ?n) "
        "WHERE { ?x :p ?y OPTIONAL { ?y :q ?k } } GROUP BY ?k }"
    )
    assert restrict_groups(maybe) == maybe
    total = cluster("WINDOW :now { ?n :at ?room } { SELECT (COUNT(?x) AS ?n) WHERE { ?x :p ?y } }")
    assert restrict_groups(total) == total
    hidden = cluster(
        "WINDOW :now { ?k :at ?room } { SELECT (COUNT(?x) AS ?n) WHERE { ?x :p ?k } GROUP BY ?k }"
    )
    assert restrict_groups(hidden) == hidden


def test_a_key_that_a_select_hides_restricts_no_group() -> None:
    counted = "{ SELECT %s WHERE { ?x :p ?k ; :q ?room } GROUP BY ?k ?room }"
    for around in ("%s", "{ SELECT ?room ?n WHERE { %s } }"):
        for shown in ("?room (COUNT(?x) AS ?n)", "?k ?room (COUNT(?x) AS ?n)"):
            both = "?k" in shown and around == "%s"
            body = f"WINDOW :now {{ ?k :at ?room }} {around % counted % shown}"
            (new,) = (
                leaf
                for leaf in restrict_groups(cluster(body)).leaves
                if isinstance(leaf, DerivedLeaf)
            )
            wanted = [("now", "k"), ("now", "room")] if both else [("now", "room")]
            assert restrictions(new.node) == wanted


def test_an_arg_max_computes_its_join_once() -> None:
    body = f"{MET} {{ SELECT ?a (MAX(?n) AS ?m) WHERE {{ {MET} }} GROUP BY ?a }} FILTER(?n = ?m)"
    found = shared_cluster(cluster(body))
    assert found is not None
    part, rest, readers = found
    assert [type(leaf) for leaf in part.leaves] == [WindowLeaf, WindowLeaf, DerivedLeaf]
    assert len(part.conditions) == 1
    assert rest.leaves == readers
    assert len(rest.conditions) == 1
    assert group_of(readers[0]).keys[0][0] == Variable("a")


def test_joins_that_differ_are_not_shared() -> None:
    other = MET.replace(":w30", ":now", 1).replace(":now", ":w30", 1)
    body = f"{MET} {{ SELECT ?a (MAX(?n) AS ?m) WHERE {{ {other} }} GROUP BY ?a }}"
    assert shared_cluster(cluster(body)) is None
    # The inner join has a pattern that the outer one lacks.
    body = f"{MET} {{ SELECT ?a (MAX(?n) AS ?m) WHERE {{ {MET} ?a :name ?x }} GROUP BY ?a }}"
    assert shared_cluster(cluster(body)) is None
    # A static join is kept anyway.
    static = "?a :p ?b . ?b :q ?c"
    body = f"{static} {{ SELECT ?a (COUNT(?c) AS ?m) WHERE {{ {static} }} GROUP BY ?a }}"
    assert shared_cluster(cluster(body)) is None


COUNTED = f"{{ SELECT ?a (COUNT(?b) AS ?n) WHERE {{ {MET} }} GROUP BY ?a }}"


def test_an_arg_max_over_aggregates_computes_them_once() -> None:
    most = f"{{ SELECT (MAX(?n) AS ?m) WHERE {{ {COUNTED} }} }}"
    both = cluster(f"{COUNTED} {most} FILTER(?n = ?m)")
    found = shared_group(both)
    assert found is not None
    group, scope = found
    assert group == group_of(both.leaves[0])
    rows = StageRows("stage 1", group.variables)
    read = with_group(both, group, scope, rows)
    assert shared_group(read) is None
    assert [[type(n) for n in leaf.node.walk()].count(StageRows) for leaf in read.leaves] == [1, 1]  # type: ignore[union-attr]
    assert with_group(both, group, NamedGraph(Iri("http://e/g")), rows) == both


def test_groups_that_differ_or_may_be_unbound_are_not_shared() -> None:
    assert shared_group(cluster(f"{COUNTED} {COUNTED.replace('?b)', '?a)')}")) is None
    maximum = COUNTED.replace("COUNT(", "MAX(")
    assert shared_group(cluster(f"{maximum} {maximum}")) is None
    random = COUNTED.replace("(?b)", "(RAND())")
    assert shared_group(cluster(f"{random} {random}")) is None
    elsewhere = (
        f"{COUNTED} GRAPH :g {{ {COUNTED.replace('WINDOW :now', '').replace('WINDOW :w30', '')} }}"
    )
    assert shared_group(cluster(elsewhere)) is None
    static = "{ SELECT ?a (COUNT(?c) AS ?m) WHERE { ?a :p ?b . ?b :q ?c } GROUP BY ?a }"
    assert shared_group(cluster(f"WINDOW :now {{ ?a :at ?x }} {static} {static}")) is None


def test_a_nested_window_scope_is_the_windows() -> None:
    pattern = parse_query(HEAD + "{ WINDOW :now { ?a :at ?b . ?b :in ?c } }").pattern
    leaves = flatten(pattern.children[0], DEFAULT_GRAPH).leaves
    assert [type(leaf) for leaf in leaves] == [WindowLeaf, WindowLeaf]
