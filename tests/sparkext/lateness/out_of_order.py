"""Random queries over streams that come out of order: what is told of each instant last, and what the oracle says."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from sparkext.errors import CheckError, UnsupportedFeatureError
from sparkext.oracle import Answer
from sparkext.recorded_streams import StreamElement
from tests.sparkext.random_answers import Case, Worlds, answer_of, right_answers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

_numbers = itertools.count()
Arriving = list[tuple[str, list[StreamElement]]]
"""Pushes, one after the other: the name of a stream and elements."""


@dataclass(frozen=True)
class Delivery:
    """How elements come: `lateness` by stream is allowed for, and they come up to `jitter` later than in order."""

    lateness: dict[str, int]
    late: dict[str, str]
    jitter: int
    batch: int


def random_delivery(random: Random, names: Sequence[str], beyond: bool = False) -> Delivery:
    lateness = {name: random.choice((3, 6, 9)) for name in names}
    late = {name: random.choice(("correct", "correct", "correct", "hold")) for name in names}
    if set(late.values()) == {"hold"}:
        late[names[0]] = "correct"
    jitter = random.choice((9, 12)) if beyond else min(lateness.values())
    return Delivery(lateness, late, jitter, random.choice((1, 1, 1, 2, 3)))


def delivered(
    random: Random, streams: dict[str, list[StreamElement]], how: Delivery
) -> tuple[Arriving, dict[str, list[StreamElement]]]:
    """The pushes, and of each stream the elements that do not come too late, in the order of arrival."""
    keyed = [
        (element.time_ms + random.randint(0, how.jitter), place, name, element)
        for name, elements in streams.items()
        for place, element in enumerate(elements)
    ]
    keyed.sort(key=lambda one: (one[0], random.random()))
    pushes: Arriving = []
    taken: dict[str, list[StreamElement]] = {name: [] for name in streams}
    newest: dict[str, int] = {}
    for name, run in itertools.groupby(keyed, key=lambda one: one[2]):
        elements = [element for *_, element in run]
        for start in range(0, len(elements), how.batch):
            part = elements[start : start + how.batch]
            pushes.append((name, part))
            # A push is judged by what came before it.
            floor = newest[name] - how.lateness[name] - 1 if name in newest else None
            on_time = [e for e in part if floor is None or e.time_ms > floor]
            taken[name] += on_time
            if on_time:
                most = max(e.time_ms for e in on_time)
                newest[name] = max(most, newest.get(name, most))
    return pushes, taken


@dataclass
class Heard:
    """What a query has told: the last answers of each instant, and what is wrong with how they came."""

    answers: dict[int, Answer] = field(default_factory=dict)
    revisions: Counter[int] = field(default_factory=Counter)
    retracted: int = 0
    evaluations: int = 0
    wrong: list[str] = field(default_factory=list)

    def note(self, told: Answers) -> None:
        from sparkext.runtime.answering.revised_answers import RevisedAnswers

        before = self.answers.pop(told.time, None)
        among = told.time < max(self.revisions, default=told.time)
        if told.time in self.revisions:
            self.revisions[told.time] += 1
            if not isinstance(told, RevisedAnswers):
                self.wrong.append(f"{told.time} told twice, the second time not as a revision")
                return
            was = Counter(() if before is None else before.rows)
            if told.form != "ASK":
                added = Counter(replace_table(told, told.added).rows())
                removed = Counter(replace_table(told, told.removed).rows())
                now = Counter(told.rows())
                if was + added != now + removed or was - now != removed:
                    self.wrong.append(f"{told.time}: {was} and {added} less {removed} is not {now}")
                if before is not None and not (added or removed or told.retracted or told.ordered):
                    self.wrong.append(f"{told.time}: a revision of nothing")
            if told.retracted:
                self.retracted += 1
                if len(told):
                    self.wrong.append(f"{told.time} is retracted, and has answers")
                return
        else:
            self.revisions[told.time] = 0
            if isinstance(told, RevisedAnswers) != among:
                self.wrong.append(f"{told.time} is told of among others, or not")
        if told.revision != self.revisions[told.time]:
            self.wrong.append(f"{told.time}: revision {told.revision}")
        self.answers[told.time] = answer_of(told)


def replace_table(told: Answers, table: object) -> Answers:
    from sparkext.runtime.answering.answers import Answers

    return Answers(told.query, told.time, told.variables, table, form=told.form)


def heard_out_of_order(
    engine: Engine,
    cases: Sequence[Case],
    pushes: Arriving,
    how: Delivery,
    once_registered: Callable[[Engine], object] = lambda engine: None,
) -> list[Heard | str | UnsupportedFeatureError]:
    """What the engine tells of queries over streams that come so."""
    number = next(_numbers)
    for name in how.lateness:
        engine.register_stream(
            f"urn:late:{number}:{name}",
            allowed_lateness=how.lateness[name],
            late=how.late[name],
        )
    results: list[Heard | str | UnsupportedFeatureError] = []
    registered = []
    for case in cases:
        text = case.text
        for name in how.lateness:
            text = text.replace(f"ON <{name}>", f"ON <urn:late:{number}:{name}>")
        text = text.replace(" :query ", f" :late-{number}-{len(results)} ")
        heard = Heard()
        try:
            query = engine.register_query(text, name=f"late-{number}-{len(results)}")
        except UnsupportedFeatureError as error:
            results.append(error)
            continue
        query.subscribe(heard.note)
        registered.append((len(results), query))
        results.append(heard)
    once_registered(engine)
    for name, elements in pushes:
        engine.stream(f"urn:late:{number}:{name}").push_elements(elements)
    engine.finish()
    for place, query in registered:
        results[place].evaluations = query.progress.evaluations  # type: ignore[union-attr]
        if query.progress.failures:
            results[place] = f"{query.progress.failures} evaluations failed"
        query.stop()
    return results


def with_streams(case: Case, taken: dict[str, list[StreamElement]]) -> Case:
    """The case of the elements that are taken in, as they came."""
    return replace(case, streams=taken)


def sorted_answers(
    case: Case, taken: dict[str, list[StreamElement]], worlds: Worlds
) -> dict[int, Answer] | None:
    """What the sorted streams answer; None where the oracle does not know."""
    try:
        return right_answers(with_streams(case, taken), worlds.for_oracle)
    except CheckError as error:
        if "the oracle does not know" in str(error):
            return None
        raise


def check_seeds(
    spark: SparkSession,
    folder: Path,
    seeds: Sequence[int],
    check: Callable[[Worlds, int], tuple[Counter[str], list[str]]],
) -> Counter[str]:
    """What was seen with these seeds; what is wrong with any of them fails the test."""
    worlds = Worlds(spark, folder, 7)
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    try:
        for seed in seeds:
            more, found = check(worlds, seed)
            seen += more
            wrong += found
    finally:
        worlds.close()
    assert not wrong, f"{len(wrong)} of {seen['queries']} queries differ\n\n" + "\n\n".join(wrong)
    assert seen["revisions"] > seen["queries"] / 5, "nothing was corrected"
    return seen


def described(case: Case, pushes: Arriving, how: Delivery) -> str:
    """The case as it can be looked at."""
    lines = [f"seed {case.seed}, {case.dialect.name}, {how}", case.text]
    lines += [
        f"  {name} @{e.time_ms} {' '.join(e.nquads())}"
        for name, elements in pushes
        for e in elements
        if f"<{name}>" in case.text
    ]
    return "\n".join(lines)
