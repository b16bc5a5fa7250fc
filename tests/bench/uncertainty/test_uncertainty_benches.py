"""The benches of uncertainty functions: their events, tiny runs, and what follows from rows."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bench import placement, tvs
from bench.data.linked_events import LinkedEvents, followed
from bench.data.tunnel import Tunnel
from bench.data.tunnel_files import write_static
from bench.report import BenchError
from bench.uncertainty.placement_cells import CellEffort, CellRace, Runner
from bench.uncertainty.placement_cells import row as cell_row
from bench.uncertainty.placement_drift import DriftEffort, DriftRace, drift_row
from bench.uncertainty.uncertain_engine import (
    FUNCTIONS,
    PLACEMENTS,
    AnswersDifferError,
    Contender,
    Evaluation,
    Setting,
    agree,
)
from sparkext.language import parse_query

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


# -- events -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fan_out", [0.01, 0.1, 1.0, 10.0, 100.0])
def test_events_lead_to_as_many_as_asked(fan_out: float) -> None:
    made = LinkedEvents(1000, fan_out)
    at: dict[str, int] = {}
    for element in made.second(0):
        (place,) = re.findall(r"happensAt> (<\S+>)", " ".join(element.triples))
        at[place] = at.get(place, 0) + 1
    followed_by = [
        at.get(re.findall(r"leadsTo> (<\S+>)", " ".join(element.triples))[0], 0)
        for element in made.first(0)
    ]
    assert sum(followed_by) / 1000 == pytest.approx(fan_out)
    assert max(followed_by) == max(1, fan_out)
    assert len({element.graph for element in made.first(0)}) == 1000


def test_links_know_nothing_of_values() -> None:
    made = LinkedEvents(5000, 0.1)
    linked = made.leads_to() < made.places
    assert np.mean(made.values()[linked]) == pytest.approx(5e8, rel=0.1)


def test_what_arrives_meanwhile_leads_nowhere_and_never_passes() -> None:
    made = LinkedEvents(50, 1.0)
    (idle,) = made.idle(0)
    text = " ".join(idle.triples)
    known = {element.graph for element in made.first(0)}
    assert idle.graph not in known
    assert int(re.findall(r"place/0_(\d+)>", text)[0]) >= made.places
    assert float(re.findall(r'hasSimpleResult> "([\d.]+)"', text)[0]) > 1


def test_the_query_has_its_streams_threshold_and_range() -> None:
    query = parse_query(followed("http://e/1", "http://e/2", 0.25, "PT5S"))
    assert [w.stream.value for w in query.windows] == ["http://e/1", "http://e/2"]
    assert not query.warnings


# -- tiny runs --------------------------------------------------------------------------------------


def test_a_tiny_run_has_a_row_for_every_setting(spark: SparkSession, tmp_path: Path) -> None:
    tunnel, static = Tunnel(4), tmp_path / "tunnel.nt"
    write_static(tunnel, static)
    effort = tvs.Effort(4, (0.0,), 2)
    task = tvs.Task((tvs.WORKLOADS[2], tvs.WORKLOADS[5]), effort, tunnel, static)
    assert task.of(Setting(placement="late")) == [tvs.WORKLOADS[2]]
    assert list(task.begins().values()) == [0, 24]
    rows = tvs.measure("native", task, lambda setting, given: tvs.follow(spark, setting, given))
    assert {row["query"] for row in rows} == {"q3a", "q3b", "q6a", "q6b"}
    filters = [row for row in rows if row["query"][1] == "3"]
    assert sorted(row["placement"] for row in filters) == sorted([*PLACEMENTS] * 2)
    assert {row["threshold"] for row in filters} == {0.0}
    binds = [row for row in rows if row["query"][1] == "6"]
    assert {(row["lazy"], row["cache"]) for row in binds} == {
        (lazy, cache) for lazy in (True, False) for cache in (True, False)
    }
    assert all(row["cache_hits"] == 0 for row in binds if not row["cache"])
    assert all(set(tvs.COLUMNS) <= set(row) for row in rows)
    summary = tvs.summarise(rows)
    assert len(summary["order_gaps"]) == 2 and len(summary["lazy_gains"]) == 4


def test_settings_and_variants_must_answer_alike_each_time() -> None:
    def followed(*answers: str) -> list[Evaluation]:
        return [Evaluation(5, 1.0, said, 1, 0, 0) for said in answers]

    early, late = Setting(placement="early"), Setting(placement="late")
    one = {"q1a 0.2": followed("1-a", "1-b"), "q1b 0.2": followed("1-a", "1-b")}
    other = {**one, "q1a 0.4": followed("1-c")}
    tvs.compare({early: one, late: other})
    with pytest.raises(AnswersDifferError, match="q1b, native functions, placement late"):
        tvs.compare({early: one, late: {**one, "q1b 0.2": followed("1-a", "1-c")}})


def test_a_tiny_cell_and_a_tiny_drift(spark: SparkSession) -> None:
    race = CellRace(spark, "dear", CellEffort(2, 2, 2, 0.0, 20, 20, repeats=3))
    try:
        row = race.measure(10.0, 0.5, 20)
    finally:
        race.close()
    assert {len(turns) for passes in row["turns_ms"].values() for turns in passes} == {2}
    assert all("happensAt" in row[f"{placement}_plan"] for placement in PLACEMENTS)
    assert row["answers"] == 100 and row["events"] == 20
    # Every event's error is added to its value, and compared; each is another one.
    assert row["early_calls"] >= 40 and row["late_calls"] >= 40
    assert row["early_ms"] >= 40 * 0.1
    assert row["early_first_ms"] == pytest.approx(row["settling_ms"]["early"][0], abs=0.01)
    assert len(row["settling_ms"]["cost"]) == 3 and set(placement.COLUMNS) <= set(row)
    drift = DriftRace(spark, "native", DriftEffort(2, 1, 1, {"native": 40}))
    try:
        found = drift.run()
    finally:
        drift.close()
    assert [batch["fan_out"] for batch in found["batches"]] == [10.0, 0.05]
    assert found["best_ms"] <= min(found["early_ms"], found["late_ms"])
    assert found["first_total_ratio"] > 0


def test_a_cell_that_took_too_little_time_is_measured_again_with_more_events(
    spark: SparkSession,
) -> None:
    forever = 1e9
    race = CellRace(spark, "native", CellEffort(1, 2, 1, forever, 20, 40))
    try:
        row = race.measure(10.0, 0.5, 20)
    finally:
        race.close()
    assert row["events"] == 40 and row["answers"] == 200


def test_not_exactly_one_evaluation_is_an_error(spark: SparkSession) -> None:
    contender = Contender(spark, Setting())
    try:
        for stream in ("http://e/1", "http://e/2"):
            contender.engine.register_stream(stream)
        contender.register("followed", followed("http://e/1", "http://e/2", 0.5, "PT1S"))
        contender.push("http://e/1", LinkedEvents(3, 1.0).first(1000))
        contender.advance(1000)
        with pytest.raises(BenchError, match="evaluations, not one"):
            contender.advance(3000)
    finally:
        contender.close()


# -- arithmetic -------------------------------------------------------------------------------------


def test_different_answers_are_named() -> None:
    one, other = (Evaluation(5, 1.0, answers, 3, 0, 0) for answers in ("3-a", "3-b"))
    agree({"early": one, "late": one})
    with pytest.raises(AnswersDifferError, match="late has 3 or others"):
        agree({"early": one, "late": other})


def tvs_row(query: str, ms: float, **more: Any) -> dict[str, Any]:
    row = {"threshold": None, "functions": "dear", "placement": None, "lazy": None, "cache": None}
    return {"query": query, "p50_ms": ms, **row, **more}


def test_summary_of_the_tunnel() -> None:
    rows = [
        tvs_row("q1a", 10.0, placement="cost", threshold=0.2),
        tvs_row("q1b", 11.0, placement="cost", threshold=0.2),
        tvs_row("q1a", 30.0, placement="early", threshold=0.2),
        tvs_row("q1b", 30.0, placement="early", threshold=0.2),
        tvs_row("q1a", 8.0, placement="late", threshold=0.2),
        tvs_row("q1b", 20.0, placement="late", threshold=0.2),
        tvs_row("q4a", 5.0, lazy=True, cache=True),
        tvs_row("q4a", 50.0, lazy=False, cache=True),
        tvs_row("q4b", 9.0, lazy=True, cache=True),
        tvs_row("q4b", 8.0, lazy=False, cache=True),
    ]
    summary = tvs.summarise(rows)
    # q1: 1 ms and 10 %; q4: 4 ms and 80 %.
    assert summary["worst_order_gap"]["query"] == "q4" and summary["order_matters"] == 1
    assert summary["lazy_gain"] == 10.0
    assert summary["lazy_excess_ms"] == 1.0
    assert summary["cost_ratio"] == 1.25


def test_lazy_variables_are_slower_beyond_both_limits() -> None:
    pairs = {
        "q4a": (9.0, 8.0),  # 12 %, but 1 ms
        "q4b": (101.5, 100.0),  # 1.5 ms, but 1.5 %
        "q5a": (102.5, 100.0),
        "q5b": (5.0, 50.0),
    }
    rows = [
        tvs_row(query, ms, lazy=lazy, cache=True)
        for query, times in pairs.items()
        for lazy, ms in zip((True, False), times, strict=True)
    ]
    assert tvs.summarise(rows)["lazy_slower"] == 1
    assert tvs.summarise(rows[:4])["lazy_slower"] == 0


@pytest.mark.parametrize(("early", "noise"), [(20, 1.5), (3, None)])
def test_few_runs_of_a_hopeless_placement_are_no_noise(early: int, noise: float | None) -> None:
    content: Any = SimpleNamespace(events=LinkedEvents(5, 1.0))

    def runner(where: str, *passes: list[float]) -> Runner:
        contender: Any = SimpleNamespace(setting=Setting(placement=where))
        first, second = ([[Evaluation(1, ms, "1-a", 1, 0, 0)] for ms in run] for run in passes)
        watched: Any = SimpleNamespace(plan="(a b)")
        return Runner(contender, "cell", content, watched, first[0], (first, second))

    others = [runner(where, [30.0] * 20, [30.0] * 20) for where in ("late", "cost")]
    runners = [runner("early", [200.0] * early, [300.0] * early), *others]
    found = cell_row("native", 1.0, 0.5, runners)
    assert (found["noise"], found["early_runs"], found["ratio"]) == (noise, early, 1.0)


def test_a_turn_counts_with_the_median_of_its_evaluations() -> None:
    turns = [
        [Evaluation(1, ms, "1-a", 1, 0, 0) for ms in turn] for turn in ([90, 30, 31], [34, 1, 35])
    ]
    nothing: Any = None
    runner = Runner(nothing, "cell", nothing, nothing, passes=(turns, [[turns[0][0]]]))
    assert runner.turns_ms(0) == [31.0, 34.0]
    assert (runner.median(0), runner.median(1)) == (32.5, 90.0)


def test_sizes_go_on_from_cell_to_cell_and_from_what_the_cardinality_before_began_with() -> None:
    asked: list[tuple[float, float, int]] = []

    def measure(fan_out: float, selectivity: float, events: int) -> dict[str, Any]:
        asked.append((fan_out, selectivity, events))
        return {"events": 2 * events}

    race: Any = SimpleNamespace(measure=measure)
    rows = list(placement.cells(race, [10.0, 1.0], [1.0, 0.5], 5))
    assert [row["events"] for row in rows] == [10, 20, 20, 40]
    assert asked == [(10.0, 1.0, 5), (10.0, 0.5, 10), (1.0, 1.0, 10), (1.0, 0.5, 20)]


def test_summary_of_placement() -> None:
    def row(selectivity: float, early: float, late: float, cost: float) -> dict[str, Any]:
        times = {"early_ms": early, "late_ms": late, "cost_ms": cost}
        where = {"cardinality": 10.0, "selectivity": selectivity, "functions": "native"}
        return {
            **where,
            **times,
            "events": 5,
            "ratio": cost / min(early, late),
            "noise": 1.01,
        }

    rows = [row(0.0, 20.0, 40.0, 21.0), row(0.5, 40.0, 40.0, 40.0), row(1.0, 50.0, 40.0, 44.0)]
    hopeless = {**row(0.2, 500.0, 40.0, 40.0), "noise": None}
    assert placement.summarise([hopeless], [])["noise"] is None
    assert placement.summarise([*rows, hopeless], [])["noise"] == 1.01
    taken = ([[[1, 9]] * 3, [[5, 2]] * 3, [[2, 1], [2, 2], [9, 3]]], [[[4, 4]]] * 3)
    drift = []
    for functions, times in zip(FUNCTIONS, taken, strict=True):
        runs = {}
        for place, rounds in zip(PLACEMENTS, times, strict=True):
            ms = np.array([[100, 100], *rounds], dtype=float)  # the first round is told by itself
            runs[place] = np.stack([ms, ms + (2 if place == "cost" else 5)], axis=2)
        drift.append(drift_row(functions, runs, first_rounds=1))
    assert drift[0]["batches"][1]["cost_runs"] == [1.0, 2.0, 3.0]
    summary = placement.summarise(rows, drift)
    assert summary["worst_ratio"] == 1.1 and summary["worst_cell"]["selectivity"] == 1.0
    assert summary["noise"] == 1.01 and summary["least_ms"] == 20.0
    assert summary["crossover"]["native"]["10"] == {"faster": ["early", "late"], "at": [0.667]}
    assert [d["ratio"] for d in drift] == [pytest.approx(4 / 3, abs=1e-4), 1.0]
    assert summary["drift_evaluation_ratio"] == pytest.approx(4 / 3, abs=1e-4)
    # With moving the windows 8 of 13 ms in one, 12 of 18 in the other.
    assert [d["total_ratio"] for d in drift] == [pytest.approx(8 / 13, abs=1e-4), round(12 / 18, 4)]
    assert summary["drift_ratio"] == round(12 / 18, 4)
    assert summary["drift_first_ratio"] == round(204 / 210, 4)
    assert drift[0]["rounds"][:2] == [
        {"early": 210.0, "late": 210.0, "cost": 204.0},
        {"early": 20.0, "late": 17.0, "cost": 7.0},
    ]
