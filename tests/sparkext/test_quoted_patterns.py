"""Patterns of quoted triples, element graphs and unnamed windows, held to the oracle."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from sparkext.language import parse_query
from sparkext.oracle import ContinuousEvaluation
from sparkext.oracle.streams import StaticGraphs, triples_of
from sparkext.recorded_streams import StreamElement
from static_data.terms import QuotedTriple
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
    return StarWorld(engine, static)


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


def window_group(random: Random, writer: PatternWriter, names: Sequence[str]) -> str:
    """WINDOW :w { .. } with patterns in one element's graph or over their merge."""
    inner = writer.triples(random.choice((1, 1, 2)))
    kind = random.choice(("merge", "variable", "variable", "iri", "both"))
    if kind == "merge":
        return f"WINDOW :w {{ {inner} }}"
    name = random.choice(names) if names else f"{ELEMENT}none"
    inside = writer.triples(random.choice((1, 1, 2)))
    if kind == "iri":
        return f"WINDOW :w {{ GRAPH <{name}> {{ {inside} }} }}"
    variable = random.choice(("g", "g", "x"))
    if random.random() < 0.3:
        inside += f" OPTIONAL {{ {writer.triples(1)} }}"
    if random.random() < 0.25:
        inside = f"{{ SELECT DISTINCT ?x ?y {{ {inside} }} }}"
        variable = "g"
    graphs = f"GRAPH ?{variable} {{ {inside} }}"
    return f"WINDOW :w {{ {graphs} {inner if kind == 'both' else ''} }}"


def static_group(random: Random, writer: PatternWriter) -> str:
    """A pattern over the default graph, or a named one."""
    inner = writer.triples(random.choice((1, 2)))
    if random.random() < 0.4:
        inner = f"GRAPH <{GRAPH}> {{ {inner} }}"
    return random.choice(("{}", "{}", "OPTIONAL {{ {} }}")).format(inner)


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
    group = "" if unnamed else window_group(random, writer, names)
    for _ in range(random.choice((0, 1, 1)) + unnamed):
        group += f" {static_group(random, writer)}"
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


@pytest.mark.parametrize("seed", range(12))
def test_random_patterns_over_windows_and_element_graphs(world: StarWorld, seed: int) -> None:
    check_random(world, Random(seed), unnamed=False)


@pytest.mark.parametrize("seed", range(6))
def test_random_patterns_over_unnamed_windows(world: StarWorld, seed: int) -> None:
    check_random(world, Random(seed), unnamed=True)


@pytest.mark.slow
@pytest.mark.parametrize("unnamed", [False, True])
def test_many_random_patterns(world: StarWorld, unnamed: bool) -> None:
    for seed in range(100, 250):
        check_random(world, Random(seed), unnamed)
