"""Programs whose streams come out of order, ended after random steps and begun again: what is told of each instant last
is what the sorted stream answers, and each revision comes as if nothing had come between."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from sparkext.language import parse_query
from sparkext.oracle import Answer
from sparkext.recorded_streams import StreamElement
from tests.sparkext.lateness.out_of_order import (
    Arriving,
    delivered,
    random_delivery,
    sorted_answers,
)
from tests.sparkext.listening import settings
from tests.sparkext.queries.test_random_templates import versions
from tests.sparkext.random_answers import Case, Worlds, answer_of, what_differs
from tests.sparkext.random_continuous import DIALECTS, random_query
from tests.sparkext.random_events import STREAMS, Shape, random_event_query
from tests.sparkext.random_worlds import random_stream
from tests.sparkext.restart.broken_runs import Program, Step
from tests.sparkext.restart.test_random_restarts import SETTINGS, supported, without_labels

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

# One seed can be looked at alone: CQELS_RANDOM_SEED=17 pytest -k one_seed
ONE = os.environ.get("CQELS_RANDOM_SEED")
QUERIES = 5
Cases = dict[str, tuple[Case, dict[int, Answer]]]


def random_cases(random: Random, seed: int, worlds: Worlds, taken: dict[str, Any]) -> Cases:
    dialect = DIALECTS[seed % len(DIALECTS)]
    made: Cases = {}
    while len(made) < QUERIES:
        matches = random.random() < 0.3
        text = (
            random_event_query(random, Shape(dialect, plain=False))[0]
            if matches
            else random_query(random, dialect)[0]
        )
        texts = [text]
        if not matches and random.random() < 0.3 and "CONSTRUCT" not in text:
            texts = list(versions(random, text))[:3] or texts
        for one in dict.fromkeys(texts):
            if "BNODE" in one or ("CONSTRUCT" in one and "_:" in one):
                continue  # whether an instant is told again depends on labels
            case = Case(seed, dialect, one, parse_query(one), taken)
            expected = sorted_answers(case, taken, worlds)
            if expected is None:
                continue
            if len({answer.rows for answer in expected.values()}) > 2 or random.random() < 0.1:
                made[f"q{len(made)}"] = (case, expected)
    return made


def named(name: str, case: Case) -> str:
    text = case.text.replace(" :query ", f" :{name} ")
    for stream in STREAMS:
        text = text.replace(f"ON <{stream}>", f"ON <urn:{stream}>")
    return text


def steps_of(random: Random, pushes: Arriving, changes: bool) -> Iterator[Step]:
    for name, elements in pushes:
        yield pushing(f"urn:{name}", elements)
        if changes and random.random() < 0.1:
            fact = f"<http://e/n{random.randint(0, 4)}> <http://e/p> <http://e/n{random.randint(0, 4)}> ."
            yield lambda engine, fact=fact: engine.insert(fact)


def pushing(iri: str, elements: Sequence[StreamElement]) -> Step:
    def step(engine: Engine) -> None:
        engine.stream(iri).push_elements(elements)

    return step


def check_seed(spark: SparkSession, folder: Path, seed: int, breaks: int) -> Counter[str]:
    """With every second seed static graphs change meanwhile, which the oracle does not know of."""
    random = Random(seed)
    changes = seed % 2 == 1
    dialect = DIALECTS[seed % len(DIALECTS)]
    worlds = Worlds(spark, folder, seed)
    streams = {
        name: random_stream(random, name, n) for name, n in zip(STREAMS, (24, 20, 16), strict=True)
    }
    how = random_delivery(random, STREAMS, beyond=random.random() < 0.5)
    pushes, taken = delivered(random, streams, how)
    cases = random_cases(random, seed, worlds, taken)
    static = folder / f"static-{seed}.nq"

    def begin(engine: Engine) -> None:
        engine.load_static(static, progress=False)

    program = Program(
        [f"urn:{name}" for name in STREAMS],
        {name: named(name, case) for name, (case, _) in cases.items()},
        list(steps_of(random, pushes, changes)),
        begin,
        lateness={
            f"urn:{name}": {"allowed_lateness": how.lateness[name], "late": how.late[name]}
            for name in STREAMS
        },
    )
    values = {"semantics": dialect.profile, **dialect.settings, **SETTINGS[seed % len(SETTINGS)]}
    seen: Counter[str] = Counter()
    with ExitStack() as stack:
        stack.enter_context(settings(spark, **values))
        program = supported(spark, program)
        expected = without_labels(program.whole(spark))
        for number in range(breaks):
            commit = random.randint(0, len(program.steps))
            end = min(len(program.steps), commit + random.choice((0, 0, 1, 3)))
            program.heard.clear()
            found = without_labels(program.broken(spark, folder / f"{seed}-{number}", commit, end))
            differing = {
                key: (expected.get(key), found.get(key))
                for key in expected.keys() | found.keys()
                if expected.get(key) != found.get(key)
            }
            words = "\n".join(f"{key}: {pair}" for key, pair in sorted(differing.items()))
            said = "\n".join(program.queries[name] for name in {key[0] for key in differing})
            assert not differing, f"seed {seed}, {commit}, {end}: {how}\n{words}\n{said}"
            last = {} if changes else last_answers(program.heard)
            for name in () if changes else program.queries:
                case, right = cases[name]
                wrong = what_differs(right, last.get(name, {}))
                assert not wrong, f"seed {seed}, {commit}, {end}\n{named(name, case)}\n{wrong}"
                seen["instants"] += len(right)
    seen["revisions"] += sum(revision > 0 for _, _, revision in expected)
    seen["queries"] += len(program.queries)
    return seen


def last_answers(heard: Sequence[Answers]) -> dict[str, dict[int, Answer]]:
    """The last revision of each instant that was not retracted, by query."""
    newest: dict[tuple[str, int], Answers] = {}
    for answers in heard:
        known = newest.get((answers.query, answers.time))
        if known is None or known.revision <= answers.revision:
            newest[answers.query, answers.time] = answers
    found: dict[str, dict[int, Answer]] = {}
    for (name, time), answers in newest.items():
        if not getattr(answers, "retracted", False):
            found.setdefault(name, {})[time] = answer_of(answers)
    return found


@pytest.mark.skipif(ONE is None, reason="CQELS_RANDOM_SEED is not set")
def test_one_seed(spark: SparkSession, tmp_path: Path) -> None:
    assert ONE is not None
    for seed in ONE.split(","):
        check_seed(spark, tmp_path, int(seed), 3)


@pytest.mark.slow
def test_four_late_programs(spark: SparkSession, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        seen += check_seed(spark, tmp_path, seed, 1)
    assert seen["revisions"] > 0 and seen["instants"] > 10, seen


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_100_late_programs(spark: SparkSession, tmp_path: Path, part: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(100 + 10 * part, 110 + 10 * part):
        seen += check_seed(spark, tmp_path, seed, 2)
    assert seen["revisions"] > 5 and seen["instants"] > 20, seen
