"""Every public call is given odd arguments: each is refused by an error of ours that names it, or is taken."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import sparkext
from sparkext.errors import ClosedEngineError, CqelsError
from sparkext.language import parse_query
from sparkext.recorded_streams import StreamElement, read_recorded_stream
from sparkext.runtime.queries.prepared_query import PreparedQuery
from sparkext.runtime.registered_query import RegisteredQuery
from sparkext.runtime.streams.stream import Stream
from sparkext.sinks import JsonLinesSink, ParquetSink
from sparkext.sql.live_view import LiveView
from sparkext.sql.prepared_sql import PreparedSql
from static_data import StaticDataError, StaticStore
from tests.sparkext.listening import E, S, query, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

HALF = "\ud800"
ODD: dict[str, object] = {
    "None": None,
    "number": 5,
    "NaN": float("nan"),
    "bytes": b"http://e/x",
    "path": Path("no/such.rspql"),
    "list": [["x"], 5],
    "dict": {"x": 5},
    "object": object(),
    "truth": True,
    "half a pair": f"http://e/{HALF}",
    "empty": "",
    "huge": 1 << 80,
}


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


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    from sparkext import Engine

    with closing(Engine(spark)) as engine:
        stream = engine.register_stream(S)
        registered = engine.register_query(
            query("WINDOW :w { ?x :at ?y . ?y :of ?x }"), name="registered"
        )
        view = engine.live_view("odd_arguments", "a STRING, t BIGINT", "t", "30s")
        selected = engine.select("SELECT * { ?s ?p ?o }")
        prepared = engine.prepare("SELECT a FROM odd_arguments")
        stream.push(triple("x", "at", "room"), time=1000)
        stream.push(triple("x", "at", "room"), time=2000)
        folder = tmp_path_factory.mktemp("odd")
        yield World(spark, engine, stream, registered, selected, view, prepared, folder)


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
        {"source": "None", "checkpoint": "None, path"},
        iri=f"{E}odd",
        source=None,
    ),
    engine("push", {}, iri=S),
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
        {"name": "None, empty", "report": "None"},
        text=TEXT,
        name=None,
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
        {"time": "None, number", "graph": "None", "triples": "empty, half a pair"},
        triples=TRIPLE,
        time=5,
        graph=None,
    ),
    stream("push_elements", {}, elements=[]),
    stream("advance_to", {"time": "number"}, time=5),
    stream("read", {}, frame=None),
    call(RegisteredQuery, "subscribe", lambda w: w.query.subscribe, subscriber=print),
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


ASKED = [(made, argument) for made in CALLS for argument in made.arguments]


@pytest.mark.parametrize(
    ("made", "argument"), ASKED, ids=[f"{made}-{argument}" for made, argument in ASKED]
)
def test_an_odd_argument_is_refused_by_its_name(
    world: World, made: Call, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = {kind: flaw for kind in ODD if (flaw := outcome(world, made, argument, kind))}
    assert wrong == {}


def outcome(world: World, made: Call, argument: str, kind: str) -> str:
    """What is wrong with how a call takes an odd argument; nothing where nothing is."""
    given = {
        name: value(world) if inspect.isfunction(value) and value.__name__ == "<lambda>" else value
        for name, value in made.arguments.items()
    }
    given[argument] = ODD[kind]
    taken = kind in made.takes.get(argument, ())
    try:
        made.on(world)(**given)
    except (CqelsError, StaticDataError) as error:
        said = str(error)
        if taken and made.name.startswith("open"):
            return ""  # that there is nothing to open is another matter
        fine = not taken and "\n" not in said and names(argument, ODD[kind], said)
        return "" if fine else f"{type(error).__name__}: {said}"
    except PySparkException as error:
        # What Spark says of a text that is no query.
        return "" if (str(made), kind) == ("Engine.prepare", "empty") else repr(error)
    except Exception as error:
        return f"raw {error!r}"
    return "" if taken else "taken"


def names(argument: str, value: object, said: str) -> bool:
    """Whether a message names an argument: as it is called, by its place in a query's text, or a file by its name."""
    called = {
        "term_id": "the id",
        "frame": "a source is",
        "iri": "iri",
        "data": "odd_arguments",
        "time_column": "column",
    }
    named = called.get(argument, argument) in said or argument in said
    placed = argument == "text" and said.startswith("line 1, column ")
    unknown = argument == "iri" and said.startswith("unknown stream <")
    return named or placed or unknown or (isinstance(value, Path) and said.startswith(str(value)))


def test_a_closed_engine_and_its_streams_refuse_everything(spark: SparkSession) -> None:
    from sparkext import Engine

    engine = Engine(spark)
    stream = engine.register_stream(S)
    registered = engine.register_query(TEXT)
    selected = engine.select("ASK {}")
    view = engine.live_view("closing", "a STRING")
    prepared = engine.prepare("SELECT a FROM closing")
    engine.close()
    engine.close()  # does nothing
    calls: dict[str, Callable[[], object]] = {
        "push": lambda: stream.push(TRIPLE, time=1),
        "push by the engine": lambda: engine.push(S, TRIPLE, time=1),
        "push_elements": lambda: stream.push_elements([StreamElement(1, None, (TRIPLE,))]),
        "push_elements of none": lambda: stream.push_elements([]),
        "read": lambda: stream.read(spark.readStream.format("rate").load()),
        "stream.advance_to": lambda: stream.advance_to(5),
        "advance_to": lambda: engine.advance_to(5),
        "finish": engine.finish,
        "register_stream": lambda: engine.register_stream(S),
        "register_query": lambda: engine.register_query(TEXT),
        "register_function": lambda: engine.register_function(f"{E}f", len),
        "select": lambda: engine.select("ASK {}"),
        "answer": selected.answer,
        "insert": lambda: engine.insert(TRIPLE),
        "remove": lambda: engine.remove(TRIPLE),
        "replace_graph": lambda: engine.replace_graph(None, TRIPLE),
        "load_static": lambda: engine.load_static("none.nt"),
        "save_static": lambda: engine.save_static("none"),
        "open_static": lambda: engine.open_static("none"),
        "live_view": lambda: engine.live_view("other", "a STRING"),
        "prepare": lambda: engine.prepare("SELECT 1"),
        "view.append": lambda: view.append([("a",)]),
        "prepared.run": prepared.run,
    }
    for name, made in calls.items():
        with pytest.raises(CqelsError, match="closed") as raised:
            made()
        if not name.startswith(("view", "prepared")):
            assert isinstance(raised.value, ClosedEngineError), name
    assert stream.accepted_count == 0
    assert engine.queries == {}
    registered.stop()  # it has ended already


OTHERS = {
    # For the package itself, of which Python does not ask a user's hands to be kept.
    "Engine": {"constant"},
    "Stream": {"apply_batch", "is_applied", "take_answers"},
    "RegisteredQuery": {"evaluate", "lags_behind"},
    "PreparedQuery": {"compile", "run", "answers", "refresh", "refreshes", "static_data_changed"},
    "StaticStore": {
        "edit",
        "rows_there",
        "rows_of_graph",
        "rows_beside_files",
        "predicates",
        "row_count",
        "table",
        "quads",
    },
}


@pytest.mark.parametrize(
    "owner",
    [sparkext.Engine, Stream, RegisteredQuery, PreparedQuery, LiveView, PreparedSql, StaticStore],
)
def test_no_public_call_is_left_out(owner: type) -> None:
    asked = {
        made.name
        for made in CALLS
        if isinstance(made.owner, type) and issubclass(owner, made.owner)
    }
    left = {
        name
        for name, member in vars(owner).items()
        if not name.startswith("_")
        and inspect.isfunction(member)
        and len(inspect.signature(member).parameters) > 1
    }
    assert left - asked - OTHERS.get(owner.__name__, set()) == set()
