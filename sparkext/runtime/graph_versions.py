"""Static graphs that change while queries run: each change is seen from its time on, by the next evaluation."""

from __future__ import annotations

import heapq
import itertools
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sparkext.answers.rdflib_bridge import is_rdflib
from sparkext.argument_checks import check
from sparkext.errors import first_line
from sparkext.runtime.checkpoint.change_log import LoggedChange
from sparkext.runtime.parts.pushed_times import milliseconds
from sparkext.runtime.parts.pushed_triples import Triple, triple_lines
from sparkext.s2r.watermark import NEVER, complete_up_to
from static_data.files.on_error import OnError
from static_data.files.rdf_version import RdfVersion
from static_data.files.reading import ReadingOptions
from static_data.graph_changes import (
    ChangeKind,
    GraphChange,
    GraphEditor,
    is_n_triples,
    read_change,
)

if TYPE_CHECKING:
    from sparkext.runtime.parts.engine_parts import EngineParts
    from sparkext.runtime.registered_query import RegisteredQuery
    from sparkext.runtime.streams.stream import Stream

logger = logging.getLogger(__name__)

Source: TypeAlias = str | Path | Iterable[str | Path] | Triple | Iterable[Triple] | Any
"""Triples: N-Triples text, files, triples of terms as `Stream.push` takes them, or an rdflib Graph."""


class GraphVersions:
    """The changes of an engine's static graphs, made in the order of their times.

    A change for time t (milliseconds) is seen at every evaluation instant from t on and at none before (the graphs G(t)
    of RSP-QL, Definition 4). `applied_count` counts changes that were made, `late_count` those among them whose time
    some query had passed already. Its methods are called under the engine's lock.
    """

    def __init__(
        self,
        parts: EngineParts,
        streams: Mapping[str, Stream],
        queries: Mapping[str, RegisteredQuery],
        passed: Callable[[], int],
        turns: Callable[[], int],
    ) -> None:
        self._turns = turns  # how many evaluations there have been
        self._parts = parts
        self._streams = streams
        self._queries = queries
        self._passed = passed  # the greatest instant that some query has passed
        self._editor = GraphEditor(parts.store, parts.spark)
        self._waiting: list[
            tuple[int, int, int, GraphChange]
        ] = []  # with its number in a checkpoint
        self._numbers = itertools.count()
        self.time = NEVER
        self.applied_count = 0
        self.late_count = 0

    def add(
        self,
        kind: ChangeKind,
        graph: str | None,
        source: Source,
        at: int | datetime | None,
        options: ReadingOptions,
        name: str = "triples",
    ) -> None:
        """Take in a change: made at once without a time, or when its time is past already.

        `name` is what the caller's argument for the triples is called.
        """
        parts = self._parts
        if parts.keeper is not None and parts.keeper.goes_on:
            parts.ready()
        check.graph("graph", graph)
        time = None if at is None else milliseconds(at, "at")
        change = read_change(
            parts.spark,
            kind,
            graph,
            _as_source(source, parts.rdf, name),
            version=parts.rdf,
            options=options,
            most_expansion=parts.store.most_expansion,
        )
        if time is None:
            self._apply(change, NEVER)
            self._log(change, None, made=True)
            return
        # A query may name the graph before there is anything in it.
        parts.store.announce_graph(graph)
        passed = self._passed()
        if time > passed:
            number = self._log(change, time, made=False)
            heapq.heappush(self._waiting, (time, next(self._numbers), number, change))
            return
        self.late_count += 1
        logger.warning(
            "%s at %d ms comes late: instants up to %d ms are decided; seen from the next one on",
            change,
            time,
            passed,
        )
        self._apply(change, time)
        self._log(change, time, made=True)

    def _log(self, change: GraphChange, at: int | None, made: bool) -> int:
        """Note a change in the checkpoint, if there is one; a number by which it is known there.

        What a program changes before it registers its queries, it changes each time that it begins: it is there
        already.
        """
        keeper = self._parts.keeper
        if keeper is None or keeper.resumes:
            return 0
        given = (change.kind.value, change.graph, change.texts, change.files)
        turn = self._turns() if made else None
        return keeper.change(LoggedChange(*given, change.options.on_error.value, at, turn))

    def redo(self, logged: LoggedChange) -> None:
        """Make a change that was made in another process."""
        self._parts.store.announce_graph(logged.graph)
        self._apply(_as_change(logged), NEVER)

    def wait_again(self, number: int, logged: LoggedChange) -> None:
        """Take in a change that waited in another process, which is known by this number."""
        assert logged.at is not None
        self._parts.store.announce_graph(logged.graph)
        change = _as_change(logged)
        heapq.heappush(self._waiting, (logged.at, next(self._numbers), number, change))

    @property
    def waiting_count(self) -> int:
        """How many changes wait for their time."""
        return len(self._waiting)

    def apply_until(self, instant: int, failures: list[str]) -> None:
        """Make the changes up to an instant; `failures` gets one that fails, as where a file is gone."""
        while self._waiting and self._waiting[0][0] <= instant:
            time, _, number, change = heapq.heappop(self._waiting)
            if self._parts.keeper is not None:
                self._parts.keeper.changed(number, self._turns())
            try:
                self._apply(change, time)
            except Exception as error:
                logger.exception("%s failed at %d ms", change, time)
                said = first_line(error) or type(error).__name__
                failures.append(f"{change} at {time} ms: {said}")

    def apply_complete(self, failures: list[str]) -> None:
        """Make the changes of times that no evaluation can precede any more, so that other readers see them, too."""
        streams = self._streams.values()
        if self._waiting and streams:
            self.apply_until(complete_up_to([s.watermark for s in streams]), failures)
        if self._editor.holds_terms and not any(
            q.lags_behind(q.outdated_at) for q in self._queries.values()
        ):
            self._editor.release()

    def _apply(self, change: GraphChange, time: int) -> None:
        for query in self._queries.values():
            outdated = query.outdated_at is not None and query.outdated_at < time
            if outdated and query.lags_behind(time):
                query.keep_version()
        self.time = time
        try:
            changed = self._editor.apply(change)
        finally:
            self.time = NEVER
        self.applied_count += 1
        logger.info("%s%s", change, "" if changed else ": nothing is different")


def _as_change(logged: LoggedChange) -> GraphChange:
    options = ReadingOptions(OnError.named(logged.on_error))
    kind = ChangeKind(logged.kind)
    return GraphChange(kind, logged.graph, tuple(logged.texts), tuple(logged.files), options)


def _as_source(source: Any, version: RdfVersion, name: str) -> Any:
    if isinstance(source, Path):
        return check.path(name, source)
    if isinstance(source, str):
        return source if is_n_triples(source) else check.path(name, source)
    if isinstance(source, bytes | bytearray | dict) or not isinstance(source, Iterable):
        wanted = "N-Triples text, files, one triple or several, or an rdflib Graph"
        raise check.wrong(name, wanted, source)
    if is_rdflib(source):
        return "\n" + "\n".join(triple_lines(source, version, name))
    items = source if isinstance(source, tuple) else list(source)
    if items and all(isinstance(item, Path) for item in items):
        return check.paths(name, items)
    if items and all(isinstance(item, str) for item in items) and not isinstance(items, tuple):
        return check.paths(name, items)
    return "\n" + "\n".join(triple_lines(items, version, name))
