"""The streams of the adapt bench: what people enter, know and meet, and the readings that filters ask."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest

from bench.join_orders.batch_streams import NAMES, batch_streams
from bench.join_orders.drifting import (
    KINDS,
    KNOWN,
    KNOWS_FEW,
    KNOWS_MANY,
    LEVELS,
    RANGE_SECONDS,
    ROOMS,
    TOP,
    DriftingWorld,
    Phase,
    streams,
)
from bench.join_orders.flipping_filters import (
    FEW,
    MANY,
    SURE,
    VARIABLES,
    FlippingFilters,
    surely_above,
)
from sparkext.language import parse_query


@pytest.fixture(scope="module")
def world() -> DriftingWorld:
    return DriftingWorld.of_size(0.05)


def test_the_same_world_makes_the_same_data(world: DriftingWorld) -> None:
    again = DriftingWorld.of_size(0.05)
    assert list(world.static_lines()) == list(again.static_lines())
    assert world.present() == again.present()
    phase = Phase(TOP, 0)
    assert world.entering(phase, 7, 50) == again.entering(phase, 7, 50)
    assert world.entering(phase, 7, 50) != world.entering(phase, 8, 50)


def test_another_seed_makes_other_data(world: DriftingWorld) -> None:
    other = DriftingWorld(world.known, world.crowds, seed=world.seed + 1)
    assert world.present() != other.present()
    assert sorted(world.static_lines()) != sorted(other.static_lines())


def test_everything_present_is_told_once_in_a_range(world: DriftingWorld) -> None:
    present = world.present()
    told = [line for s in range(RANGE_SECONDS) for line in world.sighted(s, True, present)]
    assert sorted(told) == sorted(present)
    without = [line for s in range(RANGE_SECONDS) for line in world.sighted(s, False, present)]
    assert sorted(without) == sorted(line for line in present if "/at>" in line)
    assert 0 < len(without) < len(told)


@pytest.mark.parametrize("level", range(LEVELS))
def test_those_who_enter_are_different_and_of_their_phase(world: DriftingWorld, level: int) -> None:
    lines = world.entering(Phase(level, 2), 3, 100)
    assert len(set(lines)) == 100
    assert all("p2-" in line and f"room{level}-" in line for line in lines)
    assert len(world.entering(Phase(level, 2), 3, 10**6)) == world.people * ROOMS


def objects(lines: Iterable[str], predicate: str) -> dict[str, set[str]]:
    """Subject -> objects of one predicate."""
    found: dict[str, set[str]] = {}
    for line in lines:
        subject, of, object_, _ = line.split(" ", 3)
        if of.endswith(f"/{predicate}>"):
            found.setdefault(subject, set()).add(object_)
    return found


def test_people_know_and_like_as_many_as_their_kind_and_one_friend(world: DriftingWorld) -> None:
    lines = list(world.static_lines())
    known, liked = objects(lines, "knows"), objects(lines, "likes")
    assert len({world.person(kind, 0) for kind in range(len(KINDS))}) == len(KINDS)
    for kind, levels in enumerate(KINDS):
        for found, level in zip((known, liked), levels, strict=True):
            counts = {len(found.get(world.person(kind, n), ())) for n in range(world.people)}
            assert counts == {0 if level is None else 1 + min(KNOWN, world.known[level])}


def test_the_kind_of_a_level_knows_as_many() -> None:
    assert [KINDS[level][0] for level in range(LEVELS)] == list(range(LEVELS))


def test_rooms_are_as_crowded_as_their_level_and_hold_one_friend(world: DriftingWorld) -> None:
    crowds: dict[str, list[str]] = {}
    for line in world.present():
        subject, predicate, room, _ = line.split(" ")
        if predicate.endswith("/at>"):
            crowds.setdefault(room, []).append(subject)
    for level in range(LEVELS):
        for number in range(ROOMS):
            there = crowds[world.room(level, number)]
            assert sum("/s" in person for person in there) == world.crowds[level]
            assert sum("/m" in person for person in there) == 1
            assert len(there) == world.crowds[level] + 1


def test_few_of_those_who_enter_meet_their_friend(world: DriftingWorld) -> None:
    known = objects(world.static_lines(), "knows")
    there = objects((" ".join(line.split(" ")) for line in world.present()), "at")
    at: dict[str, set[str]] = {}
    for person, rooms in there.items():
        for room in rooms:
            at.setdefault(room, set()).add(person)
    for level in range(LEVELS):
        for kind in range(len(KINDS)):
            entering = objects(world.entering(Phase(level, kind), 5, 4_000), "enters")
            met = [p for p, rooms in entering.items() for r in rooms for _ in known[p] & at[r]]
            assert 0 < len(met) < 100


@pytest.mark.parametrize("stream", streams(2), ids=lambda stream: stream.name)
def test_streams_are_what_they_say(stream) -> None:  # type: ignore[no-untyped-def]
    query = parse_query(stream.query)
    assert {w.stream.value for w in query.windows} == {stream.iri}
    assert len(query.windows) == stream.windows
    patterns = [line for part in stream.query.split("{") for line in part.split(" . ")]
    assert len(patterns) > 1
    assert set(stream.order) == set(range(len(stream.phases)))
    assert stream.drifting == (len(stream.phases) > 1)
    assert len(stream.order) == 2 * len(next(s for s in streams(1) if s.name == stream.name).order)


def test_the_alternating_stream_changes_with_every_batch() -> None:
    (order,) = (stream.order for stream in streams(1) if stream.name == "alternate")
    assert all(a != b for a, b in itertools.pairwise(order))


def test_each_fan_out_is_small_in_one_phase_of_three_windows() -> None:
    (stream,) = (stream for stream in streams(1) if stream.name == "three windows")
    fan_outs = [
        (phase.room_level, *KINDS[phase.kind], phase.topic_level) for phase in stream.phases
    ]
    assert all(sorted(levels) == [0, TOP, TOP, TOP] for levels in fan_outs)
    assert sorted(levels.index(0) for levels in fan_outs) == [0, 1, 2, 3]


def test_in_the_mixed_stream_both_kinds_enter_rooms_of_both_levels(world: DriftingWorld) -> None:
    (stream,) = (stream for stream in streams(1) if stream.name == "mixed")
    entered: dict[tuple[bool, bool], int] = {}
    for line in world.entering(stream.phases[0], 3, 400):
        kind = f"p{KNOWS_MANY}-" in line, f"room{TOP}-" in line
        assert kind[0] or f"p{KNOWS_FEW}-" in line
        entered[kind] = entered.get(kind, 0) + 1
    assert entered == dict.fromkeys(itertools.product((False, True), repeat=2), 100)


# -- batches ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_windows_are_full_in_each_batch(name: str) -> None:
    (stream,) = (s for s in batch_streams(0.01, 3) if s.name == name)
    assert set(stream.told_again(1)) == set(stream.present)
    for second in (2, 9):
        span = range(second, second + RANGE_SECONDS)
        told = [line for s in span for line in stream.told_again(s)]
        assert sorted(told) == sorted(stream.present)
    first = stream.arriving(stream.phases[0], 0)
    assert first == stream.arriving(stream.phases[0], 0) != stream.arriving(stream.phases[0], 1)


@pytest.mark.parametrize("phase", range(len(VARIABLES)))
def test_of_one_variable_few_values_pass_and_of_the_other_one_many(phase: int) -> None:
    filters = FlippingFilters(200)
    shares = {}
    for variable in VARIABLES:
        read = [line for line in filters.arriving(phase, 4) if f"/{variable}>" in line]
        literals = [line.split(" ", 2)[2].removesuffix(" .") for line in read]
        assert len(set(literals)) == 200
        shares[variable] = sum(surely_above(literal) > SURE for literal in literals) / 200
        assert shares[variable] == filters.share(variable, phase)
    few, many = VARIABLES[phase], VARIABLES[1 - phase]
    assert shares == {few: 1 / FEW, many: 1 - 1 / MANY}
