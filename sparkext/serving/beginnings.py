"""What a server begins with: streams, static data and queries that its command and its file name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparkext.errors import CqelsError, InputFileError
from sparkext.serving.bodies import Fields
from sparkext.serving.problems import ProblemError
from sparkext.serving.served_engine import ServedEngine


@dataclass(frozen=True)
class StaticFile:
    """A file of static data, or a URI of one, of the default graph or of a named one."""

    file: str
    graph: str | None = None


@dataclass(frozen=True)
class StreamToBe:
    """A stream to be registered."""

    iri: str
    on_error: str = "skip"
    mapping: Path | None = None
    time: str | None = None


@dataclass(frozen=True)
class QueryToBe:
    """A query to be registered, with the file that its text stands in, for messages."""

    text: str
    where: str
    name: str | None = None
    report: Any = None
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Beginnings:
    """All that a server begins with; `options` and `settings` are the tables of these names in its file."""

    saved: str | None = None
    checkpoint: str | None = None
    static: Sequence[StaticFile] = ()
    streams: Sequence[StreamToBe] = ()
    queries: Sequence[QueryToBe] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    def prepare(self, served: ServedEngine) -> None:
        """Load and register all, and take up what else the checkpoint has."""
        engine = served.engine
        if self.saved is not None:
            engine.open_static(self.saved, progress=False)
        for one in self.static:
            engine.load_static(one.file, graph=one.graph, progress=False)
        for stream in self.streams:
            engine.register_stream(
                stream.iri, on_error=stream.on_error, mapping=stream.mapping, time=stream.time
            )
        for query in self.queries:
            try:
                served.register(query.text, query.name, query.report, query.parameters)
            except CqelsError as error:
                line, column = getattr(error, "line", None), getattr(error, "column", None)
                said = getattr(error, "message", None) or str(error)
                if isinstance(error, ProblemError):
                    line, column = error.more.get("line"), error.more.get("column")
                raise InputFileError(query.where, line, column, said) from error
        if self.checkpoint is not None:
            engine.restore()
            served.adopt()


def query_in_file(file: Path) -> str:
    """The text of a query; raises InputFileError."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputFileError(str(file), None, None, error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise InputFileError(str(file), None, None, f"not UTF-8 (byte {error.start})") from None


def read_beginnings(file: Path) -> Beginnings:
    """What a file in TOML says; the paths in it are from its own folder. Raises InputFileError."""
    try:
        found = tomllib.loads(query_in_file(file))
    except tomllib.TOMLDecodeError as error:
        raise InputFileError(str(file), None, None, f"no TOML: {error}") from None
    folder = file.absolute().parent
    try:
        return _beginnings(found, folder, str(file))
    except ProblemError as error:
        raise InputFileError(str(file), None, None, str(error)) from None


def _beginnings(found: Mapping[str, Any], folder: Path, file: str) -> Beginnings:
    whole = Fields(
        dict(found),
        ("serve", "settings", "open_static", "checkpoint", "static", "streams", "queries"),
    )
    saved, kept = whole.text_or_none("open_static"), whole.text_or_none("checkpoint")
    settings = whole.mapping("settings") or {}
    static = []
    for fields in _tables(whole, "static", ("file", "graph")):
        static.append(StaticFile(_found(folder, fields.text("file")), fields.text_or_none("graph")))
    streams = []
    for fields in _tables(whole, "streams", ("iri", "on_error", "mapping", "time")):
        mapping = fields.text_or_none("mapping")
        streams.append(
            StreamToBe(
                fields.text("iri"),
                fields.text_or_none("on_error") or "skip",
                None if mapping is None else folder / mapping,
                fields.text_or_none("time"),
            )
        )
    queries = []
    for fields in _tables(whole, "queries", ("file", "query", "name", "report", "parameters")):
        named = fields.text_or_none("file")
        text, where = (
            (fields.text("query"), file)
            if named is None
            else (query_in_file(folder / named), str(folder / named))
        )
        rest = (fields.text_or_none("name"), fields.value("report"), fields.mapping("parameters"))
        queries.append(QueryToBe(text, where, *rest))
    return Beginnings(
        None if saved is None else _found(folder, saved),
        None if kept is None else _found(folder, kept),
        static,
        streams,
        queries,
        whole.mapping("serve") or {},
        {str(key): _setting(value) for key, value in settings.items()},
    )


def _found(folder: Path, name: str) -> str:
    """A file by its name in a folder; a URI is one anywhere."""
    return name if "://" in name else str(folder / name)


def _setting(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tables(whole: Fields, name: str, known: tuple[str, ...]) -> list[Fields]:
    found = whole.value(name)
    if found is None:
        return []
    if not isinstance(found, list):
        raise ProblemError(400, f"{name}: tables [[{name}]], not {found!r:.60}")
    return [Fields(one, known) for one in found]
