"""Plans of registered queries: what is kept and shared, where they run, what explain shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sparkext
from sparkext.engine import Engine
from sparkext.language import parse_query
from sparkext.language.nodes import Variable
from sparkext.language.query import DatasetClause
from sparkext.r2r.leaves.flattening import flatten_group
from sparkext.r2r.leaves.scopes import DEFAULT_GRAPH
from sparkext.r2r.relations.datasets import Dataset
from sparkext.r2r.relations.part_keys import join_key
from sparkext.runtime.registered_query import RegisteredQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEAD = """
PREFIX : <http://example.org/>
SELECT {select} FROM NAMED WINDOW :now ON :s [NOW] FROM NAMED WINDOW :w ON :s [RANGE PT30S] WHERE
"""
PAPERS = "".join(
    f"<http://example.org/paper/{p}> <http://example.org/creator> <http://example.org/person/{a}> .\n"
    f"<http://example.org/paper/{p}> <http://example.org/cites> <http://example.org/paper/{(p * 7) % 60}> .\n"
    for p in range(60)
    for a in {p % 20, (p * 3) % 20, (p + 5) % 20}
)


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("papers")
    Path(folder, "papers.nt").write_text(PAPERS)
    made = sparkext.Engine(spark)
    made.load_static(folder / "papers.nt")
    made.register_stream("http://example.org/s")
    yield made
    made.close()


def register(engine: Engine, select: str, body: str, name: str) -> RegisteredQuery:
    return engine.register_query(HEAD.format(select=select) + "{" + body + "}", name=name)


def key_of(engine: Engine, body: str, *shown: str) -> tuple[object, tuple[str, ...]]:
    pattern = parse_query("PREFIX : <http://example.org/> SELECT * WHERE {" + body + "}").pattern
    cluster = flatten_group(pattern.children[0], DEFAULT_GRAPH)
    dataset = Dataset(engine.store, DatasetClause(), engine.room)
    key, columns = join_key(cluster, [Variable(name) for name in shown], dataset)
    return key, tuple(column.name for column in columns)


def test_equal_static_joins_have_equal_keys_whatever_their_names(engine: Engine) -> None:
    cited = "?p :creator ?a . ?q :creator ?b . ?p :cites ?q FILTER(?a != ?b)"
    key, columns = key_of(engine, cited, "a", "b")
    renamed = "?one :cites ?two FILTER(?you != ?me) ?two :creator ?you . ?one :creator ?me"
    other_key, other_columns = key_of(engine, renamed, "me", "you")
    assert other_key == key
    assert dict(zip(columns, other_columns, strict=True)) == {"a": "me", "b": "you"}
    # The roles count: here the cited one comes first where the citing one came first.
    assert key_of(engine, cited, "a")[0] != key_of(engine, cited, "b")[0]
    assert key_of(engine, cited.replace("!=", "="), "a", "b")[0] != key
    assert key_of(engine, cited.replace("cites", "creator"), "a", "b")[0] != key


def test_equal_static_unions_are_kept_once(engine: Engine) -> None:
    body = "WINDOW :now {{ ?{0} :at ?r }} ?{1} :creator ?{0} {{ ?{1} :cites ?{2} }} UNION {{ ?{2} :cites ?{1} }}"
    first = register(engine, "?a ?q", body.format("a", "p", "q"), "cited-1")
    kept = len(engine.parts.relations)
    second = register(engine, "?me ?it", body.format("me", "mine", "it"), "cited-2")
    assert len(engine.parts.relations) == kept
    first.stop()
    second.stop()


def test_equal_groups_that_count_a_variable_and_a_blank_node_are_two(engine: Engine) -> None:
    found = []
    for paper in ("[]", "?p"):
        group = f"SELECT ?a (COUNT(DISTINCT *) AS ?n) {{ {paper} :creator ?a }} GROUP BY ?a"
        paper_3 = "<http://example.org/paper/3> :creator ?a"
        text = f"PREFIX : <http://example.org/> SELECT ?n {{ {paper_3} {{ {group} }} }}"
        found.append([str(n).split('"')[1] for (n,) in engine.select(text).answer().rows()])
    assert found == [["1"] * 3, ["9"] * 3]


def test_explain_shows_what_was_expected_beside_counts_and_reasons(engine: Engine) -> None:
    query = register(
        engine, "?b", "WINDOW :now { ?a :at ?r } ?p :creator ?a . ?p :cites ?b", "explained"
    )
    before = str(query.explain())
    assert "not evaluated yet" in before and "rows in" not in before
    # The papers are joined beforehand, and why is told from the beginning.
    assert "kept" in before or "note: " in before
    stream = engine.stream("http://example.org/s")
    at = "http://example.org/at"
    stream.push(
        [(f"http://example.org/person/{n}", at, "http://example.org/r") for n in range(5)],
        time=1000,
    )
    engine.advance_to(1000)
    text = str(query.explain())
    assert "runs on driver" in text
    assert "begins with now{?a at ?r}" in text
    assert "5 rows in, 42 out (estimated 42)" in text
    order = query.explain().data["choices"][0]["order"]
    assert query.last_answers is not None
    assert order["steps"][-1]["rows_out"] == len(query.last_answers) == 42
    query.stop()


def test_a_stopped_query_leaves_nothing_behind(engine: Engine) -> None:
    stream = engine.stream("http://example.org/s")
    body = "WINDOW :w { ?a :at ?r }"
    first, second = (register(engine, "?a", body, f"left-{n}") for n in (1, 2))
    key = first.windows["http://example.org/w"].key
    window = stream.log.window(key)
    assert window.patternCount() == 1
    first.stop()
    assert window.patternCount() == 1
    second.stop()
    assert window.patternCount() == 0
    assert "left-1" not in engine.queries


@pytest.mark.parametrize(
    ("select", "body"),
    [
        ("DISTINCT ?a", "WINDOW :w { ?a :at ?r }"),
        ("?a", "{ SELECT DISTINCT ?a { WINDOW :w { ?a :at ?r } } }"),
    ],
)
def test_distinct_bindings_are_all_that_is_kept_of_a_pattern(
    engine: Engine, select: str, body: str
) -> None:
    query = register(engine, select, body, "distinct")
    assert query.windows["http://example.org/w"].window.patternCount() == 1
    query.stop()


def test_large_estimates_run_as_a_job_with_the_same_answers(engine: Engine) -> None:
    body = "WINDOW :w { ?a :at ?r } ?p :creator ?a . ?p :cites ?q"
    query = register(engine, "?a ?q", body, "driver")
    before = engine.parts.settings
    try:
        engine.parts.settings = type(before)(**{**vars(before), "driver_execution_max_rows": 0})
        job = register(engine, "?a ?q", body, "job")
    finally:
        engine.parts.settings = before
    assert query.execution == "driver"
    assert job.execution.startswith("Spark job of")
    stream = engine.stream("http://example.org/s")
    for second in range(3, 6):
        people = [f"http://example.org/person/{n}" for n in range(second, 9)]
        stream.push(
            [(p, "http://example.org/at", "http://example.org/r") for p in people], second * 1000
        )
        engine.advance_to(second * 1000)
        assert query.last_answers is not None
        assert job.last_answers is not None
        assert sorted(query.last_answers.rows()) == sorted(job.last_answers.rows()) != []
    query.stop()
    job.stop()


def test_static_data_merged_with_a_window_are_looked_up_not_scanned(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "names.nt"
    path.write_text(
        "".join(
            f'<http://example.org/r{n}> <http://example.org/name> "{n}" .\n' for n in range(5_000)
        )
    )
    engine = sparkext.Engine(spark)
    engine.load_static(path)
    engine.register_stream("http://example.org/s")
    query = engine.register_query(
        "PREFIX : <http://example.org/> SELECT * FROM WINDOW ON :s [NOW] { ?x :at ?y . ?y :name ?n }"
    )
    engine.push("http://example.org/s", ("http://e/x", "http://example.org/at", "http://e/y"), 1)
    engine.finish()
    shown = str(query.explain())
    engine.close()
    assert "begins with default graph{?x at ?y}" in shown
    assert "then ?n from default graph{?y name ?n}: 1 rows in, 0 out" in shown
