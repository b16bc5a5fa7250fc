"""The public calls, each with its arguments as they should be."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from scipy import stats

import sparkext
from sparkext.answers.scipy_bridge import from_scipy
from sparkext.language import parse_query
from sparkext.recorded_streams import read_recorded_stream
from sparkext.runtime.queries.prepared_query import PreparedQuery
from sparkext.runtime.registered_query import RegisteredQuery
from sparkext.runtime.streams.stream import Stream
from sparkext.sinks import JsonLinesSink, ParquetSink
from sparkext.sql.live_view import LiveView
from sparkext.sql.prepared_sql import PreparedSql
from static_data import StaticStore
from tests.sparkext.listening import E, S, triple

if TYPE_CHECKING:
    from sparkext import Engine


@dataclass
class World:
    """What the calls are made on."""

    spark: Any
    engine: Engine
    stream: Stream
    query: RegisteredQuery
    select: PreparedQuery
    view: LiveView
    sql: PreparedSql
    folder: Path


@dataclass(frozen=True)
class Call:
    """A public call by its owner, with its arguments as they should be; `takes` says which odd ones are no error."""

    owner: type | object
    name: str
    on: Callable[[World], Any]
    arguments: dict[str, Any]
    takes: dict[str, set[str]]

    def __str__(self) -> str:
        return f"{getattr(self.owner, '__name__', 'function')}.{self.name}"


def call(
    owner: type | object,
    name: str,
    on: Callable[[World], Any],
    takes: dict[str, str] | None = None,
    /,
    **arguments: Any,
) -> Call:
    allowed = {k: set(v.split(", ")) for k, v in (takes or {}).items()}
    return Call(owner, name, on, arguments, allowed)


def engine(name: str, takes: dict[str, str] | None = None, /, **arguments: Any) -> Call:
    return call(sparkext.Engine, name, lambda w: getattr(w.engine, name), takes, **arguments)


def stream(name: str, takes: dict[str, str] | None = None, /, **arguments: Any) -> Call:
    return call(Stream, name, lambda w: getattr(w.stream, name), takes, **arguments)


def store(name: str, takes: dict[str, str] | None = None, /, **arguments: Any) -> Call:
    return call(StaticStore, name, lambda w: getattr(w.engine.store, name), takes, **arguments)


TEXT = f"PREFIX : <{E}> SELECT * FROM NAMED WINDOW :w ON :s [RANGE 5] WHERE {{ WINDOW :w {{ ?x ?p ?y }} }}"
TRIPLE = triple("a", "p", "o")
NUMBERS = itertools.count()
TABLE = pa.table(
    {
        "subject": ["http://e/x"],
        "predicate": ["http://e/at"],
        "object": ["<http://e/y>"],
        "time": [2000],
    }
)
ROLES = {
    "subject": "subject",
    "predicate": "predicate",
    "object": "object",
    "time": "time",
    "graph": None,
}
# A term or a time in place of a column is that of all rows.
TABLE_TAKES = {
    "subject": "number, NaN, truth, huge",
    "predicate": "number, NaN, truth, huge",
    "object": "number, NaN, truth, huge",
    "graph": "None, number, NaN, truth, huge",
    "time": "None, number",
}

CALLS = [
    call(
        sparkext,
        "Engine",
        lambda w: lambda **a: sparkext.Engine(**a).close(),
        {"work_dir": "None, path"},
        spark=lambda w: w.spark,
        work_dir=None,
    ),
    call(sparkext, "configure", lambda w: sparkext.configure, builder=None),
    call(sparkext, "from_scipy", lambda w: sparkext.from_scipy, distribution=stats.norm()),
    call(sparkext, "to_scipy", lambda w: sparkext.to_scipy, literal=from_scipy(stats.norm())),
    call(sparkext, "kept_sides", lambda w: sparkext.kept_sides, spark=lambda w: w.spark),
    engine(
        "load_static",
        {
            "graph": "None",
            "format": "None",
            "progress": "None, truth",
            "base_iri": "None",
        },
        files=lambda w: a_file(w),
        graph=None,
        format=None,
        progress=False,
        base_iri=None,
    ),
    engine(
        "save_static",
        {"overwrite": "truth", "path": "path"},
        path=lambda w: str(w.folder / "saved"),
        overwrite=True,
    ),
    engine("rdflib_store", {"graph": "None"}, graph="http://e/g", sparql="rdflib"),
    engine("open_static", {"progress": "None, truth"}, path="nowhere", progress=None),
    engine(
        "replace_graph",
        {"graph": "None", "source": "empty", "at": "None, number"},
        graph=f"{E}g",
        source=TRIPLE,
        at=None,
    ),
    engine(
        "insert",
        {"graph": "None", "triples": "empty", "at": "None, number"},
        triples=TRIPLE,
        graph=f"{E}g",
        at=None,
    ),
    engine(
        "remove",
        {"graph": "None", "triples": "empty", "at": "None, number"},
        triples=TRIPLE,
        graph=f"{E}g",
        at=None,
    ),
    engine(
        "register_stream",
        {
            "source": "None",
            "checkpoint": "None, path",
            "allowed_lateness": "None, number",
            "idle_timeout": "None, number",
            "late": "None",
            "late_stream": "None",
        },
        iri=lambda w: f"{E}odd{next(NUMBERS)}",
        source=None,
        allowed_lateness=5,
        idle_timeout=0,
        late="hold",
        late_stream=None,
    ),
    engine("push", {}, iri=S),
    engine("push_table", TABLE_TAKES, iri=S, table=TABLE, **ROLES),
    engine("stream", {}, iri=S),
    engine("advance_to", {"time": "number"}, time=5),
    engine("finish"),
    engine("evaluate_due"),
    engine(
        "register_function",
        {"cost_us": "number, huge"},
        iri=lambda w: f"{E}f{next(NUMBERS)}",
        function=len,
        returns="term",
        cost_us=1.0,
    ),
    engine(
        "register_query",
        {"name": "None, empty", "report": "None", "parameters": "None, dict"},
        text=TEXT,
        name=None,
        report=None,
        parameters=None,
    ),
    engine(
        "register_queries",
        {"names": "None", "report": "None", "parameters": "None"},
        queries=[TEXT],
        parameters=None,
        names=None,
        report=None,
    ),
    engine("stop_query", {}, name="registered"),
    engine("select", {}, text="ASK {}"),
    engine(
        "live_view",
        {"width": "number"},
        name="odd_too",
        schema="a STRING, t BIGINT",
        time_column="t",
        width=5,
    ),
    engine("prepare", {}, query="SELECT 1"),
    stream(
        "push",
        {"time": "None, number", "graph": "None", "triples": "empty, lone surrogate"},
        triples=TRIPLE,
        time=5,
        graph=None,
    ),
    stream("push_elements", {}, elements=[]),
    stream("subscribe_late", {}, subscriber=print),
    stream("push_table", TABLE_TAKES, table=TABLE, **ROLES),
    stream("advance_to", {"time": "number"}, time=5),
    stream("read", {}, frame=None),
    call(
        RegisteredQuery,
        "subscribe",
        lambda w: w.query.subscribe,
        {"apart": "truth"},
        subscriber=print,
        apart=False,
    ),
    call(
        RegisteredQuery,
        "with_parameters",
        lambda w: w.query.with_parameters,
        {"name": "None, empty", "parameters": "dict"},
        parameters={"x": "http://e/x"},
        name=None,
    ),
    call(
        RegisteredQuery,
        "write_stream",
        lambda w: w.query.write_stream,
        {"folder": "path"},
        folder=lambda w: w.folder / "out",
    ),
    call(
        RegisteredQuery,
        "to_dataframe",
        lambda w: w.query.to_dataframe,
        {"typed": "truth"},
        typed=False,
    ),
    call(
        RegisteredQuery,
        "pin_order",
        lambda w: w.query.pin_order,
        {"order": "None"},
        order=None,
        cluster=0,
    ),
    call(PreparedQuery, "plot_history", lambda w: w.query.plot_history, path=None),
    call(
        PreparedQuery,
        "pin_order",
        lambda w: w.select.pin_order,
        None,
        order=None,
        cluster=0,
    ),
    call(LiveView, "replace", lambda w: w.view.replace, data=[("a", 1)]),
    call(LiveView, "append", lambda w: w.view.append, data=[("a", 1)]),
    call(LiveView, "advance_to", lambda w: w.view.advance_to, {"time": "number"}, time=5),
    store(
        "load",
        {
            "graph": "None",
            "format": "None",
            "progress": "None, truth",
            "base_iri": "None",
        },
        files=lambda w: a_file(w),
        graph=None,
        format=None,
        progress=False,
        base_iri=None,
    ),
    store(
        "save",
        {"path": "path", "overwrite": "truth"},
        path=lambda w: str(w.folder / "saved2"),
        overwrite=True,
    ),
    store("open", {"progress": "None, truth"}, path="nowhere", progress=None),
    store("announce_graph", {"graph": "None"}, graph=None),
    store("graph_id", {"graph": "None"}, graph=None),
    store("lookup", {}, text="<http://e/a>"),
    store("encode", {}, text="<http://e/a>"),
    store("text", {}, term_id=lambda w: w.engine.store.encode("<http://e/a>")),
    store("listen", {}, listener=print),
    call(
        sparkext,
        "parse_query",
        lambda w: parse_query,
        {"base_iri": "None, empty", "prefixes": "None"},
        text=TEXT,
        base_iri=None,
        prefixes=None,
    ),
    call(
        sparkext,
        "read_recorded_stream",
        lambda w: read_recorded_stream,
        {"scope": "empty", "time_properties": "dict", "in_time_order": "truth"},
        files=lambda w: a_stream(w),
        time_properties=[f"{E}at"],
        scope="",
        in_time_order=True,
    ),
    call(
        sparkext,
        "JsonLinesSink",
        lambda w: JsonLinesSink,
        {"skip_empty": "truth"},
        target=lambda w: w.folder / "a.jsonl",
        skip_empty=False,
    ),
    call(
        sparkext,
        "ParquetSink",
        lambda w: ParquetSink,
        {"folder": "path"},
        folder=lambda w: w.folder / "parquet",
    ),
    call(
        sparkext, "to_text", lambda w: w.query.last_answers.to_text, {"format": "None"}, format=None
    ),
]
"""Arguments that are functions of the world are made for each call."""


def a_file(world: World) -> str:
    file = world.folder / "odd.nt"
    file.write_text(f"{TRIPLE}\n")
    return str(file)


def a_stream(world: World) -> str:
    file = world.folder / "odd.nq"
    file.write_text("")
    return str(file)
