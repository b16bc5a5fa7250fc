"""Patterns of quoted triples, element graphs and unnamed windows, held to Oxigraph over encoded data."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from sparkext.recorded_streams import StreamElement
from static_data.terms import QuotedTriple
from tests.oracle.evaluation import Bag, bag, select
from tests.oracle.evaluation_instants import instants, shown
from tests.oracle.quoted_encoding import HELPERS, decode_term, encode_triples
from tests.oracle.recorded import Element
from tests.oracle.window_definitions import Range, Sliding, Window
from tests.sparkext.random_star import PatternWriter, Texts, random_triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

E = "http://e/"
MERGED = "urn:window"
ELEMENT = "urn:element:"
WINDOWS: dict[str, Window] = {"[RANGE 4]": Range(4), "[RANGE 6 STEP 2]": Sliding(6, 2)}
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
    """An engine with static data, and the same encoded."""

    engine: Engine
    default: list[str]
    named: list[str]
    helpers: set[str]


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
    helpers: set[str] = set()
    return StarWorld(
        engine, encode_triples(default, helpers), encode_triples(named, helpers), helpers
    )


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


def window_group(random: Random, writer: PatternWriter, names: Sequence[str]) -> Texts:
    """WINDOW :w { .. } with patterns in one element's graph or over their merge."""
    inner = writer.triples(random.choice((1, 1, 2)))
    kind = random.choice(("merge", "variable", "variable", "iri", "both"))
    merged = Texts(f"WINDOW :w {{ {inner.star} }}", f"GRAPH <{MERGED}> {{ {inner.plain} }}")
    if kind == "merge":
        return merged
    name = random.choice(names) if names else f"{ELEMENT}none"
    inside = writer.triples(random.choice((1, 1, 2)))
    if kind == "iri":
        return Texts(
            f"WINDOW :w {{ GRAPH <{name}> {{ {inside.star} }} }}",
            f"GRAPH <{name}> {{ {inside.plain} }}",
        )
    variable = random.choice(("g", "g", "x"))
    optional = writer.triples(1) if random.random() < 0.3 else None
    star, plain = inside.star, inside.plain
    if optional is not None:
        star += f" OPTIONAL {{ {optional.star} }}"
        plain += f" OPTIONAL {{ {optional.plain} }}"
    if random.random() < 0.25:
        star = f"{{ SELECT DISTINCT ?x ?y {{ {star} }} }}"
        plain = f"{{ SELECT DISTINCT ?x ?y {{ {plain} }} }}"
        variable = "g"
    parts = [f"{{ GRAPH <{n}> {{ {plain} }} VALUES ?{variable} {{ <{n}> }} }}" for n in names]
    graphs = Texts(
        f"GRAPH ?{variable} {{ {star} }}",
        f"{{ {' UNION '.join(parts) or f'VALUES ?{variable} {{}}'} }}",
    )
    if kind == "variable":
        return Texts(f"WINDOW :w {{ {graphs.star} }}", graphs.plain)
    return Texts(
        f"WINDOW :w {{ {graphs.star} {inner.star} }}",
        f"{graphs.plain} GRAPH <{MERGED}> {{ {inner.plain} }}",
    )


def static_group(random: Random, writer: PatternWriter) -> Texts:
    """A pattern over the default graph, or a named one."""
    inner = writer.triples(random.choice((1, 2)))
    if random.random() < 0.4:
        graph = f"GRAPH <{GRAPH}>"
        inner = Texts(f"{graph} {{ {inner.star} }}", f"{graph} {{ {inner.plain} }}")
    how = random.choice(("{}", "{}", "OPTIONAL {{ {} }}"))
    return Texts(how.format(inner.star), how.format(inner.plain))


def expected(
    world: StarWorld, elements: Sequence[StarElement], window: Window, sparql: str, unnamed: bool
) -> dict[int, Bag]:
    """The answers of each instant; with `unnamed` the window is part of the default graph."""
    helpers = set(world.helpers)
    encoded = [encode_triples(e.triples, helpers) for e in elements]
    timed = [Element(e.time, (str(n),)) for n, e in enumerate(elements)]
    windows = {"w": ("s", window)}
    found = {}
    for t in instants(windows, {"s": timed}):
        store = ox.Store()

        def load(lines: Sequence[str], graph: str | None, store: ox.Store = store) -> None:
            to_graph = None if graph is None else ox.NamedNode(graph)
            store.load("\n".join(lines).encode(), ox.RdfFormat.N_TRIPLES, to_graph=to_graph)

        load(world.default, None)
        load(world.named, GRAPH)
        load(sorted(helpers), HELPERS)
        for element in shown(windows, {"s": timed}, t)["w"]:
            number = int(element.triples[0])
            load(encoded[number], None if unnamed else MERGED)
            if elements[number].graph is not None:
                load(encoded[number], elements[number].graph)
        rows = select(store, sparql)[1]
        found[t] = bag(tuple(decode_term(cell) for cell in row) for row in rows.elements())
    return found


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
    shape, window = random.choice(list(WINDOWS.items()))
    group = Texts("", "") if unnamed else window_group(random, writer, names)
    for _ in range(random.choice((0, 1, 1)) + unnamed):
        group += static_group(random, writer)
    stream = f"{E}stream-{next(_numbers)}"
    head = f"PREFIX : <{E}> SELECT ?x ?y ?z" + ("" if unnamed else " ?g")
    clause = f"FROM WINDOW ON <{stream}>" if unnamed else f"FROM NAMED WINDOW :w ON <{stream}>"
    text = f"{head} {clause} {shape} {{ {group.star} }}"
    sparql = f"{head} {{ {group.plain} }}"
    told = answered(world.engine, text, stream, elements, random.choice((1, 4, 12)))
    wanted = expected(world, elements, window, sparql, unnamed)
    assert list(told) == list(wanted), text
    for t, rows in wanted.items():
        assert told[t] == rows, f"at {t}: {text}\n{sparql}"


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
