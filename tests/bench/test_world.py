"""The generated world: the same for the same seed, of the stated size and shape."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from bench.data import World, generate_world
from bench.data import world as generator
from bench.data.sightings import ROOMS
from bench.data.vocabulary import COMBINATIONS, person_names

SCALE = 0.02


@pytest.fixture(scope="module")
def world() -> World:
    return generate_world(SCALE)


def same(left: World, right: World) -> bool:
    return all(np.array_equal(getattr(left, f.name), getattr(right, f.name)) for f in fields(World))


def test_same_seed_same_world(world: World) -> None:
    assert same(world, generate_world(SCALE))


def test_other_seed_other_world(world: World) -> None:
    other = generate_world(SCALE, seed=8)
    assert not np.array_equal(world.creator_person[:100], other.creator_person[:100])


def test_saved_world_is_the_same(world: World, tmp_path: Path) -> None:
    world.save(tmp_path / "world.npz")
    assert same(world, World.load(tmp_path / "world.npz"))


def test_counts_are_those_of_the_scale(world: World) -> None:
    assert (world.people, world.papers) == (4_000, 6_000)
    assert 2.6 < len(world.creator_paper) / world.papers < 2.75
    assert 4.5 < len(world.reference_paper) / world.papers < 5.5
    assert len(world.holders) == 1_000


def test_every_paper_has_a_creator_and_no_pair_occurs_twice(world: World) -> None:
    assert len(np.unique(world.creator_paper)) == world.papers
    creators = world.creator_paper.astype(np.int64) * world.people + world.creator_person
    references = world.reference_paper.astype(np.int64) * world.papers + world.reference_cited
    assert len(np.unique(creators)) == len(creators)
    assert len(np.unique(references)) == len(references)


def test_references_go_to_earlier_papers(world: World) -> None:
    assert (world.reference_cited < world.reference_paper).all()
    assert world.reference_cited.min() >= 0


def test_papers_per_person_have_a_long_tail(world: World) -> None:
    papers = np.bincount(world.creator_person, minlength=world.people)
    assert papers.max() > 10 * papers.mean()
    assert np.median(papers) < papers.mean()


def test_badge_holders_are_distinct_authors(world: World) -> None:
    assert len(np.unique(world.holders)) == len(world.holders)
    assert np.isin(world.holders, world.creator_person).all()


def test_names_occur_once_also_beyond_the_distinct_combinations() -> None:
    names = person_names(np.arange(COMBINATIONS + 1_000))
    assert len(names.unique()) == len(names)


def test_too_small_a_scale_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 40"):
        generate_world(0.0001)


def test_sightings_have_the_rate_in_every_second(world: World) -> None:
    sightings = world.sightings(rate=250, seconds=40)
    assert (np.bincount(sightings.time) == 250).all()
    assert len(np.bincount(sightings.time)) == 40
    assert np.isin(sightings.person, world.holders).all()
    assert sightings.room.min() >= 0 and sightings.room.max() < ROOMS
    second = sightings.person[sightings.time == 7]
    assert len(np.unique(second)) == 250


def test_above_one_a_holder_everybody_is_sighted_equally_often(world: World) -> None:
    sightings = world.sightings(rate=2_500, seconds=2)
    seen = np.bincount(sightings.person[sightings.time == 1], minlength=world.people)
    assert set(seen[world.holders]) == {2, 3}


def test_sightings_are_deterministic_and_differ_by_rate(world: World) -> None:
    once, again = world.sightings(100, 10), world.sightings(100, 10)
    assert np.array_equal(once.person, again.person) and np.array_equal(once.room, again.room)
    assert not np.array_equal(once.person, world.sightings(101, 10).person[:1000])


def test_nobody_is_in_two_rooms_at_once_and_moves_are_rare(world: World) -> None:
    sightings = world.sightings(rate=1_000, seconds=300)
    order = np.lexsort((sightings.time, sightings.person))
    person, room = sightings.person[order], sightings.room[order]
    moves = (np.diff(room) != 0) & (np.diff(person) == 0)
    assert 0.5 < moves.sum() / len(world.holders) < 3


def test_people_are_mostly_with_their_group(world: World) -> None:
    sightings = world.sightings(rate=1_000, seconds=1)
    where = dict(zip(sightings.person.tolist(), sightings.room.tolist(), strict=True))
    together = 0
    for group in np.unique(world.holder_group):
        rooms = [where[person] for person in world.holders[world.holder_group == group].tolist()]
        together += np.bincount(rooms).max()
    assert together > 0.7 * len(world.holders)


def test_how_much_is_drawn_at_a_time_changes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for papers in (1, 700, 6_000):
        monkeypatch.setattr(generator, "PAPERS_AT_ONCE", papers)
        assert same(world, generate_world(SCALE)), papers
