"""Windows of the RSP-QL* paper by the names of their cases, through the engine in profile rspqlstar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.oracle.recorded import Element
from tests.sparkext.replay import replay
from tests.sparkext.runtime.test_profiles import READINGS, E, engine_with

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

History = dict[int, str]

# What the window of width 10 and step 5 shows: with close < tau, as printed, and with close <= tau.
DEFINITION_15 = {
    "002-def15-10": (10, "", "g0 g1"),
    "002-def15-11": (11, "g0 g1", "g0 g1"),
    "002-def15-15": (15, "g0 g1", "g1 g2"),
    "002-def15-16": (16, "g1 g2", "g1 g2"),
    "002-def15-20": (20, "g1 g2", "g2 g3 g4"),
    "002-def15-21": (21, "g2 g3 g4", "g2 g3 g4"),
    "002-def15-25": (25, "g2 g3 g4", "g3 g4 g5"),
    "002-def15-26": (26, "g3 g4 g5", "g3 g4 g5"),
}
WINDOWS = {
    "strict": ("COMPUTED EVERY 1", "[RANGE 10 STEP 5]"),
    "just after": ("", "[RANGE 10 STEP 5]"),
    "002-def5": ("", "[RANGE 10 STEP 10]"),
}
NAMES = "GRAPH ?g { ?o :value ?e }"
# A reading whose element has more than its time beside its graph, and an element without a name.
BESIDE = [
    Element(
        1,
        (f"<{E}o> <{E}value> <{E}v> .",),
        f"{E}g",
        (f'<{E}g> <{E}time> "1" .', f"<{E}g> <{E}source> <{E}here> ."),
    ),
    Element(2, (f"<{E}o2> <{E}value> <{E}v2> .",)),
]


def query(pattern: str, window: str, stream: str = "s", every: str = "") -> str:
    return f"""PREFIX : <{E}> REGISTER RSTREAM :q {every} AS SELECT * FROM NAMED WINDOW :w ON :{stream} {window}
      {{ WINDOW :w {{ {pattern} }} }}"""


@pytest.fixture(scope="module")
def told(spark: SparkSession) -> dict[str, History]:
    """Answers by instant: names of elements, or the subjects and objects of what a bare pattern sees."""
    texts = {name: query(NAMES, window, every=every) for name, (every, window) in WINDOWS.items()}
    texts["bare"] = query("?g ?p ?e", "[RANGE 10 STEP 10]", "beside")
    texts["in graph"] = query(NAMES, "[RANGE 10 STEP 10]", "beside")
    with engine_with(spark, semantics="rspqlstar") as engine:
        results = replay(
            engine, list(texts.values()), {f"{E}s": READINGS, f"{E}beside": BESIDE}, batch=10
        )
    return {
        name: {
            t: " ".join(sorted(_local(row[variables.index("g")]) for row in rows.elements()))
            for t, rows in answered.items()
        }
        for name, (variables, answered) in zip(texts, results, strict=True)
    }


def _local(term: str | None) -> str:
    return str(term).removeprefix(f"<{E}").rstrip(">")


@pytest.mark.parametrize("name", DEFINITION_15)
def test_last_closed_window(told: dict[str, History], name: str) -> None:
    """S-002-1 and S-002-2; what is reported on a close, just after it, shows the window that closes."""
    tau, strictly, just_after = DEFINITION_15[name]
    assert told["strict"][tau] == strictly
    reported = told["just after"]
    assert reported[max(close for close in reported if close <= tau)] == just_after
    assert (tau in reported) == (tau % 5 == 0)


@pytest.mark.parametrize("names", ["g2 g3 g4"], ids=["002-def5"])
def test_window_with_its_lower_edge(told: dict[str, History], names: str) -> None:
    assert told["002-def5"][20] == names


def test_slip_s_002_5_what_else_stands_beside_the_time_is_kept(told: dict[str, History]) -> None:
    """Outside GRAPH: both triples beside the graph, and the default graph of the element without a name."""
    assert told["bare"] == {10: "g g o2"}
    assert told["in graph"] == {10: "g"}
