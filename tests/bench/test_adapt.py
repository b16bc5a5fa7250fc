"""The pure parts of the adapt bench: its streams, the orders it tries, and its arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest

from adaptive import Catalogue, ColumnStatistics, PlanCache, QueryGraph, RelationStatistics
from adaptive import optimize as search
from adaptive.plan import Scan, verify
from bench import adapt
from bench.drifting import (
    KINDS,
    KNOWN,
    LEVELS,
    RANGE_SECONDS,
    ROOMS,
    TOP,
    DriftingWorld,
    Phase,
    streams,
)
from bench.plan_enumeration import PlanEnumeration
from bench.plan_search import SHAPES, measure, query_graph, statistics
from bench.report import BenchError
from bench.stream_race import Batch, Outcome, beside, hopeful, in_reach
from sparkext.language import parse_query


@pytest.fixture(scope="module")
def world() -> DriftingWorld:
    return DriftingWorld.of_size(0.05)


# -- streams ----------------------------------------------------------------------------------------


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


# -- join orders ------------------------------------------------------------------------------------


def phases_of(graph: QueryGraph, seed: int) -> list[Catalogue]:
    """Two catalogues that differ in their windows, the first two relations."""
    rng = np.random.default_rng(seed)
    rows = [float(rng.integers(50, 5_000)) for _ in graph.relations]

    def catalogue(windows: list[float]) -> Catalogue:
        known = [*windows, *rows[2:]]
        return Catalogue(
            {r.name: statistics(r, n) for r, n in zip(graph.relations, known, strict=True)}
        )

    return [catalogue([20.0, 4_000.0]), catalogue([3_000.0, 10.0])]


@pytest.mark.parametrize("shape", SHAPES)
def test_enumerated_plans_are_valid_distinct_and_sorted(shape: str) -> None:
    graph = query_graph(shape, 5)
    phases = phases_of(graph, 1)
    enumeration = PlanEnumeration(graph, phases)
    for phase, weights in enumerate(([1.0, 0.0], [0.0, 1.0])):
        found = enumeration.best(40, weights)
        assert len(found) == 40 == len({plan.plan for plan in found})
        costs = [plan.costs[phase] for plan in found]
        assert costs == sorted(costs)
        assert costs[0] == pytest.approx(search(graph, phases[phase]).cost, rel=1e-9)
        cache = PlanCache(graph, phases[phase])
        for plan in found:
            verify(plan.plan, graph)
            assert plan.costs[phase] == pytest.approx(cache.cost_of(plan.plan), rel=1e-9)


def test_the_k_best_are_the_best_of_all() -> None:
    graph = query_graph("chain", 4)
    enumeration = PlanEnumeration(graph, phases_of(graph, 2))
    everything = enumeration.best(100_000, [1.0, 1.0])
    # Five ways to bracket a chain of four, and three joins with either side streamed.
    assert len(everything) == 5 * 2**3 == len({plan.plan for plan in everything})
    few = enumeration.best(7, [1.0, 1.0])
    assert [sum(p.costs) for p in few] == pytest.approx([sum(p.costs) for p in everything[:7]])


def test_candidates_hold_the_best_of_each_phase_and_twins_last() -> None:
    graph = query_graph("clique", 5)
    phases = phases_of(graph, 3)
    found = PlanEnumeration(graph, phases).candidates(12)
    assert 2 <= len(found) <= 12
    for phase, catalogue in enumerate(phases):
        least = min(plan.costs[phase] for plan in found)
        assert least == pytest.approx(search(graph, catalogue).cost, rel=1e-9)
    assert not any(a.resembles(b) for a in found for b in found if a is not b)
    more = PlanEnumeration(graph, phases).candidates(400, k=60)
    assert len({candidate.plan for candidate in more}) == len(more) > 60
    alone = [any(m.resembles(other) for other in more[:n]) for n, m in enumerate(more)]
    assert alone == sorted(alone) and True in alone


def test_unconnected_queries_are_refused() -> None:
    chain = query_graph("chain", 4)
    graph = QueryGraph((chain.relations[0], chain.relations[3]))
    known = {
        r.name: RelationStatistics(5.0, {v: ColumnStatistics(5.0) for v in r.variables})
        for r in graph.relations
    }
    with pytest.raises(BenchError, match="connected"):
        PlanEnumeration(graph, [Catalogue(known)])


@pytest.mark.parametrize(
    ("shape", "holding"), [("chain", [5, 8]), ("star", [16, 9]), ("clique", [16, 16])]
)
def test_search_is_measured_on_what_it_says(shape: str, holding: list[int]) -> None:
    row = measure(shape, 5, updates=4, searches=1)
    assert row["search"] == "exact" and row["exactly"] is True
    # The updates change the first relation and the second in turn.
    assert row["touched"] == int(np.median(holding))
    assert row["update_us"] > 0 and row["from_scratch_us"] > 0


# -- arithmetic -------------------------------------------------------------------------------------


def outcome(name: str, adaptive: list[float], fixed: dict[str, tuple[float, ...]]) -> Outcome:
    stream = next(s for s in streams(1) if s.name == name)
    batches = tuple(Batch(0, ms + 2.0, 1.0, Scan("a"), 5, 0, False) for ms in adaptive)
    return Outcome(stream, batches, tuple(adaptive), fixed, 9, 3, 200.0, 1.5)


def test_a_row_compares_with_the_best_order_and_with_hindsight() -> None:
    fixed = {"a": (10.0, 80.0, 10.0), "b": (60.0, 20.0, 60.0), "c": (50.0, 50.0, 50.0)}
    row = adapt.row(outcome("figure 3", [11.0, 21.0, 11.0], fixed))
    assert row["best_fixed"] == "a" and row["best_fixed_ms"] == 100.0
    assert row["hindsight_ms"] == 40.0
    assert row["regret"] == pytest.approx(43 / 40)
    assert row["gain"] == pytest.approx(100 / 43, abs=1e-4)
    assert row["possible_gain"] == 100 / 40
    assert row["optimizer_share"] == pytest.approx((3 + 1.5) / 46, abs=1e-5)
    assert row["fixed_ms"] == {"a": 100.0, "b": 140.0, "c": 150.0}


def test_hindsight_is_never_dearer_than_what_the_engine_ran() -> None:
    row = adapt.row(outcome("figure 3", [9.0, 21.0], {"a": (10.0, 80.0)}))
    assert row["hindsight_ms"] == 8.0 + 20.0


def test_the_summary_is_the_worst_over_the_streams() -> None:
    rows = [
        adapt.row(outcome("figure 3", [10.0, 10.0], {"a": (10.0, 50.0)})),
        adapt.row(outcome("drift", [20.0, 10.0], {"a": (10.0, 90.0)})),
        adapt.row(outcome("steady", [10.0, 10.0], {"a": (9.0, 10.0)})),
    ]
    search_rows = [
        {"relations": 8, "update_us": 90.0},
        {"relations": 8, "update_us": 140.0},
        {"relations": 12, "update_us": 900.0},
    ]
    summary = adapt.summarise(rows, search_rows)
    assert summary["gain"] == 3.0
    assert summary["steady"] == 0.95
    assert summary["regret"] == pytest.approx(30 / 19, abs=1e-4)
    assert summary["switches"] == 9
    assert summary["update_us_at_8"] == 140.0


def test_orders_are_given_up_only_when_slow_everywhere() -> None:
    best_first, best_second = [10.0, 200.0], [300.0, 10.0]
    between, hopeless = [60.0, 50.0], [250.0, 90.0]
    orders = [best_first, best_second, between, hopeless]
    assert hopeful(orders, 2.0, 1.5) == [True, True, True, False]
    assert hopeful(orders, 1.1, 1.0) == [True, True, True, False]
    assert hopeful([best_first, [11.5, 150.0], between], 1.1, 1.0) == [True, False, True]


def test_only_what_may_be_the_fastest_of_a_batch_is_run_again() -> None:
    assert in_reach([50.0, 40.0, 55.0, 57.0]) == [True, True, True, False]


def test_orders_are_compared_turn_by_turn() -> None:
    # The machine is half as fast in the last two turns, and one run was disturbed.
    own, other = [50.0, 50.0, 90.0, 100.0, 100.0], [45.0, 45.0, 45.0, 90.0, 90.0]
    assert beside(75.0, own, other) == pytest.approx(0.9 * 75.0)
    assert beside(75.0, own, own) == 75.0
    assert beside(75.0, own, [140.0]) == 140.0


def test_each_fan_out_is_small_in_one_phase_of_three_windows() -> None:
    (stream,) = (stream for stream in streams(1) if stream.name == "three windows")
    fan_outs = [
        (phase.room_level, *KINDS[phase.kind], phase.topic_level) for phase in stream.phases
    ]
    assert all(sorted(levels) == [0, TOP, TOP, TOP] for levels in fan_outs)
    assert sorted(levels.index(0) for levels in fan_outs) == [0, 1, 2, 3]
