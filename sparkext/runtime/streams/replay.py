"""Recorded files and files of rows replayed into streams, block by block, whatever their size."""

from __future__ import annotations

import json
from collections.abc import Container, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from sparkext.errors import InputFileError
from sparkext.recorded_streams import TIME_PROPERTIES, SetAside
from sparkext.recorded_streams.recording_files import RecordingFile
from sparkext.runtime.parts.held_interrupts import whole
from sparkext.runtime.streams.replayed_rows import RowFeed, RowsFile, row_feeds
from sparkext.s2r.event_time import GREATEST_TIME
from sparkext.s2r.watermark import NEVER
from static_data.files.on_error import OnError
from static_data.files.rdf_version import RdfVersion
from static_data.limits.expansion import MOST_EXPANSION

if TYPE_CHECKING:
    from sparkext.runtime.parts.engine_parts import EngineParts
    from sparkext.runtime.streams.mapped_stream import MappedStream
    from sparkext.runtime.streams.push_report import Evaluations
    from sparkext.runtime.streams.stream import Stream

_KEPT_REASONS = 100
# Elements of a block: as many as are taken in, and evaluated, in about this time.
_FIRST, _FEWEST, _MOST = 64, 16, 8192
_SHORT_SECONDS, _LONG_SECONDS = 0.1, 0.4


ReplayFile: TypeAlias = RecordingFile | RowsFile


class ReplayingEngine(Protocol):
    """The engine, as a replay sees it."""

    @property
    def parts(self) -> EngineParts: ...
    @property
    def streams(self) -> Mapping[str, Stream]: ...
    @property
    def derived(self) -> Container[str]: ...
    @property
    def evaluations(self) -> Evaluations: ...
    def finish(self) -> None: ...


@dataclass(frozen=True)
class ReplayOptions:
    """How recordings are read: `on_error` SKIP sets malformed elements aside, the others raise for the first one;
    packed files may unpack to `most_expansion` times their size.
    """

    time_properties: Sequence[str] = TIME_PROPERTIES
    arrival_order: bool = False
    version: RdfVersion = RdfVersion.STAR
    on_error: OnError = OnError.SKIP
    most_expansion: float = MOST_EXPANSION


@dataclass
class ReplayedStream:
    """What was found in the files of one stream, besides what the stream itself counts."""

    set_aside_count: int = 0
    set_aside: list[SetAside] = field(default_factory=list)  # the first ones
    ignored_triples: int = 0


class Replay:
    """A replay of recordings and of files of rows, by stream IRI, into an engine whose streams these are.

    `found` tells what was found in the files so far, `position` how many of their bytes have been read (of rows about),
    `feeds` who reads the files of rows.
    """

    def __init__(
        self,
        engine: ReplayingEngine,
        recordings: Mapping[str, Sequence[ReplayFile]],
        options: ReplayOptions | None = None,
    ) -> None:
        self.feeds: Sequence[RowFeed] = ()
        self.found = {iri: ReplayedStream() for iri in recordings}
        self.position = 0
        self._engine = engine
        self._recordings = recordings
        self._options = options or ReplayOptions()

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(
            file.size if isinstance(file, RowsFile) else file.lines.stat().st_size
            for files in self._recordings.values()
            for file in files
        )

    def steps(self) -> Generator[list[SetAside]]:
        """Take elements in and evaluate what is due, step by step, to the end of all streams; gives what was set aside.

        In order of time, elements of one time go in together, over all streams, after what lies before them was
        evaluated; in order of arrival, one by one. More are taken in at once where that makes no difference: later
        elements wait in the log until a window comes to them. Raises InputFileError, and what an evaluation raises.
        """
        engine = self._engine
        # The JVM judges times as they are merged; what is said of them goes by the newest one.
        engine.parts.horizon.begin_replay(())
        handover = engine.parts.room.handover
        wanted, last = self._first, False
        with self._fed() as sequences, closing(self._opened(sequences)) as replayed:
            while not last:
                begun = monotonic()
                with engine.parts.in_use(), whole:
                    engine.parts.ready()
                    for iri in self._recordings:
                        engine.streams[iri].log  # noqa: B018 - what may go of it goes before
                    told = handover.answer(replayed.next(handover.jvm, wanted))
                    first, *intakes = told.split("\n")
                    outcome = json.loads(first)
                    aside = self._note(outcome, intakes)
                    last = outcome["last"]
                    engine.evaluations.evaluate_due()
                took = monotonic() - begun
                if self._one_by_one:
                    pass
                elif took < _SHORT_SECONDS:
                    wanted = min(wanted * 2, _MOST)
                elif took > _LONG_SECONDS:
                    wanted = max(wanted // 2, _FEWEST)
                yield aside
        engine.finish()
        yield []

    @property
    def _one_by_one(self) -> bool:
        """Whether it makes a difference: which revisions are told must not depend on how fast they are found."""
        streams = self._engine.streams
        corrects = any(streams[iri].watermark.corrects for iri in self._recordings)
        return corrects and self._options.arrival_order

    @property
    def _first(self) -> int:
        return 1 if self._one_by_one else _FIRST

    @contextmanager
    def _fed(self) -> Iterator[list[Any]]:
        """The files of rows, as sequences of the JVM that are being fed."""
        streams = self._engine.streams
        rows = {
            number: (cast("MappedStream", streams[iri]), named)
            for number, (iri, files) in enumerate(self._recordings.items())
            if (named := [file for file in files if isinstance(file, RowsFile)])
        }
        look_ahead = self._engine.parts.settings.replay_look_ahead
        in_time_order = not self._options.arrival_order
        spark = self._engine.parts.spark
        lenient = self._options.on_error is OnError.SKIP
        with row_feeds(spark, rows, in_time_order, look_ahead, lenient) as (sequences, self.feeds):
            yield sequences

    def _opened(self, sequences: Sequence[Any]) -> Any:
        engine, options = self._engine, self._options
        settings, room = engine.parts.settings, engine.parts.room
        streams = [engine.streams[iri] for iri in self._recordings]
        known = [int(stream.log.standing().split()[0]) for stream in streams]
        if engine.parts.keeper is None:
            known = [0] * len(known)
        sources = [
            part
            for place, files in enumerate(self._recordings.values())
            for file in files
            if isinstance(file, RecordingFile)
            for part in (
                str(place),
                file.packing,
                "1" if file.noted else "0",
                file.name,
                str(file.lines),
                str(options.most_expansion),
            )
        ]
        opened = room.replayed(
            [stream.log for stream in streams],
            list(sequences),
            sources,
            list(dict.fromkeys(options.time_properties)),
            not options.arrival_order,
            options.version is RdfVersion.RDF_1_2,
            options.on_error is OnError.ACCEPT,
            settings.replay_look_ahead,
            settings.max_ahead,
            self._first,
            # What was replayed before a restart was judged as if it were the first.
            [
                f"{NEVER if before else stream.late_up_to}|{stream.watermark.final.allowed_lateness}"
                for stream, before in zip(streams, known, strict=True)
            ],
        )
        for place, before in enumerate(known):
            opened.passOver(place, before)
        return opened

    def _note(self, outcome: Mapping[str, Any], intakes: Sequence[str]) -> list[SetAside]:
        engine = self._engine
        if "problem" in outcome:
            for feed in self.feeds:
                if feed.problem is not None:
                    raise feed.problem
            file, reason = outcome["problem"]
            raise InputFileError(file, None, None, reason)
        iris = list(self._recordings)
        aside = []
        for place, file, line, graph, reason in outcome["setAside"]:
            one = SetAside(file, line or None, graph, reason)
            aside.append(one)
            found = self.found[iris[place]]
            found.set_aside_count += 1
            if len(found.set_aside) < _KEPT_REASONS:
                found.set_aside.append(one)
        if aside and self._options.on_error is not OnError.SKIP:
            first = min(
                (one for one in aside if one.file == aside[0].file), key=lambda one: one.line or 0
            )
            graph = "" if first.graph is None else f"{first.graph}: "
            raise InputFileError(first.file, first.line, None, graph + first.reason)
        for iri, count in zip(iris, outcome["ignored"], strict=True):
            self.found[iri].ignored_triples = count
        self.position = outcome["position"]
        for place, intake in zip(outcome["streams"], intakes, strict=True):
            engine.streams[iris[place]].note_intake(intake)
        newest = outcome["newest"]
        if not self._options.arrival_order and newest is not None and newest > -GREATEST_TIME:
            for iri, stream in engine.streams.items():
                if iri not in engine.derived:
                    stream.watermark.advance_to(newest - 1)
        return aside
