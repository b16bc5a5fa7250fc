"""The worked examples of the RSP-QL paper by the names of their cases, through the engine.

One time unit is a millisecond. Each case is one query; all of them are evaluated side by side, over one pass of the
streams and with G_shops(t), the graph that changes, as the default graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.oracle.recorded import element
from tests.sparkext.graph_changes.test_example_10 import shops_over_time
from tests.sparkext.paper_examples.test_rspql_examples import COUPON, NEARBY, SHOPS, W1, E
from tests.sparkext.replay import replay, write_graphs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

History = dict[int, list[str]]

STREAMS = {
    f"{E}nearby": NEARBY,
    f"{E}coupon": COUPON,
    # Example 10 with one offer more, of somebody who owns no shop any longer.
    f"{E}coupon-v": [*COUPON, element(15, f'<{E}alice> <{E}offers> "x" .')],
}


class Case(NamedTuple):
    """A query: `windows` declares :w1 over the people nearby and, after " and ", :w2 over the coupons."""

    windows: str
    operator: str = "RSTREAM"
    pattern: str = "WINDOW :w1 { ?p :isNearby ?shop }"
    select: str = "?p ?shop"
    coupons: str = "coupon"
    every: str = ""

    @property
    def text(self) -> str:
        streams = ("nearby", self.coupons)
        windows = enumerate(zip(streams, self.windows.split(" and "), strict=False), 1)
        declared = [
            f"FROM NAMED WINDOW :w{n} ON <{E}{stream}> {window}"
            for n, (stream, window) in windows
            if window != "-"
        ]
        return (
            f"PREFIX : <{E}> REGISTER {self.operator} :q {self.every} AS SELECT {self.select}"
            f" {' '.join(declared)} {{ {self.pattern} }}"
        )


SHOPPERS = """WINDOW :w1 { ?shopper :isNearby ?shop } WINDOW :w2 { ?shop_owner :offers ?coupon }
  ?shop_owner :owns ?shop"""
ON_W2 = "REPORT ON WC AND NC"
TWO = f"{W1} and [RANGE 2 STEP 2] {ON_W2}"


def example_10(
    windows: str = TWO, operator: str = "RSTREAM", coupons: str = "coupon", pattern: str = SHOPPERS
) -> Case:
    return Case(windows, operator, pattern, "?shopper ?shop ?shop_owner ?coupon", coupons)


def starting(first: int, second: int) -> Case:
    """Example 10 with other starts of the two windows."""
    return example_10(
        f"[RANGE 5 STEP 2 STARTING AT {first}] and [RANGE 2 STEP 2 STARTING AT {second}] {ON_W2}"
    )


def every_time(window: str) -> Case:
    """What a window on the people nearby shows at each time."""
    return Case(window, every="COMPUTED EVERY 1")


CARL_AND_EVE = ["carl a alice 10%", "eve a alice 10%"]
DIANA = ["diana b bob free"]
ALL_NEARBY = ["carl a", "diana a", "eve b"]

HISTORIES: dict[str, tuple[Case, History]] = {
    # Answers at all instants of the case.
    "001-ex6": (
        Case("[RANGE 4 STEP 4]"),
        {4: ["diana a", "eve b"], 8: ["carl a", "eve a"], 12: ["diana b"]},
    ),
    "001-ex9": (
        Case("- and [RANGE 2 STEP 2]", "RSTREAM", "WINDOW :w2 { ?p :offers ?what }", "?p ?what"),
        {8: ["alice 10%"], 16: ["bob free"]},
    ),
    "001-ex10-rstream": (example_10(), {8: CARL_AND_EVE, 16: DIANA}),  # S-001-2: no :adam
    "001-ex10-istream": (example_10(operator="ISTREAM"), {8: CARL_AND_EVE, 16: DIANA}),
    "001-ex10-dstream": (example_10(operator="DSTREAM"), {8: [], 16: CARL_AND_EVE}),
    "001-ex10v": (example_10(coupons="coupon-v"), {8: CARL_AND_EVE, 16: DIANA}),
    "001-ex13-rstream": (
        Case(W1),
        {
            6: ALL_NEARBY,
            8: ["carl a", "eve a"],
            10: ["eve a"],
            12: ["diana b"],
            14: ["diana b"],
            16: ["diana b"],
        },
    ),
    "001-ex13-istream": (
        Case(W1, "ISTREAM"),
        {6: ALL_NEARBY, 8: ["eve a"], 10: [], 12: ["diana b"], 14: [], 16: []},
    ),
    "001-ex13-dstream": (
        Case(W1, "DSTREAM"),
        {6: [], 8: ["diana a", "eve b"], 10: ["carl a"], 12: ["eve a"], 14: [], 16: []},
    ),
    "001-ex13-cqels-istream": (
        Case(f"{W1} REPORT ON CONTENT CHANGE", "ISTREAM"),
        {2: ["diana a", "eve b"], 5: ["carl a"], 7: ["eve a"], 12: ["diana b"]},
    ),
    "001-oracle-00": (starting(0, 0), {8: CARL_AND_EVE, 16: []}),
    "001-oracle-10": (starting(1, 0), {8: CARL_AND_EVE, 16: DIANA}),
    "001-oracle-01": (starting(0, 1), {9: CARL_AND_EVE, 15: DIANA}),
    "001-oracle-11": (starting(1, 1), {9: ["eve a alice 10%"], 15: DIANA}),
    # S-001-6: (2,5,0) has no window open at 3 to 5 and 8 to 10.
    "S-001-6": (
        every_time("[RANGE 2 STEP 5]"),
        {
            t: {2: ["diana a", "eve b"], 7: ["eve a"], 12: ["diana b"]}.get(t, [])
            for t in range(2, 13)
        },
    ),
    # S-001-7: two people near one shop are two rows; ISTREAM and DSTREAM ask whether a row was there.
    "S-001-7 rstream": (
        Case(W1, select="?shop"),
        {6: ["a", "a", "b"], 8: ["a", "a"], 10: ["a"], 12: ["b"], 14: ["b"], 16: ["b"]},
    ),
    "S-001-7 istream": (
        Case(W1, "ISTREAM", select="?shop"),
        {6: ["a", "b"], 8: [], 10: [], 12: ["b"], 14: [], 16: []},
    ),
    "S-001-7 dstream": (
        Case(W1, "DSTREAM", select="?shop"),
        {6: [], 8: ["b"], 10: [], 12: ["a"], 14: [], 16: []},
    ),
    # S-001-9: with no policy written, either window's non-empty close reports.
    "S-001-9": (
        example_10(f"{W1} and [RANGE 2 STEP 2]"),
        {6: [], 8: CARL_AND_EVE, 10: [], 12: [], 14: [], 16: DIANA},
    ),
}

INSTANTS: dict[str, tuple[Case, list[int]]] = {
    "001-ex13-wcnc": (Case(f"{W1} REPORT ON WC AND NC"), [6, 8, 10, 12, 14, 16]),
    "001-ex13-cqels": (Case(f"{W1} REPORT ON CC"), [2, 5, 7, 12]),  # S-001-4: arrivals
    "001-cc-strict": (Case(f"{W1} REPORT ON STRICT CC"), [2, 5, 7, 9, 11, 12, 17]),
    "001-nc": (Case(f"{W1} REPORT ON NC"), [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16]),
}

FIRST_CLOSE: dict[str, tuple[Case, int, list[str]]] = {
    # S-001-3: by Definition 12, not as Figure 4 has it.
    "001-ex11-t0-0": (Case("[RANGE 5 STEP 2 STARTING AT 0]"), 5, ALL_NEARBY),
    "001-ex11-t0-1": (Case("[RANGE 5 STEP 2 STARTING AT 1]"), 6, ALL_NEARBY),
    "001-ex11-t0-2": (Case("[RANGE 5 STEP 2 STARTING AT 2]"), 7, ["carl a", "eve a"]),
}

PRESENT = every_time(W1)
LATER_START = every_time("[RANGE 5 STEP 2 STARTING AT 3]")
CASES = [
    *(case for case, _ in HISTORIES.values()),
    *(case for case, _ in INSTANTS.values()),
    *(case for case, _, _ in FIRST_CLOSE.values()),
    PRESENT,
    LATER_START,
]


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine with g_shops as a named graph and G_shops(t) as the default graph."""
    from sparkext import Engine

    made = Engine(spark)
    folder = tmp_path_factory.mktemp("shops")
    made.load_static(write_graphs(folder, "", {f"{E}g_shops": SHOPS}), progress=False)
    shops_over_time(made)
    yield made
    made.close()


@pytest.fixture(scope="module")
def told(engine: Engine) -> dict[Case, History]:
    """Answers of all cases by instant, each a line of local names."""
    texts = {case.text: case for case in CASES}
    results = replay(engine, list(texts), STREAMS)
    return {
        case: {
            t: sorted(" ".join(map(_local, row)) for row in rows.elements())
            for t, rows in answered.items()
        }
        for case, (_, answered) in zip(texts.values(), results, strict=True)
    }


def _local(term: str | None) -> str:
    return str(term).removeprefix(f"<{E}").rstrip(">").strip('"')


@pytest.mark.parametrize("name", HISTORIES)
def test_answers_by_instant(told: dict[Case, History], name: str) -> None:
    case, expected = HISTORIES[name]
    assert told[case] == expected


@pytest.mark.parametrize("name", INSTANTS)
def test_instants(told: dict[Case, History], name: str) -> None:
    case, expected = INSTANTS[name]
    assert list(told[case]) == expected


@pytest.mark.parametrize("name", FIRST_CLOSE)
def test_first_window(told: dict[Case, History], name: str) -> None:
    case, close, content = FIRST_CLOSE[name]
    assert next(iter(told[case].items())) == (close, content)


@pytest.mark.parametrize("at", [9], ids=["001-ex7"])
def test_present_window(told: dict[Case, History], at: int) -> None:
    """S-001-1: (5,10] is present, which still shows the same at its close; (7,12] would show nothing."""
    assert told[PRESENT][at] == told[PRESENT][10] == ["eve a"]
    assert told[PRESENT][11] == []


@pytest.mark.parametrize("differing", [[3, 4, 5, 6]], ids=["001-thm1"])
def test_windows_of_other_starts_agree_after_a_while(
    told: dict[Case, History], differing: list[int]
) -> None:
    """S-001-5: from a + (n - 1) beta + alpha on, not from the later start, 3, on."""
    early, late = told[PRESENT], told[LATER_START]
    assert [t for t in range(3, 17) if early.get(t, []) != late.get(t, [])] == differing


@pytest.mark.parametrize("person", ["alice"], ids=["001-ex2"])
def test_query_over_one_graph(engine: Engine, person: str) -> None:
    text = f"PREFIX : <{E}> SELECT ?person FROM :g_shops {{ ?person :owns :a }}"
    assert [[_local(term) for term in row] for row in engine.select(text).answer().rows()] == [
        [person]
    ]
