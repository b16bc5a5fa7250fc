"""Patterns of quoted triples, element graphs and unnamed windows, held to the oracle."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import UnsupportedFeatureError
from sparkext.language import parse_query
from sparkext.oracle import ContinuousEvaluation
from sparkext.oracle.streams import StaticGraphs, triples_of
from sparkext.recorded_streams import StreamElement
from static_data.terms import Iri, QuotedTriple, parse_term
from tests.oracle.evaluation import Bag, bag
from tests.sparkext.random_star import PatternWriter, random_triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

E = "http://e/"
ELEMENT = "urn:element:"
WINDOWS = ("[RANGE 4]", "[RANGE 6 STEP 2]")
_numbers = itertools.count()


@dataclass(frozen=True)
class StarElement:
    """An element as terms; a name may be None."""

    time: int
    graph: str | None
    triples: tuple[QuotedTriple, ...]

    def pushed(self) -> StreamElement:
        """As the engine takes it."""
        lines = tuple(
            f"{t.subject.n3()} {t.predicate.n3()} {t.object.n3()} ." for t in self.triples
        )
        return StreamElement(
            self.time, None if self.graph is None else f"<{self.graph}>", lines, None, ()
        )


@dataclass(frozen=True)
class StarWorld:
    """An engine with static data, and the same for the oracle."""

    engine: Engine
    triples: list[QuotedTriple]
    static: StaticGraphs


GRAPH = f"{E}static"


def make_world(
    spark: SparkSession, folder: Path, settings: dict[str, str] | None = None
) -> StarWorld:
    """Twelve triples in the default graph and eight in a named one."""
    from sparkext import Engine

    random = Random(3)
    default = [random_triple(random) for _ in range(12)]
    named = [random_triple(random) for _ in range(8)]
    path = folder / "static.nq"
    path.write_text(
        "".join(t.n3()[3:-3] + " .\n" for t in default)
        + "".join(f"{t.n3()[3:-3]} <{GRAPH}> .\n" for t in named)
    )
    for key, value in (settings or {}).items():
        spark.conf.set(key, value)
    try:
        engine = Engine(spark)
    finally:
        for key in settings or {}:
            spark.conf.unset(key)
    engine.load_static(path, progress=False)
    lines = [[t.n3()[3:-3] + " ." for t in triples] for triples in (default, named)]
    static = StaticGraphs(triples_of(lines[0]), {f"<{GRAPH}>": triples_of(lines[1])})
    return StarWorld(engine, default + named, static)


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StarWorld]:
    made = make_world(spark, tmp_path_factory.mktemp("star"))
    yield made
    made.engine.close()


def random_elements(random: Random, size: int) -> list[StarElement]:
    """Elements in order of time; two thirds have a name of their own."""
    times = sorted(random.randint(1, 14) for _ in range(size))
    return [
        StarElement(
            t,
            f"{ELEMENT}{n}" if random.random() < 0.66 else None,
            tuple(random_triple(random) for _ in range(random.choice((1, 2, 3)))),
        )
        for n, t in enumerate(times)
    ]


def window_group(
    random: Random, writer: PatternWriter, elements: Sequence[StarElement], names: Sequence[str]
) -> str:
    """WINDOW :w { .. } with patterns in one element's graph or over their merge."""
    data = random.choice(elements).triples
    inner = writer.triples(data, random.choice((1, 1, 2)))
    kind = random.choice(("merge", "variable", "variable", "iri", "both"))
    if kind == "merge":
        return f"WINDOW :w {{ {inner} }}"
    name = random.choice(names) if names else f"{ELEMENT}none"
    inside = writer.triples(data, random.choice((1, 1, 2)))
    if kind == "iri":
        return f"WINDOW :w {{ GRAPH <{name}> {{ {inside} }} }}"
    variable = random.choice(("g", "g", "x"))
    if random.random() < 0.3:
        inside += f" OPTIONAL {{ {writer.triples(data, 1)} }}"
    if random.random() < 0.25:
        inside = f"{{ SELECT DISTINCT ?x ?y {{ {inside} }} }}"
        variable = "g"
    graphs = f"GRAPH ?{variable} {{ {inside} }}"
    return f"WINDOW :w {{ {graphs} {inner if kind == 'both' else ''} }}"


def static_group(random: Random, writer: PatternWriter, data: Sequence[QuotedTriple]) -> str:
    """A pattern over the default graph, or a named one."""
    inner = writer.triples(data, random.choice((1, 2)))
    if random.random() < 0.4:
        inner = f"GRAPH <{GRAPH}> {{ {inner} }}"
    return random.choice(("{}", "OPTIONAL {{ {} }}", "OPTIONAL {{ {} }}")).format(inner)


def answered(
    engine: Engine, text: str, stream: str, elements: Sequence[StarElement], batch: int
) -> dict[int, Bag]:
    """What the engine tells, by instant."""
    engine.register_stream(stream)
    query = engine.register_query(text, name=f"star-{next(_numbers)}")
    told: dict[int, Bag] = {}
    query.subscribe(lambda a: told.__setitem__(a.time, bag(a.rows())))
    for start in range(0, len(elements), batch):
        engine.stream(stream).push_elements([e.pushed() for e in elements[start : start + batch]])
    engine.finish()
    query.stop()
    return told


def check_random(world: StarWorld, random: Random, unnamed: bool) -> None:
    """One random query over one random stream."""
    writer = PatternWriter(random)
    elements = random_elements(random, 12)
    names = [e.graph for e in elements if e.graph is not None]
    shape = random.choice(WINDOWS)
    group = "" if unnamed else window_group(random, writer, elements, names)
    for _ in range(random.choice((0, 1, 1)) + unnamed):
        data = [*world.triples, *(t for e in elements for t in e.triples if unnamed)]
        group += f" {static_group(random, writer, data)}"
    stream = f"{E}stream-{next(_numbers)}"
    head = f"PREFIX : <{E}> SELECT ?x ?y ?z" + ("" if unnamed else " ?g")
    clause = f"FROM WINDOW ON <{stream}>" if unnamed else f"FROM NAMED WINDOW :w ON <{stream}>"
    text = f"{head} {clause} {shape} {{ {group} }}"
    told = answered(world.engine, text, stream, elements, random.choice((1, 4, 12)))
    recorded = {stream: [e.pushed() for e in elements]}
    answers = ContinuousEvaluation(parse_query(text), recorded, world.static).answers()
    wanted = {t: bag(answer.rows) for t, answer in answers.items()}
    assert list(told) == list(wanted), text
    for t, rows in wanted.items():
        assert told[t] == rows, f"at {t}: {text}"


@pytest.mark.parametrize(
    "inner",
    [
        "?x :p ?y OPTIONAL { ?y :q ?g }",
        "{ SELECT ?x ?g { ?x :p ?y OPTIONAL { ?y :q ?g } } }",
        "?x :p ?y OPTIONAL { GRAPH ?g { ?y :q ?z OPTIONAL { ?z :p ?g } } }",
    ],
)
def test_a_graph_around_what_may_bind_its_variable_or_not(world: StarWorld, inner: str) -> None:
    stream = f"{E}stream-{next(_numbers)}"
    contents = {
        "g1": [("a", "p", "b"), ("b", "q", "g1"), ("c", "p", "d")],
        "g2": [("a", "p", "b"), ("b", "q", "g1"), ("g1", "p", "g2")],
        "b": [("b", "p", "a"), ("a", "q", "a"), ("a", "p", "b")],
    }
    elements = [
        StarElement(
            1, E + name, tuple(QuotedTriple(*(Iri(E + t) for t in triple)) for triple in triples)
        )
        for name, triples in contents.items()
    ]
    clause = f"FROM NAMED WINDOW :w ON <{stream}> [RANGE 4]"
    text = f"PREFIX : <{E}> SELECT * {clause} {{ WINDOW :w {{ GRAPH ?g {{ {inner} }} }} }}"
    told = answered(world.engine, text, stream, elements, 4)
    recorded = {stream: [e.pushed() for e in elements]}
    answers = ContinuousEvaluation(parse_query(text), recorded, world.static).answers()
    assert told == {t: bag(answer.rows) for t, answer in answers.items()}
    assert sum(told[1].values()) > 1


@pytest.mark.parametrize("seed", range(12))
def test_random_patterns_over_windows_and_element_graphs(world: StarWorld, seed: int) -> None:
    check_random(world, Random(seed), unnamed=False)


@pytest.mark.parametrize("seed", range(6))
def test_random_patterns_over_unnamed_windows(world: StarWorld, seed: int) -> None:
    check_random(world, Random(seed), unnamed=True)


def test_random_patterns_by_stock_spark(spark: SparkSession, tmp_path: Path) -> None:
    world = make_world(spark, tmp_path, {"spark.cqels.enabled": "false"})
    for seed in range(50, 52):
        check_random(world, Random(seed), unnamed=bool(seed % 2))
    world.engine.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        "enabled",
        "adaptive.enabled",
        "prejoin.enabled",
        "statistics.enabled",
        "sharing.enabled",
        "driverExecution.enabled",
    ],
)
def test_random_patterns_without(spark: SparkSession, tmp_path: Path, setting: str) -> None:
    world = make_world(spark, tmp_path, {f"spark.cqels.{setting}": "false"})
    for seed in range(60, 68):
        check_random(world, Random(seed), unnamed=bool(seed % 2))
    world.engine.close()


def test_static_data_that_come_later_are_merged_too(spark: SparkSession, tmp_path: Path) -> None:
    """What a window holds already counts once when it is loaded, and stays when it leaves the window."""
    from sparkext import Engine

    engine = Engine(spark)
    stream = engine.register_stream(f"{E}late")
    query = engine.register_query(
        f"PREFIX : <{E}> SELECT ?x ?y FROM WINDOW ON <{E}late> [RANGE 5] {{ ?x :p ?y }}"
    )
    told: dict[int, list[tuple[str | None, ...]]] = {}
    query.subscribe(lambda a: told.__setitem__(a.time, sorted(a.rows(), key=str)))
    (ab, cd) = (f"<{E}a> <{E}p> <{E}b> .", f"<{E}c> <{E}p> <{E}d> .")
    stream.push(ab, time=1)
    stream.push(ab, time=2)
    engine.advance_to(2)
    path = tmp_path / "late.nt"
    path.write_text(f"{ab}\n")
    engine.load_static(path, progress=False)
    stream.push(cd, time=3)
    stream.push(cd, time=20)
    engine.finish()
    engine.close()
    rows = [(f"<{E}a>", f"<{E}b>"), (f"<{E}c>", f"<{E}d>")]
    assert told == {1: rows[:1], 2: rows[:1], 3: rows, 20: rows}


def test_values_and_constants_that_are_quoted_triples(world: StarWorld) -> None:
    stated = f"<< <{E}s> <{E}p> << <{E}a> <{E}q> 'x' >> >>".replace("'", '"')
    asserted = parse_term(f'<< {stated} <{E}r> "1" >>')
    assert isinstance(asserted, QuotedTriple)
    elements = [StarElement(1, None, (asserted,))]
    for pattern in (
        f"WINDOW :w {{ {stated} :r ?x }}",
        f"WINDOW :w {{ ?t :r ?x }} VALUES ?t {{ {stated} << :a :q 1 >> }}",
        'WINDOW :w { << ?s :p << ?a :q "x" >> >> :r ?x } FILTER(?s = :s && ?a != :s)',
        f"WINDOW :w {{ ?t :r ?x }} FILTER(?t = {stated})",
    ):
        stream = f"{E}stream-{next(_numbers)}"
        text = f"PREFIX : <{E}> SELECT ?x FROM NAMED WINDOW :w ON <{stream}> [NOW] {{ {pattern} }}"
        told = answered(world.engine, text, stream, elements, 1)
        assert told == {1: bag([('"1"',)])}, pattern


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("SELECT ?s { ?s :p ?v } LIMIT 1", "LIMIT or OFFSET"),
        ("SELECT ?s { ?s :p ?v MINUS { ?s :q ?v } }", "MINUS"),
        ("SELECT ?s { ?s :p ?v FILTER EXISTS { ?s :q ?v } }", "EXISTS"),
    ],
)
def test_what_a_graph_cannot_stand_around_is_named_as_written(
    world: StarWorld, pattern: str, word: str
) -> None:
    stream = f"{E}stream-{next(_numbers)}"
    world.engine.register_stream(stream)
    text = (
        f"PREFIX : <{E}> SELECT * FROM NAMED WINDOW :w ON <{stream}> [NOW] {{\n"
        f"  WINDOW :w {{ GRAPH ?g {{ {{ {pattern} }} }} }} }}"
    )
    with pytest.raises(UnsupportedFeatureError, match=f"sub-select with {word}, is not") as refused:
        world.engine.register_query(text, name="refused")
    assert (refused.value.line, refused.value.column) == (2, 15)


@pytest.mark.slow
@pytest.mark.parametrize("unnamed", [False, True])
def test_many_random_patterns(world: StarWorld, unnamed: bool) -> None:
    for seed in range(100, 250):
        check_random(world, Random(seed), unnamed)
