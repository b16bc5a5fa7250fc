"""The worked examples of the RSP-QL paper, one time unit a millisecond, through the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.oracle.evaluation import static_store
from tests.oracle.recorded import element
from tests.sparkext.replay import check, replay

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.oracle import StaticGraphs

E = "http://example.org/"


def _triple(subject: str, predicate: str, object_: str) -> str:
    literal = object_.startswith('"')
    return f"<{E}{subject}> <{E}{predicate}> {object_ if literal else f'<{E}{object_}>'} ."


SHOPS = "\n".join(
    [
        _triple("a", "type", "Shop"),
        _triple("b", "type", "Shop"),
        _triple("alice", "owns", "a"),
        _triple("bob", "owns", "b"),
    ]
)
NEARBY = [
    element(t, _triple(who, "isNearby", shop))
    for who, shop, t in (
        ("diana", "a", 2),
        ("eve", "b", 2),
        ("carl", "a", 5),
        ("eve", "a", 7),
        ("diana", "b", 12),
    )
]
COUPON = [
    element(8, _triple("alice", "offers", '"10%"')),
    element(15, _triple("bob", "offers", '"free"')),
]
W1 = "[RANGE 5 STEP 2 STARTING AT 1]"
EXAMPLE_10 = """WINDOW :w1 { ?shopper :isNearby ?shop }
  WINDOW :w2 { ?shop_owner :offers ?coupon } ?shop_owner :owns ?shop"""


@pytest.fixture(scope="module")
def shops(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Engine, StaticGraphs]]:
    """The shops and who owns them."""
    from sparkext import Engine

    path: Path = tmp_path_factory.mktemp("shops") / "shops.nt"
    path.write_text(SHOPS + "\n")
    engine = Engine(spark)
    engine.load_static(path, progress=False)
    yield engine, static_store(SHOPS)
    engine.close()


def run(
    shops: tuple[Engine, StaticGraphs],
    name: str,
    pattern: str,
    windows: str,
    operator: str = "RSTREAM",
) -> dict[int, list[str]]:
    """Answers by instant, each a line of local names; checked against the oracle on the way.

    `windows` declares :w1 over the people nearby and :w2 over the coupons.
    """
    nearby, coupon = f"{E}{name}/nearby", f"{E}{name}/coupon"
    declared = [
        f"FROM NAMED WINDOW :w{n} ON <{stream}> {window}"
        for n, (stream, window) in enumerate(
            zip((nearby, coupon), windows.split(" and "), strict=False), 1
        )
        if window != "-"
    ]
    clauses = " ".join(declared)
    text = f"PREFIX : <{E}>\nREGISTER {operator} :q AS SELECT * {clauses} {{ {pattern} }}"
    streams = {nearby: NEARBY, coupon: COUPON}
    engine, store = shops
    (answered,) = check(engine, [text], {s: e for s, e in streams.items() if s in text}, store)
    return {
        t: sorted(" ".join(_local(term) for term in row) for row in rows.elements())
        for t, rows in answered.items()
    }


def _local(term: str | None) -> str:
    return str(term).removeprefix(f"<{E}").rstrip(">").strip('"')


def test_example_6_content_of_one_window(shops: tuple[Engine, StaticGraphs]) -> None:
    answered = run(shops, "ex6", "WINDOW :w1 { ?p :isNearby ?s }", "[RANGE 4 STEP 4]")
    assert answered[8] == ["carl a", "eve a"]


def test_example_7_present_window(shops: tuple[Engine, StaticGraphs]) -> None:
    """At 9 the windows (5, 10] and (7, 12] are open; the one that opened first is present, up to 9."""
    engine, store = shops
    nearby, clock = f"{E}ex7/nearby", f"{E}ex7/clock"
    text = f"""PREFIX : <{E}> SELECT ?p ?s FROM NAMED WINDOW :w1 ON <{nearby}> {W1}
      FROM NAMED WINDOW :tick ON <{clock}> [NOW]
      {{ WINDOW :w1 {{ ?p :isNearby ?s }} WINDOW :tick {{ ?clock :shows ?time }} }}"""
    ticks = [element(9, _triple("clock", "shows", '"9"'))]
    (answered,) = check(engine, [text], {nearby: NEARBY, clock: ticks}, store)
    assert [_local(term) for row in answered[9] for term in row] == ["eve", "a"]


def test_example_9_instants(shops: tuple[Engine, StaticGraphs]) -> None:
    pattern = "WINDOW :w2 { ?who :offers ?what }"
    assert list(run(shops, "ex9", pattern, "- and [RANGE 2 STEP 2]")) == [8, 16]


@pytest.mark.parametrize(
    ("operator", "told"),
    [
        ("RSTREAM", {8: ["carl a alice 10%", "eve a alice 10%"], 16: ["diana b bob free"]}),
        ("ISTREAM", {8: ["carl a alice 10%", "eve a alice 10%"], 16: ["diana b bob free"]}),
        # W1 reports as well, so what left is told at 10, when the coupon is gone.
        ("DSTREAM", {10: ["carl a alice 10%", "eve a alice 10%"]}),
    ],
)
def test_example_10(
    shops: tuple[Engine, StaticGraphs], operator: str, told: dict[int, list[str]]
) -> None:
    windows = f"{W1} and [RANGE 2 STEP 2]"
    answered = run(shops, f"ex10-{operator}", EXAMPLE_10, windows, operator)
    assert list(answered) == [6, 8, 10, 12, 14, 16]
    assert {t: rows for t, rows in answered.items() if rows} == told


@pytest.mark.parametrize(
    ("operator", "told"),
    [
        (
            "RSTREAM",
            ["carl a, diana a, eve b", "carl a, eve a", "eve a", "diana b", "diana b", "diana b"],
        ),
        ("ISTREAM", ["carl a, diana a, eve b", "eve a", "", "diana b", "", ""]),
        ("DSTREAM", ["", "diana a, eve b", "carl a", "eve a", "", ""]),
    ],
)
def test_example_13(shops: tuple[Engine, StaticGraphs], operator: str, told: list[str]) -> None:
    pattern = "WINDOW :w1 { ?p :isNearby ?shop }"
    answered = run(shops, f"ex13-{operator}", pattern, W1, operator)
    assert {t: ", ".join(rows) for t, rows in answered.items()} == dict(
        zip((6, 8, 10, 12, 14, 16), told, strict=True)
    )


NEARBY_PATTERN = "WINDOW :w1 { ?p :isNearby ?shop }"


def answered_under(
    shops: tuple[Engine, StaticGraphs], name: str, pattern: str, windows: str, operator: str = ""
) -> dict[int, list[str]]:
    """Answers by instant of a query whose windows may have REPORT; no oracle beside it.

    `windows` declares :w1 over the people nearby and, after "and", :w2 over the coupons.
    """
    engine, _ = shops
    streams = {f"{E}{name}/nearby": NEARBY, f"{E}{name}/coupon": COUPON}
    declared = " ".join(
        f"FROM NAMED WINDOW :w{n} ON <{stream}> {window}"
        for n, (stream, window) in enumerate(zip(streams, windows.split(" and "), strict=False), 1)
    )
    registered = f"REGISTER {operator} :q AS" if operator else ""
    text = f"PREFIX : <{E}>\n{registered} SELECT * {declared} {{ {pattern} }}"
    ((_, answered),) = replay(engine, [text], {s: e for s, e in streams.items() if s in text})
    return {
        t: sorted(" ".join(_local(term) for term in row) for row in rows.elements())
        for t, rows in answered.items()
    }


@pytest.mark.parametrize(
    ("report", "instants"),
    [
        ("WINDOW CLOSE", [6, 8, 10, 12, 14, 16]),
        ("WC AND NC AND EVERY 3", [10, 16]),  # t0 + 3k, t0 being 1
        ("NC AND CC", [2, 5, 7, 12]),
    ],
)
def test_definition_23_conjunctions_over_one_window(
    shops: tuple[Engine, StaticGraphs], report: str, instants: list[int]
) -> None:
    name = f"def23-{report.replace(' ', '-')}"
    answered = answered_under(shops, name, NEARBY_PATTERN, f"{W1} REPORT ON {report}")
    assert list(answered) == instants


def test_definition_23_a_conjunction_over_two_windows(shops: tuple[Engine, StaticGraphs]) -> None:
    engine, _ = shops
    nearby, coupon = f"{E}def23-two/nearby", f"{E}def23-two/coupon"
    rules = "NC OF :w1 AND WC OF :w2 AND NC OF :w2 OR STRICT CC OF :w1 AND EVERY 4"
    text = f"""PREFIX : <{E}> REGISTER RSTREAM :q REPORT ON {rules} AS
      SELECT * FROM NAMED WINDOW :w1 ON <{nearby}> {W1}
      FROM NAMED WINDOW :w2 ON <{coupon}> [RANGE 2 STEP 2] {{ {EXAMPLE_10} }}"""
    ((_, answered),) = replay(engine, [text], {nearby: NEARBY, coupon: COUPON})
    # W1 changes at 2, 5, 7, 9, 11, 12, 17; t0 + 4k is 1, 5, 9, 13, 17.
    assert list(answered) == [5, 8, 9, 16, 17]
