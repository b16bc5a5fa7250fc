"""Every public call is given odd arguments: each is refused by an error of ours that names it, or is taken."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

import sparkext
from sparkext.errors import CqelsError
from sparkext.runtime.queries.prepared_query import PreparedQuery
from sparkext.runtime.registered_query import RegisteredQuery
from sparkext.runtime.streams.stream import Stream
from sparkext.sql.live_view import LiveView
from sparkext.sql.prepared_sql import PreparedSql
from static_data import StaticDataError, StaticStore
from tests.sparkext.engine.odd_calls import CALLS, Call, World
from tests.sparkext.engine.odd_source_calls import CALLS as SOURCE_CALLS
from tests.sparkext.listening import S, query, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    "lone surrogate": f"http://e/{HALF}",
    "empty": "",
    "huge": 1 << 80,
}


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


ASKED = [(made, argument) for made in (*CALLS, *SOURCE_CALLS) for argument in made.arguments]


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


OTHERS = {
    # For the package itself, of which Python does not ask a user's hands to be kept.
    "Engine": {"constant"},
    "Stream": {"batch", "batch_of_elements", "take_answers", "take_late_of", "follow"},
    "RegisteredQuery": {
        "evaluate",
        "lags_behind",
        "may_go_ahead",
        "asked",
        "expect",
        "restore",
        "pause_by",
        "roll_back",
        "start_over",
        "tell_new",
        "tell_revised",
        "retract",
    },
    "PreparedQuery": {"compile", "run", "answers", "refresh", "refreshes", "static_data_changed"},
    "StaticStore": {
        "edit",
        "load_statements",
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
