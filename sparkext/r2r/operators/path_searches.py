"""Property paths that need a search (p?, p*, p+): their steps are relations, the search is an operator of ours."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import Bgp, Distinct, Path, Project, Union
from sparkext.language.nodes import QuotedPattern, TriplePattern, Variable
from sparkext.language.paths import OneOrMore, PathExpression, ZeroOrMore, ZeroOrOne
from sparkext.r2r.functions.variable_columns import column, column_name
from sparkext.r2r.leaves.leaf import DerivedLeaf
from sparkext.r2r.leaves.scopes import InWindow, Scope, scope_variables
from sparkext.r2r.operators.pattern_compiling import PatternCompiling
from sparkext.r2r.patterns.expand_paths import numbered, path_pattern
from sparkext.r2r.patterns.substitution import PathFromGiven
from sparkext.r2r.relations.frames import PreparedFrames
from sparkext.r2r.relations.part_keys import leaf_key
from sparkext.r2r.relations.solutions import Solutions

if TYPE_CHECKING:
    from pyspark.sql import Column

_FROM, _TO, _NODE = Variable("_:from"), Variable("_:to"), Variable("_:node")
_REACHED = "_reached"


@dataclass(frozen=True)
class PathSearches:
    """Compiles paths for one compiler of patterns."""

    compiler: PatternCompiling

    def relation(self, node: Path, scope: Scope) -> Solutions:
        """All solutions of a path by itself (SPARQL 1.1, section 18.4).

        The search begins at the end that is a term; where neither is, at every node of the graph for a path that may
        have no steps, else wherever a step begins.
        """
        _check(node)
        graph = scope_variables(scope)
        ends = (node.subject, node.object)
        forward = isinstance(node.object, Variable) or not isinstance(node.subject, Variable)
        begin, end = ends if forward else ends[::-1]
        if not isinstance(begin, Variable):
            starts = self._constant(begin.n3(), scope)
        elif _none(node.path):
            starts = self._nodes(scope)
        else:
            steps = self._steps(node.path, scope, not forward)
            starts = steps.select((_TO, *graph))
            starts = _renamed(Solutions(starts.frame.distinct(), *_fields(starts)), _TO, _NODE)
        found = self._search(starts, _NODE, node.path, scope, forward)
        columns: dict[Variable, Column] = {v: column(v) for v in graph}
        reached, tests = F.col(_REACHED), []
        if isinstance(begin, Variable):
            columns[begin] = column(_NODE)
            if begin in graph:
                tests.append(column(begin) == column(_NODE))
        if not isinstance(end, Variable):
            tests.append(reached == self._term(end.n3()))
        elif end in columns:
            tests.append(reached == columns[end])
        else:
            columns[end] = reached
        frame = found.frame
        for test in tests:
            frame = frame.where(test)
        shown = [value.alias(column_name(v)) for v, value in columns.items()]
        frame = frame.select(*(shown or [F.lit(1).cast("bigint").alias("_present")]))
        rows = self.compiler.estimates.largest_step(node, scope)[0]
        return Solutions(frame, tuple(columns), frozenset(columns), rows)

    def extend(self, solutions: Solutions, node: Path, scope: Scope) -> Solutions:
        """The join of solutions with a path, searched from the end that they bind."""
        subject, object_ = node.subject, node.object
        assert isinstance(subject, Variable) and isinstance(object_, Variable)
        preferred = node.outer if isinstance(node, PathFromGiven) else frozenset()
        forward = subject in solutions.certain
        if object_ in solutions.certain & preferred and subject not in preferred:
            forward = False
        begin, end = (subject, object_) if forward else (object_, subject)
        put_in = isinstance(node, PathFromGiven) and begin in node.outer
        if _none(node.path) and not put_in:
            # A path of no steps leads from a node of the graph to itself; other terms lead nowhere at all.
            nodes = _renamed(self._nodes(scope), _NODE, begin)
            solutions = semi_join(solutions, nodes, self.compiler.frames.prepared)
        found = self._search(solutions, begin, node.path, scope, forward)
        frame, variables = found.frame, solutions.variables
        columns = [column(v) for v in variables]
        if end in variables:
            frame = frame.where(F.col(_REACHED) == column(end))
        else:
            columns.append(F.col(_REACHED).alias(column_name(end)))
            variables = (*variables, end)
        rows = max(1.0, solutions.estimated_rows)
        return Solutions(frame.select(*columns), variables, solutions.certain | {end}, rows)

    def can_extend(self, node: Path, scope: Scope, bound: frozenset[Variable]) -> bool:
        """Whether solutions that bind these variables give the search a place to begin."""
        ends, graph = (node.subject, node.object), scope_variables(scope)
        return (
            all(isinstance(end, Variable) and end not in graph for end in ends)
            and set(graph) <= bound
            and any(end in bound for end in ends)
        )

    def _search(
        self, starts: Solutions, begin: Variable, path: PathExpression, scope: Scope, forward: bool
    ) -> Solutions:
        graph = scope_variables(scope)
        steps = self._steps(path, scope, forward)
        frame = self.compiler.room.path_search(
            starts.frame,
            steps.frame,
            [column_name(v) for v in (*graph, begin)],
            [column_name(v) for v in (*graph, _FROM)],
            column_name(_TO),
            _REACHED,
            _none(path),
            not isinstance(path, ZeroOrOne),
        )
        return Solutions(frame, *_fields(starts))

    def _steps(self, path: PathExpression, scope: Scope, forward: bool) -> Solutions:
        """The pairs that one round of the path connects, in the direction of the search."""
        assert isinstance(path, ZeroOrOne | ZeroOrMore | OneOrMore)
        begin, end = (_FROM, _TO) if forward else (_TO, _FROM)
        pattern = path_pattern(begin, path.path, end, numbered(count(), "step"), Bgp())
        steps = self.compiler.compile(pattern, scope)
        return steps.select((*scope_variables(scope), _FROM, _TO))

    def pairs(self, path: PathExpression, scope: Scope, most: int) -> int:
        """How many pairs of different ends any number of rounds connects, `most` + 1 when more."""
        steps = self._steps(path, scope, True)
        return self.compiler.room.path_pairs(steps.frame, most)

    def keeps(self, node: Path, scope: Scope) -> bool:
        """Whether the pairs that a static path connects are few enough to be kept; they are counted for that, once."""
        compiler = self.compiler
        if isinstance(node, PathFromGiven):
            return False
        rows, inputs = compiler.estimates.largest_step(node, scope)
        policy = compiler.policy
        if policy.refusal(rows, inputs) is None:
            return True
        ends = isinstance(node.subject, Variable) and isinstance(node.object, Variable)
        if (
            not ends
            or isinstance(node.path, ZeroOrOne)
            or not isinstance(compiler.frames, PreparedFrames)
        ):
            return False
        most = int(min(policy.max_rows, max(policy.always_rows, policy.max_growth * inputs)))
        key = ("pairs", leaf_key(DerivedLeaf(node, scope), compiler.estimates.dataset)[0], most)
        searches = PathSearches(compiler.maker())
        return compiler.frames.measured(key, lambda: searches.pairs(node.path, scope, most)) <= most

    def _nodes(self, scope: Scope) -> Solutions:
        """The subjects and objects of the graph, each once."""
        compiler = self.compiler
        other, third = Variable("_:a"), Variable("_:b")
        places = [TriplePattern(_NODE, other, third), TriplePattern(third, other, _NODE)]
        both = Union(Bgp((places[0],)), Bgp((places[1],)))
        columns = (*scope_variables(scope), _NODE)
        nodes = Distinct(Project(both, columns))
        leaf = DerivedLeaf(nodes, scope)
        if leaf.static and compiler.frames.prepared:
            key, _ = leaf_key(leaf, compiler.estimates.dataset)
            return compiler.frames.kept(
                key,
                "nodes",
                columns,
                lambda: compiler.maker().compile(nodes, scope).select(columns).frame,
            )
        return compiler.compile(nodes, scope).select(columns)

    def _constant(self, term: str, scope: Scope) -> Solutions:
        compiler = self.compiler
        variables = (*scope_variables(scope), _NODE)
        start = compiler.estimates.constant(term)
        rows = [[start]]
        if isinstance(scope, InWindow) and len(variables) > 1:
            # The elements' graphs are those of now.
            graph = variables[0]
            triple = TriplePattern(Variable("_:s"), Variable("_:p"), Variable("_:o"))
            found = compiler.compile(Distinct(Project(Bgp((triple,)), (graph,))), scope)
            value = self._term(term).alias(column_name(_NODE))
            return Solutions(
                found.frame.select(column(graph), value),
                variables,
                frozenset(variables),
                found.estimated_rows,
            )
        if len(variables) > 1:
            names = compiler.estimates.dataset.named_graphs
            rows = [[compiler.estimates.constant(name.n3()), start] for name in names]
        names_ = [column_name(v) for v in variables]
        make = (
            compiler.room.constant_frame if compiler.frames.prepared else compiler.room.inline_frame
        )
        return Solutions(make(names_, rows), variables, frozenset(variables), float(len(rows)))

    def _term(self, term: str) -> Column:
        return F.call_function("cqels_term", F.lit(self.compiler.estimates.constant(term)))


def semi_join(
    left: Solutions, right: Solutions, broadcast: bool, how: str = "left_semi"
) -> Solutions:
    """The left solutions whose shared variables, bound on both sides, stand together in a right one."""
    shared = [v for v in left.variables if v in right.variables]
    build = right.frame.select(*(column(v).alias(f"{column_name(v)}_right") for v in shared))
    build = F.broadcast(build) if broadcast else build
    test = F.lit(True)
    for v in shared:
        test = test & (column(v) == F.col(f"{column_name(v)}_right"))
    return Solutions(left.frame.join(build, test, how), *_fields(left))


def _check(node: Path) -> None:
    if any(isinstance(end, QuotedPattern) for end in (node.subject, node.object)):
        raise UnsupportedFeatureError(
            "a quoted pattern at the end of a property path is not supported",
            *(node.position or (1, 1)),
        )


def _none(path: PathExpression) -> bool:
    """Whether the path may have no steps."""
    return isinstance(path, ZeroOrMore | ZeroOrOne)


def _fields(like: Solutions) -> tuple[tuple[Variable, ...], frozenset[Variable], float]:
    return like.variables, like.certain, like.estimated_rows


def _renamed(solutions: Solutions, old: Variable, new: Variable) -> Solutions:
    names = {old: new}
    variables = tuple(names.get(v, v) for v in solutions.variables)
    frame = solutions.frame.withColumnRenamed(column_name(old), column_name(new))
    return Solutions(frame, variables, frozenset(variables), solutions.estimated_rows)
