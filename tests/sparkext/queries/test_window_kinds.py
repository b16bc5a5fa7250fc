"""Every kind of window through the engine, against its definition, over streams with ties and repeated triples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from sparkext.s2r.report import ReportPolicy
from sparkext.s2r.windows import ElementsWindow, WindowSpec
from tests.oracle.recorded import Element, element
from tests.sparkext.replay import replay
from tests.sparkext.s2r.window_definitions import content, instants_by_definition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.registered_query import RegisteredQuery

E = "http://example.org/"
P = f"<{E}p>"

WINDOWS = [
    "[ELEMENTS 1]",
    "[ELEMENTS 3]",
    "[ELEMENTS 4 STEP 3]",
    "[ELEMENTS 50 STEP 2]",
    "[LANDMARK 9]",
    "[ALL]",
    "[INTERVAL 5 14]",
    "[NOW-9 TO NOW-3]",
    "[NOW-9 TO NOW-3 STEP 4]",
    "[RANGE 6 STEP 4 DELAY 2 STARTING AT 3]",
    "[RANGE 8 STARTING AT 10]",
    "[RANGE 6 STEP 2] . [INTERVAL 4 12]",
    "[INTERVAL 4 12] . [LANDMARK 7]",
    "[RANGE 3] . [RANGE 9 STEP 5]",
]


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    from sparkext import Engine

    made = Engine(spark)
    yield made
    made.close()


def random_elements(random: Random, number: int) -> list[Element]:
    """Elements of up to three triples each, several at one time, the same triples again and again."""
    times = sorted(random.randrange(30) for _ in range(number))
    return [
        element(
            t, *(f"<{E}s{random.randrange(4)}> {P} <{E}o{random.randrange(3)}> ." for _ in range(n))
        )
        for t, n in ((t, random.choice((1, 1, 2, 3))) for t in times)
    ]


def shown_elements(window: WindowSpec, elements: list[Element], t: int) -> list[Element]:
    """The elements that a window shows at t; those of one time stand in the order of arrival."""
    if isinstance(window, ElementsWindow):
        return [e for e in elements if e.time <= t][-window.count :]
    times = content(window, [e.time for e in elements], t)
    return [e for e in elements if e.time in times]


def expected(
    window: WindowSpec, policy: ReportPolicy, elements: list[Element]
) -> dict[int, list[str]]:
    """What `SELECT ?s ?o` over the window answers, by instant."""
    instants = instants_by_definition([("s", window)], policy, {"s": [e.time for e in elements]})
    return {
        t: sorted({line for e in shown_elements(window, elements, t) for line in e.triples})
        for t in instants
    }


def check_at_once(
    engine: Engine, stream: str, windows: list[str], elements: list[Element], batch: int
) -> None:
    """All windows over one stream at once, so that each keeps to itself what it has let go."""
    texts = [
        f"SELECT ?s ?o FROM NAMED WINDOW <{E}w> ON <{stream}> {window} "
        f"{{ WINDOW <{E}w> {{ ?s {P} ?o }} }}"
        for window in windows
    ]
    with registering(engine) as queries:
        results = replay(engine, texts, {stream: elements}, batch)
    for window, query, (_, answered) in zip(windows, queries, results, strict=True):
        (shown,) = query.windows.values()
        found = {
            t: sorted(f"{s} {P} {o} ." for s, o in rows.elements()) for t, rows in answered.items()
        }
        assert found == expected(shown.spec, query.policy, elements), window


@contextmanager
def registering(engine: Engine) -> Iterator[list[RegisteredQuery]]:
    """The queries that are registered meanwhile."""
    register, queries = engine.register_query, []

    def noting(*arguments: Any, **options: Any) -> RegisteredQuery:
        queries.append(register(*arguments, **options))
        return queries[-1]

    engine.register_query = noting  # type: ignore[method-assign]
    try:
        yield queries
    finally:
        del engine.register_query  # type: ignore[method-assign]


@pytest.mark.parametrize(("seed", "batch"), [(1, 1), (2, 4), (3, 100)])
def test_windows_show_what_their_definitions_say(engine: Engine, seed: int, batch: int) -> None:
    random = Random(seed)
    check_at_once(engine, f"{E}kinds/{seed}", WINDOWS, random_elements(random, 25), batch)


POLICIES = ["", "WC", "NC", "EVERY 3", "STRICT CC", "CC AND EVERY 2", "WC AND NC AND EVERY 4"]


@pytest.mark.parametrize(("seed", "batch"), [(4, 1), (5, 6)])
def test_queries_that_share_windows_do_not_hinder_each_other(
    engine: Engine, seed: int, batch: int
) -> None:
    """Some policies wait in an empty stretch for the next element, others go on."""
    random = Random(seed)
    windows = [
        f"{window} REPORT ON {policy}" if policy else window
        for window in ("[RANGE 4 STEP 2]", "[ELEMENTS 2 STEP 2]", "[RANGE 3]", "[INTERVAL 3 22]")
        for policy in POLICIES
    ]
    check_at_once(engine, f"{E}policies/{seed}", windows, random_elements(random, 9), batch)


@pytest.mark.parametrize(("window", "kept"), [("[ELEMENTS 3]", 4), ("[LANDMARK 150]", 50)])
def test_panes_stay_as_long_as_a_window_needs_them(engine: Engine, window: str, kept: int) -> None:
    """The last element of a stream is always kept: others of its time may come."""
    stream = engine.register_stream(f"{E}panes/{kept}")
    query = engine.register_query(
        f"SELECT ?o FROM NAMED WINDOW <{E}w> ON <{stream.iri}> {window} "
        f"{{ WINDOW <{E}w> {{ <{E}s> {P} ?o }} }}"
    )
    for t in range(200):
        stream.push(f'<{E}s> {P} "{t}" .', t)
    assert stream.log.paneCount() == kept
    assert query.last_answers is not None
    assert len(query.last_answers.rows()) == (3 if "ELEMENTS" in window else 49)
    query.stop()


def test_stock_plans_show_the_same(spark: SparkSession) -> None:
    from sparkext import Engine

    spark.conf.set("spark.cqels.enabled", "false")
    try:
        stock = Engine(spark)
    finally:
        spark.conf.unset("spark.cqels.enabled")
    windows = ["[ELEMENTS 3 STEP 2]", "[LANDMARK 9]"]
    check_at_once(stock, f"{E}stock", windows, random_elements(Random(6), 8), 3)
    stock.close()
