"""The two queries that the conclusion of the RSEP-QL paper asks for, on the oracle and on the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sparkext.event_cases import ANSWERING, Answering, Case, answering_by

TWO_STREAMS = Case(
    "{ Fast SEQ Low WITHIN 120 FROM ?since TO ?until }",
    {
        "Fast": ("hearts", "?patient :heartRate ?fast FILTER(?fast > 120)"),
        "Low": ("lungs", "?patient :oxygen ?low FILTER(?low < 90)"),
    },
    {
        "S": {10: ["ann heartRate 130", "bob heartRate 80"], 40: ["cat heartRate 125"]},
        "T": {
            30: ["ann oxygen 85", "bob oxygen 88"],
            200: ["cat oxygen 80"],
            250: ["ann oxygen 70"],
        },
    },
    {
        10: [],
        30: ["ann 85 10 30"],
        40: ["ann 85 10 30"],
        200: ["ann 85 10 30"],
        250: ["ann 85 10 30"],
    },
    select="?patient ?low ?since ?until",
    windows={"hearts": "[RANGE 600]", "lungs": ":T [RANGE 600]"},
)
"""A sequence over two streams: a heart that beats fast, then too little oxygen of the same patient."""

POPULAR = Case(
    "{ Post SEQ Follow FROM ?since TO ?at }",
    {
        "Post": ("posts", "?author :posted ?post"),
        "Follow": ("follows", "?popular :follows ?author"),
    },
    {
        "S": {10: ["ann posted p1"], 20: ["bob posted p2"], 90: ["ann posted p3"]},
        "T": {
            15: ["dan follows ann"],
            30: ["dan follows bob", "eve follows bob"],
            95: ["dan follows ann"],
        },
        "U": {5: ["p0 mentions dan", "p0 mentions eve"], 12: ["p1 mentions dan"]},
    },
    {
        5: [],
        10: [],
        12: [],
        # Dan is mentioned twice and has many followers; Eve is mentioned once.
        15: ["p1 dan 15"],
        20: [],
        30: ["p2 dan 30"],
        90: [],
        # The mentions are over.
        95: [],
    },
    select="?post ?popular ?at",
    windows={
        "posts": "[RANGE 100]",
        "follows": ":T [RANGE 100]",
        "mentions": ":U [RANGE 60]",
    },
    operator="ISTREAM",
    static="dan followers 1000\neve followers 1000\nann followers 3",
    pattern="""MATCH ?popular :followers ?many FILTER(?many > 100)
        { SELECT ?popular (COUNT(*) AS ?times) WHERE { WINDOW :mentions { ?in :mentions ?popular } }
          GROUP BY ?popular HAVING(COUNT(*) > 1) }""",
)
"""Posts whose authors are then followed by someone popular: with mentions in the last hour and with followers."""


@pytest.fixture(params=ANSWERING)
def answering(request: pytest.FixtureRequest, tmp_path: Path) -> Answering:
    """Whoever answers."""
    return answering_by(request, tmp_path)


def test_a_sequence_over_two_streams(answering: Answering) -> None:
    assert answering(TWO_STREAMS) == TWO_STREAMS.expected


def test_posts_followed_by_popular_users(answering: Answering) -> None:
    assert answering(POPULAR) == POPULAR.expected
