"""Inline data whose cells may be constants of instances."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from sparkext.language.algebra import Extend, Union, Values
from sparkext.language.expressions import Constant, VariableReference
from sparkext.language.nodes import Node, Variable
from sparkext.r2r.patterns.local_names import rename
from static_data.terms import Term

Cell = Term | Variable | None


@dataclass(frozen=True)
class InlineRows(Node):
    """VALUES with variables for some of its terms; None in a row is UNDEF."""

    names: tuple[Variable, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Those that it gives values."""
        return self.names

    @property
    def sure(self) -> frozenset[Variable]:
        """Those that every row gives a value."""
        columns = zip(self.names, zip(*self.rows, strict=True), strict=True)
        return frozenset(name for name, cells in columns if None not in cells)

    def filled(self, terms: Mapping[Variable, Term]) -> Node:
        """The same with terms in place of these variables; VALUES where none is left."""
        rows = tuple(
            tuple(terms.get(cell, cell) if isinstance(cell, Variable) else cell for cell in row)
            for row in self.rows
        )
        settled = tuple(
            tuple(c for c in row if not isinstance(c, Variable)) for row in rows if _is_settled(row)
        )
        if len(settled) == len(rows):
            return Values(self.names, settled)
        return dataclasses.replace(self, rows=rows)

    def joined(self, instances: Node) -> Node:
        """The rows of each instance, with its number; `instances` binds the variables of cells."""
        return reduce(Union, (self._row(row, instances) for row in self.rows))

    def _row(self, row: tuple[Cell, ...], instances: Node) -> Node:
        cells = [(n, cell) for n, cell in zip(self.names, row, strict=True) if cell is not None]
        # A column of the relation of instances by another name is found by its index; what is computed is not.
        columns: dict[Variable, Variable] = {}
        computed: list[tuple[Variable, Term | Variable]] = []
        for name, cell in cells:
            if isinstance(cell, Variable) and cell not in columns:
                columns[cell] = name
            else:
                computed.append((name, cell))
        made = rename(instances, columns)
        for name, cell in computed:
            value = (
                VariableReference(columns[cell]) if isinstance(cell, Variable) else Constant(cell)
            )
            made = Extend(made, name, value)
        return made


def _is_settled(row: tuple[Cell, ...]) -> bool:
    return not any(isinstance(cell, Variable) for cell in row)
