"""Where a compiled pattern gets its rows: from our own relations, or from stock Spark tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkext.language.nodes import Variable
from sparkext.r2r.functions.variable_columns import column, column_name
from sparkext.r2r.leaves.delta_patterns import TimedMatch, TimedPattern
from sparkext.r2r.leaves.element_patterns import ElementPattern
from sparkext.r2r.leaves.leaf import MergedLeaf, StaticLeaf, WindowLeaf
from sparkext.r2r.patterns.stage_rows import LiveRows
from sparkext.r2r.relations.datasets import Dataset, column_names
from sparkext.r2r.relations.solutions import Solutions

if TYPE_CHECKING:
    from sparkext.bridge.engine_room import EngineRoom
    from sparkext.r2r.relations.static_relations import StaticRelations

WindowContents = Callable[[WindowLeaf | MergedLeaf], Any]
"""Gives the JVM's content of a window's pattern, or of one over windows and static data."""

LiveContents = Callable[[LiveRows], Any]
"""Gives the JVM's content of a query's MATCH, or of the instances of a template."""


class Frames(Protocol):
    """The relations of a query as DataFrames."""

    prepared: bool
    """Whether build sides are ours to fix: joins get hints, static parts are kept."""

    def window(self, leaf: WindowLeaf, rows: float) -> Solutions:
        """A window's pattern."""

    def merged(self, leaf: MergedLeaf, rows: float) -> Solutions:
        """A pattern over static data and windows, merged."""

    def static(self, leaf: StaticLeaf, rows: float) -> Solutions:
        """A static pattern."""

    def live(self, live: LiveRows, rows: float) -> Solutions:
        """The solution mappings of a MATCH, or instances of a template."""

    def built(self, solutions: Solutions) -> Solutions:
        """A relation that a join builds, whatever index of it there is."""

    def kept(
        self, key: object, name: str, variables: Sequence[Variable], make: Callable[[], DataFrame]
    ) -> Solutions:
        """A static part of the query, computed once by `make` and kept with multiplicities."""

    def making(self) -> Frames:
        """The relations of a part that is to be kept."""

    def stage(self, name: str, solutions: Solutions) -> Solutions:
        """Rows that are computed before the rest of the evaluation and read more than once."""

    def staged(self, name: str) -> Solutions:
        """The rows of a stage made before."""


class PreparedFrames:
    """Relations of our own: indexes inside Spark's joins, windows whose content moves under the plan."""

    prepared = True

    def __init__(
        self,
        room: EngineRoom,
        relations: StaticRelations,
        dataset: Dataset,
        windows: WindowContents,
        live: LiveContents,
    ) -> None:
        self._room = room
        self._relations = relations
        self._dataset = dataset
        self._windows = windows
        self._live = live
        self.stages: dict[str, tuple[Any, Solutions]] = {}

    def window(self, leaf: WindowLeaf, rows: float) -> Solutions:
        return self._solutions(self._windows(leaf), leaf.variables, _window_names(leaf), rows)

    def merged(self, leaf: MergedLeaf, rows: float) -> Solutions:
        return self._solutions(self._windows(leaf), leaf.variables, _names(leaf.variables), rows)

    def static(self, leaf: StaticLeaf, rows: float) -> Solutions:
        content = self._relations.table(self._dataset, leaf)
        return self._solutions(content, leaf.variables, column_names(leaf), rows)

    def live(self, live: LiveRows, rows: float) -> Solutions:
        content, names = self._live(live), _names(live.names)
        if isinstance(live, TimedMatch):  # all are bound; its last column is the instant
            names += _names((live.time,))
            return self._solutions(content, live.variables, names, rows)
        return _with_unbound(self._solutions(content, live.names, names, rows), live.sure)

    def built(self, solutions: Solutions) -> Solutions:
        return replace(solutions, frame=self._room.built_frame(solutions.frame))

    def kept(
        self, key: object, name: str, variables: Sequence[Variable], make: Callable[[], DataFrame]
    ) -> Solutions:
        content = self._relations.kept(self._dataset, key, name, make)
        rows = float(content.rowCount())
        return self._solutions(content, tuple(variables), _names(variables), rows)

    def measured(self, key: object, measure: Callable[[], int]) -> int:
        """A number that tells of static data, found once."""
        return self._relations.measured(key, measure)

    def making(self) -> Frames:
        if self._relations.made_here(self._dataset):
            return OnceFrames(self._room, self._relations, self._dataset)
        return StockFrames(self._room, self._dataset)

    def stage(self, name: str, solutions: Solutions) -> Solutions:
        content = self._room.stage_content(name, len(_names(solutions.variables)))
        # Where nothing of it is read, its rows still count, and rows need a column.
        columns = [column(v) for v in solutions.variables] or [F.lit(1).cast("bigint")]
        self.stages[name] = (content, replace(solutions, frame=solutions.frame.select(*columns)))
        return self.staged(name)

    def staged(self, name: str) -> Solutions:
        content, made = self.stages[name]
        rows, names = made.estimated_rows, _names(made.variables)
        return _with_unbound(self._solutions(content, made.variables, names, rows), made.certain)

    def _solutions(
        self, content: Any, variables: tuple[Variable, ...], names: list[str], rows: float
    ) -> Solutions:
        frame = self._room.frame(content, names, rows)
        return Solutions(frame, variables, frozenset(variables), rows, str(content.name()))


def _with_unbound(made: Solutions, certain: frozenset[Variable]) -> Solutions:
    """A relation in which the JVM has 0 where other variables than these are unbound."""
    if certain >= set(made.variables):
        return made
    columns = [
        column(v) if v in certain else F.nullif(column(v), F.lit(0)).alias(column_name(v))
        for v in made.variables
    ]
    return Solutions(made.frame.select(*columns), made.variables, certain, made.estimated_rows)


def _nothing_live(read: object) -> Any:
    raise AssertionError(f"static parts do not read {read}")


class OnceFrames(PreparedFrames):
    """Relations of our own to be read once: the making of kept parts of few static rows."""

    def __init__(self, room: EngineRoom, relations: StaticRelations, dataset: Dataset) -> None:
        super().__init__(room, relations, dataset, _nothing_live, _nothing_live)

    def static(self, leaf: StaticLeaf, rows: float) -> Solutions:
        content = self._relations.rows(self._dataset, leaf)
        return self._solutions(content, leaf.variables, column_names(leaf), rows)


class StockFrames:
    """Tables and window contents as Spark knows them: `spark.cqels.enabled=false`, and kept parts of many rows."""

    prepared = False

    def __init__(
        self,
        room: EngineRoom,
        dataset: Dataset,
        windows: WindowContents | None = None,
        live: LiveContents | None = None,
    ) -> None:
        self._room = room
        self._dataset = dataset
        self._windows = windows
        self._live = live
        self._stages: dict[str, Solutions] = {}

    def window(self, leaf: WindowLeaf, rows: float) -> Solutions:
        assert self._windows is not None, "static parts read no window"
        frame = self._room.stock_frame(self._windows(leaf), _window_names(leaf))
        return Solutions(frame, leaf.variables, frozenset(leaf.variables), rows)

    def merged(self, leaf: MergedLeaf, rows: float) -> Solutions:
        assert self._windows is not None, "static parts read no window"
        frame = self._room.stock_frame(self._windows(leaf), _names(leaf.variables))
        return Solutions(frame, leaf.variables, frozenset(leaf.variables), rows)

    def static(self, leaf: StaticLeaf, rows: float) -> Solutions:
        frame = self._dataset.rows(self._dataset.key(leaf), column_names(leaf))
        return Solutions(frame, leaf.variables, frozenset(leaf.variables), rows)

    def live(self, live: LiveRows, rows: float) -> Solutions:
        assert self._live is not None, "static parts read nothing that is live"
        names = _names(live.names)
        frame = self._room.stock_frame(self._live(live), names)
        columns = [F.nullif(F.col(name), F.lit(0)).alias(name) for name in names]
        return Solutions(frame.select(*columns), live.names, live.sure, rows)

    def built(self, solutions: Solutions) -> Solutions:
        return solutions

    def kept(
        self, key: object, name: str, variables: Sequence[Variable], make: Callable[[], DataFrame]
    ) -> Solutions:
        raise AssertionError("stock plans keep nothing")

    def making(self) -> Frames:
        return self

    def stage(self, name: str, solutions: Solutions) -> Solutions:
        self._stages[name] = solutions
        return solutions

    def staged(self, name: str) -> Solutions:
        return self._stages[name]


def _names(variables: Sequence[Variable]) -> list[str]:
    return [column_name(v) for v in variables] or ["_present"]


def _window_names(leaf: WindowLeaf) -> list[str]:
    """The columns of a window's relation: the last are a time, or an element and a triple, whatever there is before."""
    variables = leaf.variables
    if isinstance(leaf.pattern, TimedPattern):
        return [*_names(variables[:-1]), *_names(variables[-1:])]
    if isinstance(leaf.pattern, ElementPattern):
        return [*_names(variables[:-2]), *_names(variables[-2:])]
    return _names(variables)
