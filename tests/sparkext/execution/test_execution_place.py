"""Where plans run that need texts of terms, if executors do not have the dictionary."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sparkext
from sparkext.engine import Engine
from sparkext.errors import UnsupportedFeatureError
from sparkext.language import parse_query
from sparkext.runtime.queries.execution_place import Place, TextNeeds, check_texts, choose_place
from sparkext.runtime.registered_query import RegisteredQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTHING = TextNeeds()
SOME = TextNeeds(None, "equal")
ALWAYS = TextNeeds("regex", "regex")
E = "http://example.org/"
HEAD = f"PREFIX : <{E}> SELECT ?x FROM NAMED WINDOW :w ON :s [RANGE PT30S] WHERE {{\n"
BODY = "WINDOW :w { ?x :at ?y } ?x :name ?n"


@pytest.mark.parametrize("sooner_here", [True, False])
def test_what_needs_texts_runs_on_the_driver_whatever_its_size(sooner_here: bool) -> None:
    for needs in (SOME, ALWAYS):
        assert choose_place(None, needs, sooner_here, 4) == Place(0, "texts of terms are there")
    assert choose_place(None, NOTHING, sooner_here, 4) == Place(0 if sooner_here else 4)


@pytest.mark.parametrize("sooner_here", [True, False])
def test_what_the_driver_refuses_runs_as_a_job(sooner_here: bool) -> None:
    assert choose_place("no", NOTHING, sooner_here, 4) == Place(4, "no")
    limited = choose_place("no", SOME, sooner_here, 4)
    assert limited == Place(4, "no; equal fails where it needs the text of a term")


def test_only_what_needs_texts_always_and_cannot_have_them_is_refused() -> None:
    pattern = parse_query('SELECT * {\n ?s ?p ?o FILTER(REGEX(?o, "a")) }').pattern
    for refusal, needs in (None, ALWAYS), ("no", NOTHING), ("no", SOME):
        check_texts(refusal, needs, pattern)
    with pytest.raises(UnsupportedFeatureError, match=r"line 2, column 18: regex needs .*\(no\)"):
        check_texts("no", ALWAYS, pattern)
    with pytest.raises(UnsupportedFeatureError, match=r"line 1, column 1: .*: set a\.b to true"):
        check_texts("a.b=false", TextNeeds("concat", "concat"), pattern)


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    """An engine as on a cluster whose executors are other processes: it would run everything as jobs."""
    Path(tmp_path, "names.nt").write_text(f'<{E}a> <{E}name> "ann" .\n<{E}b> <{E}name> "bob" .\n')
    made = sparkext.Engine(spark)
    made.load_static(tmp_path / "names.nt", progress=False)
    made.register_stream(f"{E}s")
    change(made, driver_execution_max_rows=0)
    made.room.executors_apart = True
    yield made
    made.close()


def change(engine: Engine, **values: object) -> None:
    settings = engine.parts.settings
    engine.parts.settings = type(settings)(**{**vars(settings), **values})


def register(engine: Engine, body: str) -> RegisteredQuery:
    return engine.register_query(f"{HEAD}{body} }}")


@pytest.mark.parametrize(
    "tests",
    [
        'FILTER(REGEX(?n, "^a"))',
        'FILTER(CONTAINS(STR(?x), "a"))',
        'FILTER(?n < "b")',
        "WINDOW :w { ?z :at ?y } ?z :name ?m FILTER(?n != ?m)",
        "BIND(UCASE(?n) AS ?u) FILTER(BOUND(?u))",
        "{ SELECT ?x { WINDOW :w { ?x :at ?m } } ORDER BY ?m LIMIT 1 }",
    ],
)
def test_functions_of_texts_keep_a_query_on_the_driver(engine: Engine, tests: str) -> None:
    query = register(engine, f"{BODY} {tests}")
    assert query.execution == "driver (texts of terms are there)"
    assert query.explain().data["execution"] == query.execution
    engine.room.executors_apart = False
    assert register(engine, f"{BODY} {tests}").execution == "Spark job of 2 slices"


def test_ids_are_compared_by_jobs(engine: Engine) -> None:
    for tests in "", "FILTER(?x != :a)", "FILTER(SAMETERM(?x, ?y) || ISIRI(?y))":
        assert register(engine, f"{BODY} {tests}").execution.startswith("Spark job of"), tests


def test_a_query_that_cannot_have_its_texts_is_refused_at_once(engine: Engine) -> None:
    change(engine, driver_execution_enabled=False)
    window = register(engine, "WINDOW :w { ?x :at ?y } FILTER(?x != ?y)")
    assert "equal fails where it needs the text of a term" in window.execution
    patterns = window.windows[f"{E}w"].window.patternCount()
    with pytest.raises(UnsupportedFeatureError) as refused:
        register(engine, 'WINDOW :w { ?x :near ?y }\n?x :name ?n FILTER(REGEX(?n, "a"))')
    assert (refused.value.line, refused.value.column) == (3, 20)
    assert "set spark.cqels.driverExecution.enabled to true" in refused.value.message
    assert list(engine.queries) == [window.name]
    assert window.windows[f"{E}w"].window.patternCount() == patterns
    with pytest.raises(UnsupportedFeatureError, match="strlen needs texts"):
        engine.select(f"SELECT ?s {{ ?s <{E}name> ?n FILTER(STRLEN(?n) = 3) }}")
    engine.room.executors_apart = False
    register(engine, f'{BODY} FILTER(REGEX(?n, "a"))')


def test_a_query_goes_where_the_rows_of_now_are_best_computed(engine: Engine) -> None:
    engine.room.executors_apart = False
    change(engine, driver_execution_max_rows=500)
    query = register(engine, BODY)
    assert query.execution.startswith("Spark job of"), (
        "many sightings are expected of half a minute"
    )
    stream = engine.stream(f"{E}s")
    crowds = [2, 3, 2_000, 2_000, *[1] * 20]
    places = []
    for second, people in enumerate(crowds, 1):
        there = [(f"{E}{x}", f"{E}at", f"{E}y{n}") for n in range(people) for x in "ab"]
        stream.push(there, second * 40_000)
        engine.advance_to(second * 40_000)
        assert query.last_answers is not None
        assert len(query.last_answers) == 2 * people
        places.append(query.execution.startswith("Spark job of"))
    # What an evaluation has counted holds from the next one on.
    assert places == [False, False, True, True, *[False] * 20]


def test_rows_are_counted_below_a_grouping_wherever_it_runs(engine: Engine) -> None:
    """One row comes out of thousands: where these are best joined is what counts."""
    engine.room.executors_apart = False
    change(engine, driver_execution_max_rows=500)
    head = HEAD.replace("?x FROM", "(COUNT(?x) AS ?many) FROM")
    query = engine.register_query(f"{head}{BODY} }}")
    stream = engine.stream(f"{E}s")
    places = []
    for second, people in enumerate([2, 3, 2_000, 2_000, 2_000, 1, 1], 1):
        there = [(f"{E}{x}", f"{E}at", f"{E}y{n}") for n in range(people) for x in "ab"]
        stream.push(there, second * 40_000)
        engine.advance_to(second * 40_000)
        assert query.last_answers is not None
        ((many,),) = query.last_answers.rows()
        assert str(many).startswith(f'"{2 * people}"')
        places.append(query.plans.slices > 0)
    assert places == [False, False, True, True, True, False, False]
