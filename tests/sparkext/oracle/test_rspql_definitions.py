"""The oracle on the worked examples of the RSP-QL paper (001), recomputed from its definitions."""

from __future__ import annotations

import pytest

from sparkext.language import parse_query
from sparkext.oracle import ContinuousEvaluation, judge, static_graphs
from sparkext.oracle.allowed_starts import allowed_starts
from sparkext.oracle.evaluation import Answer
from sparkext.oracle.report_definitions import Condition, Rule, Strategy, evaluation_instants
from sparkext.oracle.streams import element
from sparkext.oracle.window_definitions import Sliding
from sparkext.recorded_streams import StreamElement

E = "http://example.org/"


def triple(subject: str, predicate: str, object_: str) -> str:
    return f"<{E}{subject}> <{E}{predicate}> <{E}{object_}> ."


NEARBY = [
    element(time, triple(person, "isNearby", shop))
    for time, person, shop in (
        (2, "diana", "a"),
        (2, "eve", "b"),
        (5, "carl", "a"),
        (7, "eve", "a"),
        (12, "diana", "b"),
    )
]
COUPON = [
    element(8, triple("alice", "offers", "tenPercent")),
    element(15, triple("bob", "offers", "free")),
]
SHOPS = static_graphs("\n".join([triple("alice", "owns", "a"), triple("bob", "owns", "b")]))
W1, W2 = "[RANGE 5 STEP 2 STARTING AT 1]", "[RANGE 2 STEP 2]"
OWNERS = "?owner :offers ?coupon"
EX10 = f"WINDOW :w1 {{ ?shopper :isNearby ?shop }} WINDOW :w2 {{ {OWNERS} }} ?owner :owns ?shop"
EX13 = "WINDOW :w1 { ?p :isNearby ?shop }"


def evaluation(
    pattern: str, windows: str, operator: str = "RSTREAM", profile: str = "rspql"
) -> ContinuousEvaluation:
    """`windows` are those of :w1 on the people nearby and of :w2 on the coupons, if there are two."""
    clauses = [
        f"FROM NAMED WINDOW :{name} ON :{stream} {window}"
        for (name, stream), window in zip(
            (("w1", "nearby"), ("w2", "coupon")), windows.split(" and "), strict=False
        )
    ]
    text = f"PREFIX : <{E}> REGISTER {operator} :q AS SELECT * {' '.join(clauses)} {{ {pattern} }}"
    streams = {f"{E}nearby": NEARBY, f"{E}coupon": COUPON}
    return ContinuousEvaluation(parse_query(text), streams, SHOPS, profile)


def told(answers: dict[int, Answer]) -> dict[int, list[str]]:
    """Answers by instant, each a line of local names in the order of the columns' names."""
    lines = {}
    for t, answer in answers.items():
        order = sorted(range(len(answer.variables)), key=lambda place: answer.variables[place])
        lines[t] = sorted(
            " ".join(str(row[place]).removeprefix(f"<{E}").rstrip(">") for place in order)
            for row in answer.rows
        )
    return lines


def contents(window: Sliding, t: int) -> list[str]:
    shown: list[StreamElement] = window.content(NEARBY, t)
    return [f"s{NEARBY.index(e) + 1}" for e in shown]


def test_example_6_one_window() -> None:
    assert contents(Sliding(4, 4), 8) == ["s3", "s4"]


def test_example_7_present_window() -> None:
    assert contents(Sliding(5, 2, 1), 9) == ["s4"]


@pytest.mark.parametrize(("start", "held"), [(0, "s1 s2 s3"), (1, "s1 s2 s3"), (2, "s3 s4")])
def test_example_11_first_window(start: int, held: str) -> None:
    assert contents(Sliding(5, 2, start), start + 5) == held.split()


def test_example_9_instants() -> None:
    rule = Rule((Condition(Strategy.WINDOW_CLOSE, 0), Condition(Strategy.NON_EMPTY, 0)))
    assert evaluation_instants([("coupon", Sliding(2, 2))], [rule], {"coupon": COUPON}) == [8, 16]


@pytest.mark.parametrize(
    ("strategy", "instants"),
    [
        (Strategy.NON_EMPTY, [*range(2, 11), *range(12, 17)]),
        (Strategy.STRICT_CONTENT_CHANGE, [2, 5, 7, 9, 11, 12, 17]),
        (Strategy.CONTENT_CHANGE, [2, 5, 7, 12]),
    ],
)
def test_policies_of_definition_23(strategy: Strategy, instants: list[int]) -> None:
    rule = Rule((Condition(strategy, 0),))
    found = evaluation_instants([("nearby", Sliding(5, 2, 1))], [rule], {"nearby": NEARBY})
    assert found == instants


@pytest.mark.parametrize(
    ("operator", "at_8", "at_16"),
    [
        ("RSTREAM", ["tenPercent alice a carl", "tenPercent alice a eve"], ["free bob b diana"]),
        ("ISTREAM", ["tenPercent alice a carl", "tenPercent alice a eve"], ["free bob b diana"]),
        ("DSTREAM", [], ["tenPercent alice a carl", "tenPercent alice a eve"]),
    ],
)
def test_example_10(operator: str, at_8: list[str], at_16: list[str]) -> None:
    """The window on the coupons alone decides; under the default policy that is `told` at its instants."""
    evaluated = evaluation(EX10, f"{W1} and {W2}", operator)
    windows = evaluated.windows()
    rows = {t: evaluated.solutions(evaluated.contents(windows, t)) for t in (8, 16)}
    names = tuple(v.name for v in evaluated.query.variables)
    now = {t: set(told({t: Answer("SELECT", names, tuple(r))})[t]) for t, r in rows.items()}
    expected = {
        "RSTREAM": (now[8], now[16]),
        "ISTREAM": (now[8], now[16] - now[8]),
        "DSTREAM": (set(), now[8] - now[16]),
    }[operator]
    assert expected == (set(at_8), set(at_16))


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (
            "RSTREAM",
            {
                6: ["carl a", "diana a", "eve b"],
                8: ["carl a", "eve a"],
                10: ["eve a"],
                12: ["diana b"],
                14: ["diana b"],
                16: ["diana b"],
            },
        ),
        (
            "ISTREAM",
            {
                6: ["carl a", "diana a", "eve b"],
                8: ["eve a"],
                10: [],
                12: ["diana b"],
                14: [],
                16: [],
            },
        ),
        (
            "DSTREAM",
            {6: [], 8: ["diana a", "eve b"], 10: ["carl a"], 12: ["eve a"], 14: [], 16: []},
        ),
    ],
)
def test_example_13_window_close(operator: str, expected: dict[int, list[str]]) -> None:
    assert told(evaluation(EX13, W1, operator).answers()) == expected


def test_example_13_content_change() -> None:
    answers = evaluation(EX13, W1, "ISTREAM", "cqels").answers()
    assert told(answers) == {2: ["diana a", "eve b"], 5: ["carl a"], 7: ["eve a"], 12: ["diana b"]}


def test_example_12_merged_windows() -> None:
    """Example 10 without WINDOW, all graphs merged in the default graph, gives the same rows."""
    pattern = f"?shopper :isNearby ?shop . {OWNERS} . ?owner :owns ?shop"
    merged = evaluation(pattern, f"{W1} and {W2}", profile="sparqlstream")
    named = evaluation(EX10, f"{W1} and {W2}")
    assert told(merged.answers()) == told(named.answers())
    assert told(named.answers())[8] == ["tenPercent alice a carl", "tenPercent alice a eve"]


EX10_CANDIDATES = {
    (0, 0): {8: ["tenPercent alice a carl", "tenPercent alice a eve"], 16: []},
    (1, 0): {8: ["tenPercent alice a carl", "tenPercent alice a eve"], 16: ["free bob b diana"]},
    (0, 1): {9: ["tenPercent alice a carl", "tenPercent alice a eve"], 15: ["free bob b diana"]},
    (1, 1): {9: ["tenPercent alice a eve"], 15: ["free bob b diana"]},
}


@pytest.mark.parametrize(("starts", "expected"), EX10_CANDIDATES.items())
def test_example_10_has_four_candidates(
    starts: tuple[int, int], expected: dict[int, list[str]]
) -> None:
    evaluated = evaluation(EX10, f"{W1} and {W2}")
    assert allowed_starts(evaluated, {}, 0) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    answers = told(evaluated.answers(starts))
    assert {t: answers[t] for t in expected} == expected
    own = Sliding(2, 2, starts[1])
    rule = Rule((Condition(Strategy.WINDOW_CLOSE, 0), Condition(Strategy.NON_EMPTY, 0)))
    assert evaluation_instants([("c", own)], [rule], {"c": COUPON}) == list(expected)


@pytest.mark.parametrize("starts", EX10_CANDIDATES)
def test_every_candidate_is_right_where_t0_is_hidden(starts: tuple[int, int]) -> None:
    """SPARQLstream hides t0, so that each of the four is an answer that may be given (Definition 26)."""
    pattern = f"?shopper :isNearby ?shop . {OWNERS} . ?owner :owns ?shop"
    evaluated = evaluation(pattern, f"{W1} and {W2}", profile="sparqlstream")
    given = evaluated.answers(starts)
    verdict = judge(evaluated, given, registered_at=0)
    assert verdict.correct and verdict.candidates == 4
    assert verdict.starts == starts


def test_answers_of_no_candidate_are_wrong() -> None:
    evaluated = evaluation("?p :isNearby ?shop", W1, profile="csparql")
    given = dict(evaluated.answers((1, None)))
    assert judge(evaluated, given, registered_at=0).correct
    t, answer = max(given.items())
    given[t] = Answer("SELECT", answer.variables, ())
    verdict = judge(evaluated, given, registered_at=0)
    assert [d.time for d in verdict.differences] == [t]
    assert verdict.starts == (1,)


def test_a_long_step_has_few_candidates() -> None:
    """A step of ten seconds has as many candidates as the answers' instants allow, not ten thousand."""
    text = (
        f"PREFIX : <{E}> SELECT * FROM WINDOW ON :nearby [RANGE 10s STEP 10s] {{ ?p :isNearby ?s }}"
    )
    streams = {
        f"{E}nearby": [element(t, triple("p", "isNearby", "s")) for t in (1, 12_000, 25_000)]
    }
    evaluated = ContinuousEvaluation(parse_query(text), streams, profile="csparql")
    given = evaluated.answers([-16_655])
    verdict = judge(evaluated, given)
    assert verdict.correct and verdict.candidates < 5
    shifted = {t + 1: answer for t, answer in given.items()}
    assert judge(evaluated, shifted).correct
    assert not judge(evaluated, {**given, 4_000: given[max(given)]}).correct


def test_theorem_1_windows_agree_after_the_bound() -> None:
    """S-001-5: the same content from max(a + n beta, a + (n-1) beta + alpha) on, not before."""
    one, other = Sliding(5, 2, 1), Sliding(5, 2, 3)
    stream = [element(t, triple("p", "q", "o")) for t in range(20)]
    differ = [t for t in range(1, 20) if one.content(stream, t) != other.content(stream, t)]
    assert [t for t in differ if t >= 3] == [3, 4, 5, 6]
