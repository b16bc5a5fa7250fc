"""Triples as pairs of integers by predicate, for peers that know no terms, and for counting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adaptive import Catalogue, ColumnStatistics, QueryGraph, RelationStatistics
from bench.join_orders.batch_streams import BatchStream, StaticWorld
from bench.report import BenchError

Pairs = npt.NDArray[np.int32]
"""Rows of subjects and objects."""

NOW = "now"
_PATTERN = re.compile(r"(?:(?P<window>\w+)\{)?\?\w+ (?P<predicate>\w+) \?\w+\}?")


class Terms:
    """Terms by number, numbered as they come."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.texts: list[str] = []

    def number(self, text: str) -> int:
        """The number of a term."""
        found = self._numbers.setdefault(text, len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found

    def pairs(self, lines: Iterable[str]) -> dict[str, Pairs]:
        """Lines of N-Triples as different pairs by the last part of their predicate, sorted.

        >>> terms = Terms()
        >>> terms.pairs(['<a> <http://e/knows> "b c" .', '<a> <http://e/knows> "b c" .'])["knows"].tolist()
        [[0, 1]]
        >>> terms.texts
        ['<a>', '"b c"']
        """
        cells: dict[str, list[int]] = {}
        for line in lines:
            subject, predicate, rest = line.split(" ", 2)
            found = cells.setdefault(predicate, [])
            found.append(self.number(subject))
            found.append(self.number(rest[:-2]))
        return {
            predicate[1:-1].rpartition("/")[2]: different(np.array(of, np.int32).reshape(-1, 2))
            for predicate, of in cells.items()
        }

    def decode(self, table: pa.Table) -> pa.Table:
        """A table of numbers as one of texts."""
        texts = pa.array(self.texts, pa.string())
        return pa.table({name: texts.take(table.column(name)) for name in table.column_names})


def different(pairs: Pairs) -> Pairs:
    """Each pair once, in order."""
    joined = (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]
    found = np.unique(joined)
    return np.stack([found >> 32, found & 0xFFFFFFFF], axis=1).astype(np.int32)


def table_of(relation: str) -> tuple[str, str]:
    """Window ("": static data) and predicate of a relation, by its name in plans.

    >>> table_of("now{?a enters ?room}"), table_of("?a knows ?b")
    (('now', 'enters'), ('', 'knows'))
    """
    found = _PATTERN.fullmatch(relation)
    if found is None:
        raise BenchError(f"{relation} is no plain pattern")
    return found["window"] or "", found["predicate"]


class StaticIntegers:
    """A world's static data as integers, and all terms that were numbered since."""

    def __init__(self, world: StaticWorld) -> None:
        self.terms = Terms()
        self.pairs = self.terms.pairs(world.static_lines())


class IntegerRelations:
    """What the relations of a stream's query hold."""

    def __init__(self, stream: BatchStream, static: StaticIntegers) -> None:
        self._stream = stream
        self.terms = static.terms
        self._static = static.pairs
        self._present = self.terms.pairs(stream.present)

    def of(self, graph: QueryGraph, phase: int, batch: int) -> dict[str, Pairs]:
        """The rows of each relation of a query in a batch."""
        arriving = self.terms.pairs(self._stream.arriving(phase, batch))
        held = {"": self._static, NOW: arriving}
        found = {}
        for relation in graph.relations:
            window, predicate = table_of(relation.name)
            found[relation.name] = held.get(window, self._present)[predicate]
        return found


def counted(graph: QueryGraph, rows: Mapping[str, Pairs]) -> Catalogue:
    """A catalogue of exact counts: rows, and different values."""
    return Catalogue(
        {
            relation.name: RelationStatistics(
                float(len(rows[relation.name])),
                {
                    variable: ColumnStatistics(float(len(np.unique(rows[relation.name][:, place]))))
                    for place, variable in enumerate(relation.variables)
                },
            )
            for relation in graph.relations
        }
    )
