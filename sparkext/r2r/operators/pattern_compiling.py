"""What the parts of the pattern compiler may ask of the whole: other patterns compiled, expressions as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from adaptive import PrejoinPolicy
from sparkext.language.expressions import Aggregate, Expression
from sparkext.language.nodes import Node, Position, Variable
from sparkext.r2r.leaves.scopes import DEFAULT_GRAPH, Scope
from sparkext.r2r.relations.frames import Frames
from sparkext.r2r.relations.leaf_estimates import LeafEstimates
from sparkext.r2r.relations.solutions import Solutions

if TYPE_CHECKING:
    from pyspark.sql import Column

    from sparkext.bridge.engine_room import EngineRoom


class PatternCompiling(Protocol):
    """A compiler of one query's patterns, as the operators of the algebra see it.

    `frames` gives relations, `estimates` what is known of them, `policy` what may be joined once and kept.
    """

    room: EngineRoom
    frames: Frames
    estimates: LeafEstimates
    policy: PrejoinPolicy

    def compile(
        self, node: Node, scope: Scope = DEFAULT_GRAPH, needed: frozenset[Variable] | None = None
    ) -> Solutions:
        """The solutions of a pattern; the scope says where patterns outside WINDOW and GRAPH look.

        `needed` are the variables that are read above (None: all); others may be dropped, rows may not.
        """

    def maker(self) -> PatternCompiling:
        """A compiler of static parts that are kept."""

    def number(self) -> int:
        """A number that this query has not used yet."""

    def give(self, solutions: Solutions) -> int:
        """The number by which a `Given` leaf reads these solutions."""

    def read_twice(self, solutions: Solutions, position: Position | None) -> Solutions:
        """The solutions for a plan that reads them twice: where lots are drawn, they are computed once, before it.

        Raises UnsupportedFeatureError, at that position, where they cannot be.
        """

    def where(
        self, solutions: Solutions, condition: Expression, also: Sequence[str] = ()
    ) -> Solutions:
        """The solutions for which the condition is true, EXISTS in it or not.

        `also` are columns to be kept beside the variables'.
        """

    def marked(
        self, solutions: Solutions, expressions: Sequence[Expression]
    ) -> tuple[Solutions, tuple[Expression, ...]]:
        """The solutions with a column for each EXISTS, and the expressions that read these columns instead.

        The added columns are no variables: `select` what is wanted afterwards.
        """

    def condition(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        """Whether a condition holds, null for an error; notes what evaluating it needs."""

    def counted_condition(
        self, expression: Expression, columns: Mapping[Variable, Column]
    ) -> Column:
        """As `condition`, for a filter, whose rows are counted if it calls uncertainty functions."""

    def value(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        """The id of an expression's value, null for an error; notes what evaluating it needs."""

    def counted_value(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        """As `value`, for a BIND, whose rows are counted if it calls uncertainty functions."""

    def aggregate(self, aggregate: Aggregate, solutions: Solutions) -> Column:
        """The id of an aggregate's value over each group of the solutions; notes what evaluating it needs."""
