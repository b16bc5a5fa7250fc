"""The worked examples of the RSEP-QL paper by the names of their cases, and its slips as they are read.

A time unit is a millisecond. The stream is that of Figure 1, in the only form that gives all printed results: G1 to
G5 at 2, 4, 6, 8 and 10; G6 at 12 concerns no query and is there to be evaluated at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sparkext.language import parse_query
from sparkext.oracle import ContinuousEvaluation
from sparkext.oracle.events.occurrences import Consumption
from tests.oracle.evaluation import stream_element
from tests.sparkext.event_cases import ANSWERING, Answering, Case, Contents, E, answering_by

G: Contents = {
    2: ["a1 p b1"],
    4: ["a2 p b2"],
    6: ["b1 q c1", "b2 q c2"],
    8: ["b2 q c2"],
    10: ["a3 p b3", "b1 q c1"],
}
G6: Contents = {12: ["d r d"]}
PAPER = {"w1": "[LANDMARK 1]", "w2": "[RANGE 5]"}  # S-004-1: not LND 9
EVENTS = {"E1": ("w1", "?x :p ?y"), "E2": ("w2", "?y :q ?z")}

E1, E2 = "a2 b2 c2 4 6", "a1 b1 c1 2 6"
E3, E4 = "a2 b2 c2 4 8", "a1 b1 c1 2 10"


def sequence(
    policy: str,
    expected: dict[int, list[str]],
    operator: str | None = "RSTREAM",
    windows: Mapping[str, str] = PAPER,
    stream: Contents = G,
) -> Case:
    """E1 SEQ E2 with the times of its results, evaluated at the instants for which there are expectations."""
    match = f"{policy} {{ E1 SEQ E2 FROM ?s TO ?e }}"
    shown = "?x ?y ?z ?s ?e"
    return Case(match, EVENTS, {"S": stream}, expected, list(expected), shown, windows, operator)


def timed(pattern: str, window: str, expected: dict[int, list[str]]) -> Case:
    """The mappings of a basic event, each with its time."""
    return Case(
        "{ E AT ?t }",
        {"E": ("w", pattern)},
        {"S": {**G, **G6}},
        expected,
        list(expected),
        windows={"w": window},
    )


def in_profile(name: str, expected: dict[int, list[str]]) -> Case:
    """E1 SEQ E2 as a profile has it: selection, consumption, when it is evaluated and what it tells."""
    return replace(sequence("", expected, None), at=(), profile=name)


def one_time(policy: str, contents: Contents, expected: dict[int, list[str]]) -> Case:
    """E1 SEQ E2 on another stream, both windows landmarks."""
    return sequence(policy, expected, windows=LANDMARKS, stream=contents)


LANDMARKS = {"w1": "[LANDMARK 1]", "w2": "[LANDMARK 1]"}
NOTHING: list[str] = []
TWO_CS: Contents = {2: ["a1 p b1"], 6: ["b1 q c1"], 8: ["b1 q c9"]}

CASES: dict[str, Case] = {
    # ---- Section 2, the table of Figure 1; S-004-13: unrestricted tells what is new
    "004-sec2-unrestricted": sequence("UNRESTRICTED", {8: [E2, E1, E3], 10: [E4]}, "ISTREAM"),
    "004-sec2-chronological": sequence("CHRONOLOGICAL", {8: [E2, E1], 10: NOTHING}),
    "004-sec2-recent": sequence("RECENT", {8: [E2, E3], 10: NOTHING}),
    # S-004-10: the last of each side over all bindings; at 10 these are a3 p b3 and b1 q c1, both at 10.
    "004-sec2-csparql": sequence(
        "NAIVE", {8: [E3], 10: NOTHING}, windows={"w1": "[RANGE 7]", "w2": "[RANGE 7]"}
    ),
    "004-sec2-unrestricted-landmarks": sequence(
        "UNRESTRICTED", {8: [E2, E1, E3], 10: [E4]}, "ISTREAM", LANDMARKS
    ),
    "004-sec2-chronological-landmarks": sequence(
        "CHRONOLOGICAL", {8: [E2, E1], 10: NOTHING}, windows=LANDMARKS
    ),
    "004-sec2-recent-landmarks": sequence("RECENT", {8: [E2, E3], 10: NOTHING}, windows=LANDMARKS),
    # ---- Evaluated at each arrival, as EP-SPARQL does; then recent differs from the table.
    "004-arrivals-unrestricted": in_profile(
        "epsparql-unrestricted", {2: NOTHING, 4: NOTHING, 6: [E2, E1], 8: [E3], 10: [E4]}
    ),
    "004-arrivals-chronological": in_profile(
        "epsparql-chronological", {2: NOTHING, 4: NOTHING, 6: [E2, E1], 8: NOTHING, 10: NOTHING}
    ),
    "004-arrivals-recent": in_profile(
        "epsparql-recent", {2: NOTHING, 4: NOTHING, 6: [E2, E1], 8: NOTHING, 10: NOTHING}
    ),
    # C-SPARQL selects so by itself, at each close of a window that shows anything.
    "004-csparql-profile": replace(
        sequence("", {t: [] for t in range(7, 17)} | {7: [E1], 8: [E3], 9: [E3]}, None),
        at=(),
        profile="csparql",
        windows={"w1": "[RANGE 7 STEP 1]", "w2": "[RANGE 7 STEP 1]"},
    ),
    # ---- Windows and basic events
    "004-ex2-time-window": timed(
        "?a ?b ?c", "[RANGE 5]", {8: ["b1 q c1 6", "b2 q c2 6", "b2 q c2 8", "a2 p b2 4"]}
    ),
    "004-ex2-landmark": timed("?x :p ?y", "[LANDMARK 1]", {8: ["a1 b1 2", "a2 b2 4"]}),
    "004-ex2-interval": timed(
        "?x :p ?y", "[INTERVAL 0 5] . [LANDMARK 1]", {8: ["a1 b1 2", "a2 b2 4"]}
    ),
    "004-ex5": timed(
        "?a ?b ?c", "[RANGE 5]", {12: ["b2 q c2 8", "a3 p b3 10", "b1 q c1 10", "d r d 12"]}
    ),
    "004-ex6": replace(
        timed("?x :p ?y", "[RANGE 5]", {12: ["a3 b3"]}),
        pattern="WINDOW :w { ?x :p ?y }",
        events={},
    ),
    "004-ex7": timed("?y :q ?z", "[RANGE 5]", {8: ["b1 c1 6", "b2 c2 6", "b2 c2 8"]}),  # S-004-2
    # ---- Sequences
    "004-ex4": replace(
        sequence("", {8: ["a1 c1", "a2 c2"]}), match="{ E1 SEQ E2 }", select="?x ?z"
    ),
    "004-ex8": sequence("", {8: [E2, E1, E3]}),  # S-004-3: from 4, not from 6
    "004-ex8v": sequence(
        "", {8: [E2, E1, E3], 10: [E1, E2, E3, E4], 12: [E3, E4]}, stream={**G, **G6}
    ),
    "004-ex9": replace(
        sequence("", {8: ["a1 b1 c1", "a2 b2 c2"]}), match="{ E1 SEQ E2 }", select="?x ?y ?z"
    ),
    "S-004-9 bag": replace(
        sequence("", {8: ["a1 b1 c1", "a2 b2 c2", "a2 b2 c2"]}),
        match="{ E1 SEQ E2 }",
        select="?x ?y ?z",
        bags=True,
    ),
    "004-ex10-naive": sequence("NAIVE", {8: [E3]}),
    "004-ex10-chronological": sequence("CHRONOLOGICAL WITHOUT CONSUMPTION", {8: [E1, E2]}),
    "004-ex10-recent": sequence("RECENT WITHOUT CONSUMPTION", {8: [E2, E3]}),
    "004-ex11": sequence("CHRONOLOGICAL", {8: [E1, E2], 10: NOTHING}),
    # Kept, what was found is found again; a1 b1 has a later partner at 10.
    "004-ex11-chronological-kept": sequence(
        "CHRONOLOGICAL WITHOUT CONSUMPTION", {8: [E1, E2], 10: [E1, E2]}
    ),
    "004-ex11-recent-kept": sequence("RECENT WITHOUT CONSUMPTION", {8: [E2, E3], 10: [E4, E3]}),
    # ---- Slips that the examples do not tell apart
    "S-004-4 chronological": one_time("CHRONOLOGICAL", TWO_CS, {8: ["a1 b1 c1 2 6"]}),
    "S-004-4 recent": one_time("RECENT", TWO_CS, {8: ["a1 b1 c9 2 8"]}),
    # A triple that comes again is not the one that was consumed.
    "S-004-7": one_time(
        "CHRONOLOGICAL",
        {2: ["a1 p b1"], 6: ["b1 q c1"], 7: ["a1 p b1"], 10: ["b1 q c1"]},
        {6: ["a1 b1 c1 2 6"], 10: ["a1 b1 c1 7 10"]},
    ),
    # Evaluated again over the same contents, nothing is left; what is used up goes out with its window.
    "S-004-7 nothing new": replace(
        sequence(
            "RECENT",
            {2: [], 3: [], 4: ["a1 b1 c1 2 4"], 5: [], 6: [], 7: []},
            windows={"w1": "[RANGE 4]", "w2": "[RANGE 4]"},
            stream={2: ["a1 p b1"], 4: ["b1 q c1"]},
        ),
        at=(),
        every="COMPUTED EVERY 1",
    ),
    # What was used through one window is gone from the other one, on the same stream.
    "S-004-8": Case(
        "CHRONOLOGICAL { A SEQ B }",
        {"A": ("w1", "?x :p ?a"), "B": ("w2", "?x :p ?b")},
        {"S": {1: ["x p 1"], 2: ["x p 2"], 3: ["x p 3"]}},
        {2: ["x 1 2"], 3: NOTHING},
        (2, 3),
        windows=LANDMARKS,
    ),
    "S-004-8 two streams": Case(
        "CHRONOLOGICAL { A SEQ B }",
        {"A": ("w1", "?x :p ?a"), "B": ("w2", "?x :p ?b")},
        {
            "S": {1: ["x p 1"], 2: ["x p 2"], 3: ["x p 3"]},
            "T": {2: ["x p 2"], 3: ["x p 3"]},
        },
        {2: ["x 1 2"], 3: ["x 2 3"]},
        (2, 3),
        windows={"w1": "[LANDMARK 1]", "w2": ":T [LANDMARK 1]"},
    ),
    # Nested events: 2..6 and 4..6 are not before 4..8, so that all are last.
    "S-004-11": replace(
        sequence("", {8: [E2, E1, E3]}), match="{ LAST (E1 SEQ E2) FROM ?s TO ?e }"
    ),
}


@pytest.fixture(params=ANSWERING)
def answering(request: pytest.FixtureRequest, tmp_path: Path) -> Answering:
    """Whoever answers."""
    return answering_by(request, tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, answering: Answering) -> None:
    case = CASES[name]
    assert answering(case) == {t: sorted(lines) for t, lines in case.expected.items()}


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        ("CHRONOLOGICAL", {8: ["b2 q c2"], 10: ["a3 p b3", "b1 q c1"]}),
        ("RECENT", {6: ["b2 q c2"], 10: ["a3 p b3", "b1 q c1"]}),
    ],
)
def test_example_11_what_is_consumed(policy: str, left: Contents) -> None:
    """The oracle's own trace: chronological consumes all of G1, G2 and G3 at 8."""
    case = sequence(policy, {8: [], 10: []})
    streams = {iri: [stream_element(e) for e in es] for iri, es in case.elements.items()}
    evaluation = ContinuousEvaluation(parse_query(case.text), streams)
    consumed = Consumption()
    windows = evaluation.windows()
    for t in (8, 10):
        evaluation.solutions(evaluation.contents(windows, t), t, consumed)
    for number, (time, triples) in enumerate(G.items()):
        gone = [
            " ".join(term.n3().removeprefix(f"<{E}").rstrip(">") for term in triple)
            for triple in consumed.of(f"{E}S", number)
        ]
        assert sorted([*gone, *left.get(time, ())]) == sorted(triples), time
