"""A leaf of the algebra for rows that an earlier stage of the same evaluation has computed."""

from __future__ import annotations

from dataclasses import dataclass

from sparkext.language.algebra import Node, Variable


@dataclass(frozen=True)
class StageRows(Node):
    """The rows of a stage; every variable is bound in each of them."""

    stage: str
    names: tuple[Variable, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The stage's columns."""
        return self.names
