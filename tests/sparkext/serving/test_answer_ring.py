"""What a ring keeps of a query's answers, what it lets go, and what it tells who comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa
import pytest

from sparkext.runtime.answering.answers import Answers, AnswersPart
from sparkext.runtime.answering.revised_answers import RevisedAnswers, told_again
from sparkext.serving.answer_ring import AnswerRing
from sparkext.serving.options import Kept

MakesRing = Callable[..., AnswerRing]


@pytest.fixture
def made() -> Iterator[MakesRing]:
    loop = asyncio.new_event_loop()
    yield lambda kept, **given: AnswerRing(kept, loop, **given)
    loop.close()


def answers(sequence: int, revision: int = 0, text: str = "x") -> Answers:
    table = pa.table({"a": [f'"{text}"']})
    return Answers("q", 1000 * sequence, ("a",), table, sequence=sequence, revision=revision)


def kept_by(ring: AnswerRing) -> list[int | str]:
    """The numbers of the answers and the names of the notices that are kept, in order."""
    found: list[int | str] = []
    place = ring.oldest
    while (entry := ring.at(place)) is not None:
        found.append(entry.kind if entry.answers is None else entry.answers.sequence)
        place = entry.place + 1
    return found


def test_notices_push_no_answers_out(made: MakesRing) -> None:
    ring = made(Kept(answers=3))
    for sequence in range(1, 5):
        ring.offer(answers(sequence))
        for _ in range(50):
            ring.notice("overload", state="begins")
            ring.notice("failure", detail="no")
    every = [2, "overload", "failure", 3, "overload", "failure", 4, "overload", "failure"]
    assert kept_by(ring) == every and ring.size[0] == 3
    place = ring.place_of_newest(2)
    entry = ring.at(place)
    assert entry is not None and entry.answers is not None and entry.answers.sequence == 3
    assert ring.place_of_newest(0) == ring.newest
    assert ring.place_of_newest(9) == ring.oldest
    with pytest.raises(LookupError):
        ring.at(0)


def test_a_query_that_only_fails_keeps_the_last_failure(made: MakesRing) -> None:
    ring = made(Kept(answers=3))
    for n in range(1000):
        ring.notice("failure", time=n)
    last = ring.at(0)
    assert last is not None and last.data == {"time": 999}
    assert kept_by(ring) == ["failure"] and ring.at(last.place + 1) is None


def test_evaluations_that_told_nothing_are_no_gap(made: MakesRing) -> None:
    """Late elements have instants evaluated again, and only what differs is told."""
    ring = made(Kept(answers=2), mark="m")
    for sequence, revision in ((1, 0), (4, 1), (7, 0), (9, 2)):
        ring.offer(answers(sequence, revision))
    assert ring.place_after("4.1@m") == (ring.oldest, None)
    assert ring.place_after("7@m") == (ring.oldest + 1, None)
    assert ring.place_after("1@m")[1] == {"after": "1", "first": 7}
    on = made(Kept(answers=2), before=5)
    on.offer(answers(8))
    assert on.place_after("5@other") == (0, None)
    assert on.place_after("4")[1] == {"after": "4", "first": 8}


def test_ids_of_another_query_of_the_name_are_a_gap(made: MakesRing) -> None:
    ring = made(Kept(), mark="new")
    assert ring.place_after("3@old") == (0, {"after": "3", "first": None})
    for sequence in range(1, 5):
        ring.offer(answers(sequence))
    for last in ("3@old", "3", "0@old"):
        assert ring.place_after(last)[0] == 0 and ring.place_after(last)[1] is not None
    entry = ring.at(2)
    assert entry is not None and entry.id == "3@new"
    assert ring.place_after("3@new") == (3, None)


class _Instance:
    name, evaluated = "q", 1


def parts() -> Iterator[Answers]:
    """Those of instances of a template, the answers of each a small part of one table; some are corrections."""
    table = pa.table({"a": [f"{n:0100d}" for n in range(10_000)]})
    whole = {"time": 0, "variables": ("a",), "ordered": False, "seconds": 0.0, "form": "SELECT"}
    for n in range(20):
        part = AnswersPart.of(
            {**whole, "revision": 0}, _Instance(), 2, partial(table.slice, 2 * n, 2)
        )
        yield part if n % 2 else told_again(part, 1)


def test_answers_that_are_part_of_many_do_not_hold_the_others(made: MakesRing) -> None:
    ring = made(Kept(answer_bytes=10_000))
    before = pa.total_allocated_bytes()
    for n, part in enumerate(parts()):
        ring.offer(part)
        entry = ring.at(n)
        assert entry is not None and entry.answers is not None
        assert entry.answers.rows() == part.rows() and len(entry.answers) == 2
        assert entry.answers.revision == part.revision
        assert isinstance(entry.answers, RevisedAnswers) == isinstance(part, RevisedAnswers)
    del part
    assert ring.size[0] == 20
    assert pa.total_allocated_bytes() - before < 20_000  # the table has a million


def test_texts_count_and_go_before_answers(made: MakesRing) -> None:
    ring = made(Kept(answer_bytes=20_000))
    for sequence in range(1, 11):
        ring.offer(answers(sequence, text="x" * 1000))
    tables = ring.size[1]
    entries = [ring.at(place) for place in range(10)]
    for entry in entries:
        for format in ("json", "xml", "csv", "tsv"):
            assert entry is not None and "x" * 1000 in ring.text(entry, format)
            assert ring.size[1] <= 20_000
    assert ring.size[0] == 10 and ring.size[1] > tables
    again = [ring.text(entry, "csv") for entry in entries if entry is not None]
    assert len(set(again)) == 1
    for sequence in range(11, 40):
        ring.offer(answers(sequence, text="x" * 1000))
    assert ring.size[1] <= 20_000 and ring.size[0] == 20_000 // (tables // 10)
