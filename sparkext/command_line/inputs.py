"""The inputs of `cqels run` and `cqels explain`: all that can be found wrong without Spark is found
here.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkext.command_line.argument_values import StaticChange
from sparkext.command_line.live import Live, live_inputs
from sparkext.command_line.output import check_output
from sparkext.command_line.query_file import (
    check_graphs,
    check_profile,
    check_windows,
    in_file,
    read_query,
)
from sparkext.command_line.replay import replay
from sparkext.command_line.row_streams import checked_rows, mapping_options
from sparkext.command_line.spark_start import checked_settings, opened_engine, spark_session
from sparkext.config import Settings
from sparkext.errors import CqelsError, InputFileError, UnknownStreamError
from sparkext.recorded_streams import TIME_PROPERTIES
from sparkext.recorded_streams.recording_files import (
    recording_files,
    recording_folder,
)
from sparkext.runtime.streams.replay import ReplayedStream, ReplayFile, ReplayOptions
from sparkext.runtime.streams.replayed_rows import RowsFile
from static_data.errors import MissingFileError
from static_data.files.format_sniffing import told_format_here
from static_data.files.on_error import OnError
from static_data.files.rdf_formats import RdfFormat, named_format
from static_data.files.rdf_version import RdfVersion
from static_data.files.reading import Reading, ReadingOptions
from static_data.loading.load import LoadReport

if TYPE_CHECKING:
    from sparkext.engine import Engine
    from sparkext.runtime.query_instance import QueryInstance
    from sparkext.runtime.registered_query import RegisteredQuery

# A small recording of TriG is read in this time; what is wrong with it is said without Spark.
_PATIENCE_SECONDS = 0.5
_Ready = dict[str, Sequence[ReplayFile]]
_WITH_GRAPHS = (RdfFormat.N_QUADS, RdfFormat.TRIG, RdfFormat.JSON_LD)


@dataclass(frozen=True)
class StaticFiles:
    """Files of the default graph, files by named graph, and a folder of saved static data."""

    default: Sequence[str] = ()
    named: Mapping[str, Sequence[str]] = field(default_factory=dict)
    saved: str | None = None
    changes: Sequence[StaticChange] = ()
    options: ReadingOptions = field(default_factory=ReadingOptions)

    @property
    def graphs(self) -> set[str]:
        """The IRIs of named graphs that the arguments name."""
        return {*self.named, *(c.graph for c in self.changes if c.graph is not None)}

    def check(self) -> None:
        """Raises MissingFileError or UnsupportedFormatError for the first file that is no use."""
        named = [f for files in self.named.values() for f in files]
        for file in (*self.default, *named, *(change.file for change in self.changes)):
            named_format(file)
            check_file(file)
            told_format_here(file)
        for file in map(str, self.options.contexts.values()):
            check_file(file)
        if self.saved is not None and "://" not in self.saved and not Path(self.saved).is_dir():
            raise MissingFileError(self.saved, "no such folder")

    @property
    def may_name_others(self) -> bool:
        """Whether the files can hold graphs that the arguments do not name."""
        files = (*self.default, *(f for files in self.named.values() for f in files))
        return self.saved is not None or any(told_format_here(f).rdf in _WITH_GRAPHS for f in files)

    def load(self, engine: Engine) -> None:
        """Load everything; progress is shown when standard error is a terminal, and what was skipped is counted."""
        options: dict[str, Any] = {
            "on_error": self.options.on_error.value,
            "skipped_file": self.options.skipped_file,
            "contexts": self.options.contexts,
        }
        if self.saved is not None:
            engine.open_static(self.saved)
        if self.default:
            _tell(engine.load_static(list(self.default), **options))
        for graph, files in self.named.items():
            _tell(engine.load_static(list(files), graph=graph, **options))
        for change in self.changes:
            engine.replace_graph(change.graph, Path(change.file), at=change.time, **options)


def _tell(report: LoadReport) -> None:
    if report.skipped:
        tell_skipped(report.skipped, report.skipped_file)


def tell_skipped(count: int, file: str | None) -> None:
    """Say on standard error how many statements of files were left out, and where they are listed."""
    sys.stderr.write(f"cqels: skipped {count:,} malformed statement(s), listed in {file}\n")


def reading_options(arguments: Namespace) -> ReadingOptions:
    """How static files are to be read, by the arguments; raises InputFileError where `--skipped` cannot be written."""
    check_output(arguments.skipped)
    on_error = OnError(arguments.on_error or OnError.FAIL)
    return ReadingOptions(on_error, arguments.skipped, dict(arguments.context))


def on_error_of_streams(arguments: Namespace) -> OnError:
    """What becomes of malformed elements: unless said otherwise, they are set aside."""
    return OnError(arguments.on_error or OnError.SKIP)


def check_file(file: str) -> None:
    """Raises MissingFileError unless a local file is there to be read; other URIs are Spark's."""
    if "://" in file:
        return
    path = Path(file)
    if not path.is_file():
        raise MissingFileError(file, no_file(path))


def no_file(path: Path) -> str:
    """Why a path is no file that can be read again and again, as parts of it are read side by side."""
    if path.is_dir():
        return "is a folder"
    return "is a pipe or a device: write it to a file first" if path.exists() else "no such file"


def grouped(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Files by IRI, both in the order given.

    >>> grouped([("b", "1"), ("a", "2"), ("b", "3")])
    {'b': ['1', '3'], 'a': ['2']}
    """
    files: dict[str, list[str]] = {}
    for iri, file in pairs:
        files.setdefault(iri, []).append(file)
    return files


@dataclass(frozen=True)
class Prepared:
    """An engine with static data, streams and the registered query, and the recordings and rows to replay, or the live
    sources to be read.
    """

    engine: Engine
    query: RegisteredQuery | QueryInstance
    recordings: Mapping[str, Sequence[ReplayFile]]
    options: ReplayOptions
    live: Live

    def replay(
        self, after_each: Callable[[], object] = lambda: None, skipped_file: str | None = None
    ) -> dict[str, ReplayedStream]:
        """Replay all to the end of the streams; gives what was found in the files of recordings. See `replay`."""
        return replay(self.engine, self.recordings, self.options, after_each, skipped_file)


@contextmanager
def prepared(arguments: Namespace, streams_needed: bool = True) -> Iterator[Prepared]:
    """Check the inputs, start Spark, load, register; on leaving, the engine and Spark end.

    Without `streams_needed`, a query may also be prepared with no recording at all.
    """
    checkpoint = getattr(arguments, "checkpoint", None)  # of `run` only
    settings = checked_settings(arguments.settings, arguments.semantics)
    typed = Settings.from_mapping(settings)
    query = read_query(arguments.query, typed)
    files = grouped(arguments.stream)
    named_in_query = list(dict.fromkeys(window.stream.value for window in query.windows))
    known = files if files or streams_needed else named_in_query
    check_windows(arguments.query, query, known)
    check_named_streams(arguments, {*files, *named_in_query})
    check_profile(arguments.query, query, typed)
    static = StaticFiles(
        arguments.static,
        grouped(arguments.static_graph),
        arguments.open_static,
        arguments.static_change,
        reading_options(arguments),
    )
    static.check()
    if not static.may_name_others:
        check_graphs(arguments.query, query, static.graphs)
    live = live_inputs(arguments, files)
    for file in () if live else (file for named in files.values() for file in named):
        if not Path(file).is_file():
            raise InputFileError(file, None, None, no_file(Path(file)))
    for iri in files:
        if iri not in named_in_query:
            sys.stderr.write(f"cqels: warning: the query has no window on stream <{iri}>\n")
    read = {iri: files[iri] for iri in files if iri in named_in_query}
    live = {iri: live[iri] for iri in live if iri in read}
    used = {} if live else read
    mappings = mapping_options(arguments, named_in_query)
    rows = checked_rows(mappings, used, on_error_of_streams(arguments) is OnError.SKIP)
    options = ReplayOptions(
        (*TIME_PROPERTIES, *arguments.time_property),
        arguments.arrival_order,
        RdfVersion(typed.rdf),
        on_error_of_streams(arguments),
        typed.load_max_expansion,
    )
    with recording_folder() as folder, ThreadPoolExecutor(1) as readers:
        reading = readers.submit(_made_ready, used, rows, folder, options)
        _raise_early(reading)
        with (
            spark_session(arguments, settings) as spark,
            opened_engine(spark, arguments.work_dir, checkpoint) as engine,
        ):
            static.load(engine)
            for iri in named_in_query:
                way = on_error_of_streams(arguments).value
                mapping, late = mappings.get(iri), lateness_options(arguments, iri)
                engine.register_stream(iri, on_error=way, mapping=mapping, **late)
            with in_file(arguments.query, query):
                registered = engine.register_query(query)
            recordings = reading.result()
            yield Prepared(engine, registered, recordings, options, live)


def check_named_streams(arguments: Namespace, streams: Collection[str]) -> None:
    """Raises CqelsError for an option that is about a stream which is not among `streams`."""
    for name in ("mapping", "time_column", "allowed_lateness", "late"):
        for iri, _ in getattr(arguments, name, ()):  # `check` has the first two
            if iri is not None and iri not in streams:
                unknown = UnknownStreamError(iri, sorted(streams))
                raise CqelsError(f"--{name.replace('_', '-')}: {unknown}")


def lateness_options(arguments: Namespace, iri: str) -> dict[str, Any]:
    """What is said of elements of a stream that come late, as `Engine.register_stream` takes it."""
    allowed, ways = dict(arguments.allowed_lateness), dict(arguments.late)
    return {
        "allowed_lateness": allowed.get(iri, allowed.get(None)),
        "late": ways.get(iri, ways.get(None)),
    }


def _made_ready(
    files: Mapping[str, Sequence[str]],
    rows: Mapping[str, Sequence[RowsFile]],
    folder: Path,
    options: ReplayOptions,
) -> _Ready:
    """Recordings as files to be read while they are replayed, beside those of rows."""
    reading = Reading(options.version, options.on_error, most_expansion=options.most_expansion)
    return {
        iri: rows[iri] if iri in rows else recording_files(named, folder, reading)
        for iri, named in files.items()
    }


def _raise_early(reading: Future[_Ready]) -> None:
    wait([reading], timeout=_PATIENCE_SECONDS)
    if reading.done():
        reading.result()
