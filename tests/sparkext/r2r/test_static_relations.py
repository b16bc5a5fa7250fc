"""Static relations in memory: shared while queries hold them, and given back when none does."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sparkext
from sparkext.engine import Engine
from sparkext.r2r.relations import static_relations
from tests.sparkext.uncertainty.readings import engine_with

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

E = "http://example.org/"
PEOPLE = "".join(
    f'<{E}p{n}> <{E}name> "n{n}" .\n<{E}p{n}> <{E}knows> <{E}p{(7 * n) % 40}> .\n'
    for n in range(40)
)
KNOWN = f"""
PREFIX : <{E}>
SELECT ?a ?name FROM NAMED WINDOW :w ON :s [RANGE PT5S]
WHERE {{ WINDOW :w {{ ?a :at ?room }} ?a :knows ?b . ?b :name ?name }}
"""


@pytest.fixture
def engine(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    monkeypatch.setattr(static_relations, "IDLE_RELATIONS", 4)
    (tmp_path / "people.nt").write_text(PEOPLE)
    made = sparkext.Engine(spark)
    made.load_static(tmp_path / "people.nt", progress=False)
    made.register_stream(f"{E}s")
    yield made
    made.close()


def names_known_by(engine: Engine, number: int) -> list[str]:
    """The answer of an ordinary query that nobody asks twice."""
    query = f"SELECT ?name {{ <{E}p{number}> <{E}knows> ?b . ?b <{E}name> ?name }}"
    return [str(row[0]) for row in engine.select(query).answer().rows()]


def test_what_ordinary_queries_read_is_given_back(engine: Engine) -> None:
    for number in range(20):
        assert names_known_by(engine, number) == [f'"n{(7 * number) % 40}"']
    gc.collect()
    assert len(engine.parts.relations) <= 4
    assert engine.parts.relations.made >= 20, "each reads rows of its own"


def test_the_last_relations_serve_the_next_query_while_they_are_not_too_large(
    engine: Engine,
) -> None:
    assert names_known_by(engine, 1) == ['"n7"']
    made = engine.parts.relations.made
    assert names_known_by(engine, 1) == ['"n7"']
    assert engine.parts.relations.made == made
    engine.parts.relations._idle_bytes = 1
    for number in range(2, 8):
        assert names_known_by(engine, number) == [f'"n{7 * number % 40}"']
    gc.collect()
    assert len(engine.parts.relations) == 1, "the last one stays, however large it is"


def test_what_a_registered_query_reads_stays_until_it_is_stopped(engine: Engine) -> None:
    first = engine.register_query(KNOWN, name="first")
    for number in range(20):
        names_known_by(engine, number)
    gc.collect()
    made = engine.parts.relations.made
    second = engine.register_query(KNOWN, name="second")
    assert engine.parts.relations.made == made, "shared with the first one, which holds it"
    for query in (first, second):
        query.stop()
    for number in range(20, 30):
        names_known_by(engine, number)
    made = engine.parts.relations.made
    gc.collect()
    assert len(engine.parts.relations) <= 4
    third = engine.register_query(KNOWN, name="third")
    assert engine.parts.relations.made > made, "nobody held it any more"
    third.stop()


def test_a_query_sees_changes_of_what_it_alone_still_holds(engine: Engine) -> None:
    query = engine.register_query(KNOWN, name="changes")
    stream = engine.stream(f"{E}s")
    for second in range(1, 6):
        for number in range(10 * second, 10 * second + 8):
            names_known_by(engine, number % 40)
        engine.insert(f"<{E}p1> <{E}knows> <{E}p{second + 10}> .", at=1000 * second)
        stream.push(f"<{E}p1> <{E}at> <{E}hall> .", 1000 * second)
        stream.advance_to(1000 * second)
        assert query.last_answers is not None
        seen = sorted(str(name) for _, name in query.last_answers.rows())
        assert set(seen) == {'"n7"', *(f'"n{n + 10}"' for n in range(1, second + 1))}
    query.stop()


QUADS = "".join(
    f"<{E}a{n % 4}> <{E}p{n % 3}> <{E}a{n % 5}> {graph}.\n"
    for n in range(30)
    for graph in ("", f"<{E}g{n % 2}> ", f"<{E}g2> ")
    if (n + len(graph)) % 4
)
STARS = "".join(
    f"<< <{E}a{n}> <{E}p0> <{E}a{n % 2}> >> <{E}said> <{E}a{n % 3}> .\n" for n in range(6)
)
PATTERNS = (
    "?s :p1 ?o",
    "?s :p1 :a1",
    ":a1 ?p ?o",
    "?s ?p ?s",
    "?s :none ?o",
    ":a1 :p1 :a1",
    "GRAPH ?g { ?s :p2 ?o }",
    "GRAPH :g2 { ?s ?p ?o }",
    "GRAPH ?g { ?s ?p ?s . ?s :p1 ?o }",
    "<< ?s :p0 ?o >> :said ?who",
    "<< ?s ?p ?s >> ?q :a1",
    "?s :p0 ?x . ?x :p1 ?y . ?y :p2 ?z",
    "?s (:p0|:p1)+ ?o",
    "?s :p0 ?x { SELECT ?x (COUNT(?y) AS ?many) { ?x :p1 ?y } GROUP BY ?x }",
)


@pytest.mark.parametrize("clause", ["", f"FROM <{E}g0> FROM <{E}g1> FROM NAMED <{E}g2>"])
def test_patterns_find_the_same_in_memory_and_in_files(
    spark: SparkSession, tmp_path: Path, clause: str
) -> None:
    (tmp_path / "quads.nq").write_text(QUADS)
    (tmp_path / "stars.nt").write_text(STARS)
    found = []
    for most, here in (("100000", "true"), ("100000", "false"), ("0", "true")):
        settings = {"load__driverMaxBytes": most, "driverExecution__enabled": here}
        with engine_with(spark, **settings) as engine:
            for name in ("quads.nq", "stars.nt"):
                engine.load_static(tmp_path / name, progress=False)
            engine.insert(f"<{E}a7> <{E}p1> <{E}a7> .\n<{E}a1> <{E}p1> <{E}a1> .")
            texts = (f"PREFIX : <{E}> SELECT * {clause} {{ {p} }}" for p in PATTERNS)
            answers = (engine.select(text).answer().rows() for text in texts)
            found.append([sorted(map(str, rows)) for rows in answers])
    assert all(other == found[0] for other in found[1:])
    assert sum(bool(rows) for rows in found[0]) >= (8 if clause else 12)
