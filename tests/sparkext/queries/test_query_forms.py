"""ASK, CONSTRUCT, DESCRIBE, FROM and FROM NAMED: ordinary queries and continuous ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from sparkext.answers import AnswerFormatError
from sparkext.engine import Engine
from sparkext.errors import UnknownGraphError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "PREFIX : <http://e/> "
DATA = """
@prefix : <http://e/> .
:a :knows :b ; :age 30 .
:b :knows :c ; :home [ :street "Main" ; :city [ :name "Town" ] ] .
:x :likes "tea" .
"""
STREAM = "http://e/s"
WINDOWED = f"FROM NAMED WINDOW :w ON <{STREAM}> [RANGE PT10S STEP PT10S] "


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("forms")
    files: dict[str, str] = {
        "data.ttl": DATA,
        "g1.ttl": "@prefix : <http://e/> . :a :p 1, 2 .",
        "g2.ttl": "@prefix : <http://e/> . :a :p 2, 3 .",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    made = Engine(spark)
    made.load_static(folder / "data.ttl")
    made.load_static(folder / "g1.ttl", graph="http://e/g1")
    made.load_static(folder / "g2.ttl", graph="http://e/g2")
    yield made
    made.close()


def nt(engine: Engine, text: str) -> list[str]:
    return engine.select(PREFIX + text).answer().to_text("nt").splitlines()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("ASK { :a :knows ?x }", True), ("ASK { :c ?p ?o }", False), ("ASK {}", True)],
)
def test_ask(engine: Engine, text: str, expected: bool) -> None:
    answers = engine.select(PREFIX + text).answer()
    assert answers.boolean is expected
    assert json.loads(answers.to_text())["boolean"] is expected
    with pytest.raises(AnswerFormatError):
        answers.to_text("nt")


def test_construct_leaves_out_what_is_no_triple_and_repeats_nothing(engine: Engine) -> None:
    found = nt(
        engine,
        "CONSTRUCT { ?o :of :all . ?s ?p :thing } { ?s ?p ?o FILTER(!isBlank(?o) && !isBlank(?s)) }",
    )
    assert found == sorted(
        [
            "<http://e/b> <http://e/of> <http://e/all> .",
            "<http://e/c> <http://e/of> <http://e/all> .",
            "<http://e/a> <http://e/knows> <http://e/thing> .",
            "<http://e/a> <http://e/age> <http://e/thing> .",
            "<http://e/b> <http://e/knows> <http://e/thing> .",
            "<http://e/x> <http://e/likes> <http://e/thing> .",
        ]
    )


def test_blank_nodes_of_a_template_are_new_in_each_solution(engine: Engine) -> None:
    found = nt(engine, "CONSTRUCT { _:k :who ?s ; :whom ?o } { ?s :knows ?o }")
    nodes = [line.split()[0] for line in found]
    assert len(found) == 4 and sorted(map(nodes.count, set(nodes))) == [2, 2]


def test_a_template_with_quoted_triples(engine: Engine) -> None:
    found = nt(
        engine,
        "CONSTRUCT { << ?s :knows ?o >> :in << ?o :p << ?s :q 1 >> >> } { ?s :knows ?o } LIMIT 1",
    )
    one = '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert found[0] in {
        f"<< <http://e/{s}> <http://e/knows> <http://e/{o}> >> <http://e/in>"
        f" << <http://e/{o}> <http://e/p> << <http://e/{s}> <http://e/q> {one} >> >> ."
        for s, o in ("ab", "bc")
    }
    assert len(found) == 1


def test_solution_modifiers_come_before_the_template(engine: Engine) -> None:
    text = "CONSTRUCT { ?s :last ?o } { ?s :knows ?o } ORDER BY DESC(?o) LIMIT 1"
    assert nt(engine, text) == ["<http://e/b> <http://e/last> <http://e/c> ."]
    assert nt(engine, "CONSTRUCT WHERE { :a :knows ?o }") == [
        "<http://e/a> <http://e/knows> <http://e/b> ."
    ]


def test_describe_follows_blank_nodes_and_nothing_else(engine: Engine) -> None:
    found = nt(engine, "DESCRIBE :b")
    assert [line.split()[1] for line in found if not line.startswith("_:")] == [
        "<http://e/home>",
        "<http://e/knows>",
    ]
    assert [line.split()[1] for line in found if line.startswith("_:")].count(
        "<http://e/street>"
    ) == 1
    assert len(found) == 5
    assert nt(engine, "DESCRIBE ?o :x { :a :knows ?o }") == sorted(
        [*found, '<http://e/x> <http://e/likes> "tea" .']
    )
    assert nt(engine, "DESCRIBE :nobody") == []


def ages(engine: Engine, text: str) -> list[str]:
    return sorted(str(row["v"])[1] for row in engine.select(PREFIX + text).answer())


def test_from_merges_graphs_and_from_named_names_them(engine: Engine) -> None:
    assert ages(engine, "SELECT ?v FROM :g1 FROM :g2 { :a :p ?v }") == ["1", "2", "3"]
    assert ages(engine, "SELECT ?v FROM NAMED :g1 { GRAPH ?g { :a :p ?v } }") == ["1", "2"]
    assert ages(engine, "SELECT ?v FROM NAMED :g1 { GRAPH :g2 { :a :p ?v } }") == []
    assert ages(engine, "SELECT ?v FROM NAMED :g1 { :a :p ?v }") == []
    assert ages(engine, "SELECT ?v FROM :g1 FROM NAMED :g2 { :a :p ?v GRAPH ?g { :a :p ?v } }") == [
        "2"
    ]
    with pytest.raises(UnknownGraphError, match="http://e/g9"):
        engine.select(PREFIX + "ASK FROM :g9 { ?s ?p ?o }")


@pytest.mark.parametrize(
    "inside",
    ["", "VALUES ?x { 1 }", "FILTER NOT EXISTS { ?s ?p ?o }", ":a :p* :a", "{} UNION { :a :p 2 }"],
)
def test_a_graph_that_is_not_in_the_dataset_has_no_solutions(engine: Engine, inside: str) -> None:
    asked = f"{{ GRAPH :g2 {{ {inside} }} }}"
    assert engine.select(f"{PREFIX} ASK FROM NAMED :g1 {asked}").answer().boolean is False
    nested = f"{{ FILTER NOT EXISTS {asked} }}"
    assert engine.select(f"{PREFIX} ASK FROM NAMED :g1 {nested}").answer().boolean is True
    found = engine.select(f"{PREFIX} ASK FROM NAMED :g2 {asked}").answer().boolean
    assert found is ("NOT EXISTS" not in inside)
    with pytest.raises(UnknownGraphError, match="http://e/g9"):
        engine.select(f"{PREFIX} ASK {asked.replace(':g2', ':g9')}")


def lines(engine: Engine, text: str) -> list[dict[str, object]]:
    """The JSON lines of a continuous query over three elements, two of them in the first window."""
    stream = engine.register_stream(STREAM)
    query = engine.register_query(PREFIX + text)
    got: list[dict[str, object]] = []
    query.subscribe(lambda answers: got.append(json.loads(answers.to_json())))
    start = 100_000 * (1 + len(RUNS))
    RUNS.append(text)
    stream.push("<http://e/a> <http://e/at> <http://e/r1> .", time=start + 1000)
    stream.push("<http://e/x> <http://e/at> <http://e/r2> .", time=start + 2000)
    stream.push("<http://e/b> <http://e/at> <http://e/r1> .", time=start + 11_000)
    engine.advance_to(start + 30_000)
    query.stop()
    return got


RUNS: list[str] = []


def test_continuous_ask(engine: Engine) -> None:
    got = lines(engine, "REGISTER RSTREAM :ask AS ASK " + WINDOWED + "{ WINDOW :w { :x :at ?r } }")
    assert [line["boolean"] for line in got] == [True, False]


def test_continuous_construct_with_static_data_and_from(engine: Engine) -> None:
    text = "CONSTRUCT { ?who :met [ :value ?v ] } FROM :g1 " + WINDOWED
    got = lines(
        engine, f"REGISTER RSTREAM :c AS {text} {{ WINDOW :w {{ ?who :at ?r }} ?who :p ?v }}"
    )
    triples = [line["triples"] for line in got]
    assert [len(t) for t in triples] == [4, 0]  # type: ignore[arg-type]


def test_istream_of_construct_looks_at_the_variables_of_the_template(engine: Engine) -> None:
    text = "CONSTRUCT { ?r :used true } " + WINDOWED + "{ WINDOW :w { ?who :at ?r } }"
    got = lines(engine, f"REGISTER ISTREAM :i AS {text}")
    used = "<http://e/used>"
    assert [[t.split()[0] for t in line["triples"]] for line in got] == [  # type: ignore[attr-defined]
        ["<http://e/r1>", "<http://e/r2>"],
        [],
    ]
    assert all(used in t for line in got for t in line["triples"])  # type: ignore[attr-defined]


def test_continuous_describe(engine: Engine) -> None:
    got = lines(
        engine, "REGISTER RSTREAM :d AS DESCRIBE ?who " + WINDOWED + "{ WINDOW :w { ?who :at ?r } }"
    )
    assert [len(line["triples"]) for line in got] == [3, 5]  # type: ignore[arg-type]


def test_solutions_are_no_triples(engine: Engine) -> None:
    answers = engine.select(PREFIX + "SELECT ?o { :a :knows ?o }").answer()
    assert answers.to_text("csv") == "o\r\nhttp://e/b\r\n"
    with pytest.raises(TypeError):
        answers.triples()


def test_iris_and_tagged_strings_are_ordered_without_their_delimiters(engine: Engine) -> None:
    text = "SELECT ?v { VALUES ?v { :s1 :s :s-2 'a b'@en 'a'@en 'a!'@en } } ORDER BY ?v"
    found = [str(row["v"]) for row in engine.select(PREFIX + text).answer()]
    assert found == [
        "<http://e/s>",
        "<http://e/s-2>",
        "<http://e/s1>",
        '"a"@en',
        '"a b"@en',
        '"a!"@en',
    ]
