"""spark.cqels.duplicates=bag: a triple counts as often as it occurs, held to plain loops over the sightings."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.oracle.evaluation import Bag
from tests.oracle.recorded import Element, element
from tests.sparkext.listening import listen
from tests.sparkext.recorded_streams.whole_replay import at, quad
from tests.sparkext.replay import replay
from tests.sparkext.streams.fed_documents import feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

E = "http://e/"
WIDTH = 4
STATIC = [("a", "p", "b"), ("b", "q", "a")]
Triple = tuple[str, str, str]
_numbers = itertools.count()


def line(triple: Triple) -> str:
    return " ".join(f"<{E}{part}>" for part in triple) + " ."


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine that counts sightings."""
    from sparkext import Engine

    path: Path = tmp_path_factory.mktemp("static") / "static.nt"
    path.write_text("\n".join(map(line, STATIC)) + "\n")
    spark.conf.set("spark.cqels.duplicates", "bag")
    try:
        made = Engine(spark)
    finally:
        spark.conf.unset("spark.cqels.duplicates")
    made.load_static(path, progress=False)
    yield made
    made.close()


def random_sightings(seed: int) -> list[tuple[int, Triple]]:
    """One triple an element, few of them different."""
    random = Random(seed)
    times = sorted(random.randint(1, 12) for _ in range(25))
    return [(t, (random.choice("ab"), random.choice("pq"), random.choice("ab"))) for t in times]


def answers(
    engine: Engine, body: str, elements: list[Element], select: str = "*", operator: str = "RSTREAM"
) -> dict[int, Bag]:
    """What a query over a stream of its own tells; `IT` stands for its IRI."""
    stream = f"{E}stream-{next(_numbers)}"
    text = f"PREFIX : <{E}> REGISTER {operator} :q AS SELECT {select} {body}"
    ((variables, told),) = replay(engine, [text.replace("IT", stream)], {stream: elements}, batch=5)
    order = sorted(range(len(variables)), key=lambda place: variables[place])
    return {
        t: Counter(tuple(row[place] for place in order) for row in rows.elements())
        for t, rows in told.items()
    }


def each_instant(
    sightings: list[tuple[int, Triple]], solve: Callable[[list[Triple]], list[tuple[str, ...]]]
) -> dict[int, Bag]:
    """Solutions over what (t - WIDTH, t] holds, sighting by sighting."""
    return {
        t: Counter(
            tuple(f"<{E}{part}>" for part in row)
            for row in solve([seen for at, seen in sightings if t - WIDTH < at <= t])
        )
        for t, _ in sightings
    }


def joined(content: list[Triple]) -> list[tuple[str, ...]]:
    """?x :p ?y . ?y :q ?z"""
    return [
        (x, y, z) for x, p, y in content if p == "p" for y2, q, z in content if (y2, q) == (y, "q")
    ]


NAMED = f"FROM NAMED WINDOW :w ON <IT> [RANGE {WIDTH}]"
JOIN = "?x :p ?y . ?y :q ?z"


@pytest.mark.parametrize("seed", range(3))
def test_a_join_multiplies_sightings(engine: Engine, seed: int) -> None:
    seen = random_sightings(seed)
    told = answers(
        engine, f"{NAMED} {{ WINDOW :w {{ {JOIN} }} }}", [element(t, line(x)) for t, x in seen]
    )
    expected = each_instant(seen, joined)
    assert told == expected
    assert max(count for rows in expected.values() for count in rows.values()) > 1


def test_an_unnamed_window_adds_its_sightings_to_the_static_triples(engine: Engine) -> None:
    seen = random_sightings(7)
    body = f"FROM WINDOW ON <IT> [RANGE {WIDTH}] {{ {JOIN} }}"
    told = answers(engine, body, [element(t, line(x)) for t, x in seen])
    assert told == each_instant(seen, lambda content: joined(content + STATIC))


def test_counts_and_distinct(engine: Engine) -> None:
    seen = random_sightings(9)
    elements = [element(t, line(x)) for t, x in seen]
    body = f"{NAMED} {{ WINDOW :w {{ ?x :p ?y }} }}"
    number = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    counted = answers(engine, body, elements, "(COUNT(*) AS ?n)")
    distinct = answers(engine, body, elements, "DISTINCT ?x")
    for t, rows in counted.items():
        content = [x for at, x in seen if t - WIDTH < at <= t and x[1] == "p"]
        assert rows == {(number.format(len(content)),): 1}
        assert distinct[t] == Counter({(f"<{E}{s}>",): 1 for s, _, _ in content})


def test_streaming_operators_take_differences_of_bags(engine: Engine) -> None:
    seen = random_sightings(4)
    elements = [element(t, line(x)) for t, x in seen]
    body = f"{NAMED} {{ WINDOW :w {{ ?x :p ?y }} }}"
    all_of = answers(engine, body, elements)
    before: Bag = Counter()
    new, gone = (answers(engine, body, elements, operator=o) for o in ("ISTREAM", "DSTREAM"))
    for t, rows in all_of.items():
        assert new[t] == rows - before
        assert gone[t] == before - rows
        before = rows


def test_an_element_is_a_set_of_triples(engine: Engine) -> None:
    triple = line(("a", "p", "b"))
    body = f"{NAMED} {{ WINDOW :w {{ ?x :p ?y }} }}"
    told = answers(engine, body, [element(1, triple, triple), element(2, triple)])
    row = (f"<{E}a>", f"<{E}b>")
    assert told == {1: {row: 1}, 2: {row: 2}}


@pytest.mark.parametrize("way", ["table", "documents"])
def test_a_row_that_is_repeated_keeps_its_terms(
    spark: SparkSession, engine: Engine, way: str
) -> None:
    """They come at once, and nothing else holds them."""
    once, twice = f"{way}-once", f"{way}-twice"
    stream = engine.register_stream(f"{E}stream-{next(_numbers)}")
    window = NAMED.replace("IT", stream.iri)
    body = f"SELECT ?g ?x {window} {{ WINDOW :w {{ GRAPH ?g {{ ?x :p ?y }} }} }}"
    heard = listen(engine, f"PREFIX : <{E}> REGISTER RSTREAM :q AS {body}", way)
    if way == "table":
        names = [E + name for name in (once, twice, twice)]
        rows = {"subject": names, "predicate": [f"{E}p"] * 3, "object": ['"o"'] * 3}
        stream.push_table(pa.table({**rows, "graph": names, "time": [1] * 3}))
    else:
        lines = {name: quad(name, f"<{E}{name}>") for name in (once, twice)}
        documents = [lines[once] + at(once, 1), lines[twice] * 2 + at(twice, 1)]
        feed(spark, stream, [document.encode() for document in documents])
    terms = engine.store.dictionary
    held = [terms.referenceCount(terms.lookup(f"<{E}{name}>")) for name in (once, twice)]
    assert held[0] == held[1] > 0
    engine.finish()
    engine.stop_query(way)
    expected = {(f"<{E}{name}>",) * 2: 1 for name in (once, twice)}
    assert [Counter(answers.rows()) for answers in heard] == [expected]
