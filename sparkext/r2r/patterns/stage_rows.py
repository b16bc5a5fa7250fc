"""Leaves of the algebra for rows that come from elsewhere in the same evaluation, and what a plan knows of a row."""

from __future__ import annotations

from dataclasses import dataclass

from sparkext.language.expressions import Expression
from sparkext.language.nodes import Node, Variable


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
class MatchRows(Node):
    """The solution mappings of the query's MATCH of that number, kept up as elements come; `sure` are never unbound.

    Those of a `monotone` one are only gained by what arrives, and lost by what leaves windows.
    """

    number: int
    names: tuple[Variable, ...]
    sure: frozenset[Variable]
    monotone: bool = False

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns of its relation."""
        return self.names
