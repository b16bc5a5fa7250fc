"""Leaves of the algebra for rows that come from elsewhere in the same evaluation, and what a plan knows of a row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sparkext.language.expressions import Expression, VariableReference
from sparkext.language.nodes import Node, TriplePattern, Variable


@dataclass(frozen=True)
class StageRows(Node):
    """The rows of a stage; every variable is bound in each of them."""

    stage: str
    names: tuple[Variable, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The stage's columns."""
        return self.names


@dataclass(frozen=True)
class Given(Node):
    """The distinct outer solutions that an EXISTS is asked for, as a pattern; `sure` are never unbound."""

    number: int
    names: tuple[Variable, ...]
    sure: frozenset[Variable]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns of the solutions."""
        return self.names


@dataclass(frozen=True)
class Found(Expression):
    """Whether an EXISTS of this row was found, as a column that a plan has made."""

    name: str


@dataclass(frozen=True)
class LatestTime(Expression):
    """The latest of the times that these variables have, in milliseconds as xsd:integer; an error where none has one.

    They are bound to times as the JVM writes them into columns of ids. `triple` is what was sighted then.
    """

    triple: TriplePattern
    times: tuple[VariableReference, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        """The variables."""
        return self.times

    def replace_children(self, children: tuple[Expression, ...]) -> LatestTime:
        """The same of other variables."""
        times = tuple(child for child in children if isinstance(child, VariableReference))
        return replace(self, times=times)


@dataclass(frozen=True)
class LiveRows(Node):
    """A relation that is kept up outside of the plan; `sure` are never unbound."""

    names: tuple[Variable, ...]
    sure: frozenset[Variable]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns of the relation."""
        return self.names


@dataclass(frozen=True)
class InstanceRows(LiveRows):
    """The instances of the template that the query is: the number of each and its constants."""


@dataclass(frozen=True)
class MatchRows(LiveRows):
    """The solution mappings of the query's MATCH of that number, kept up as elements come.

    Those of a `monotone` one are only gained by what arrives, and lost by what leaves windows.
    """

    number: int = 0
    monotone: bool = False
