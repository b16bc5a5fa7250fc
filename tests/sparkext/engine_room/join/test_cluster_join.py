"""The join of a cluster, whatever its shape, its rows and its order, gives what a naive join gives."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame

from tests.sparkext.engine_room.join.cluster_generator import random_cluster
from tests.sparkext.engine_room.join.planned_clusters import (
    ONE_THREAD,
    SHOWN,
    PlannedCluster,
    change,
)
from tests.sparkext.engine_room.join.random_clusters import Bag, Cluster, numbers
from tests.sparkext.engine_room.live_room import LiveRoom, Row

TOGETHER = 250
"""Clusters of one call into the JVM."""

# One cluster can be looked at alone: CQELS_RANDOM_SEED=17 pytest -k one_seed
ONE = os.environ.get("CQELS_RANDOM_SEED")


def read(line: str) -> Bag | str:
    """The rows of a line of answers, or what went wrong."""
    if line.startswith("!"):
        return line
    return Counter(
        tuple(int(cell) for cell in row.split(",") if cell) for row in line.split(";")[:-1]
    )


def difference(expected: Bag, found: Bag | str) -> str:
    """What is missing and what is too much, in words; empty where there is nothing."""
    if isinstance(found, str):
        return found
    missing, more = expected - found, found - expected
    if not missing and not more:
        return ""
    few = [
        f"{name} {dict(bag.most_common(3))}"
        for name, bag in (("missing", missing), ("more", more))
        if bag
    ]
    return f"{sum(expected.values())} rows expected, {sum(found.values())} found: {', '.join(few)}"


def tried(
    live: LiveRoom, clusters: Sequence[Cluster], script: Callable[[Cluster], str] = Cluster.script
) -> Iterator[str]:
    """What is wrong with the answers to these clusters without plans, in words."""
    trial = live.cqels.clusters.JoinTrial(live.spark._jsparkSession)
    lines = iter(trial.run("\n".join(map(script, clusters))).split("\n"))
    for cluster in clusters:
        for number, evaluation in enumerate(cluster.evaluations):
            if words := difference(evaluation.expected, read(next(lines))):
                yield f"seed {cluster.seed}, evaluation {number + 1}: {words}\n{script(cluster)}"
    if script is in_parts:
        assert trial.exchanges() > len(clusters)


def in_parts(cluster: Cluster) -> str:
    """The script of a cluster whose evaluations are stages; which relations lie in parts is random, too."""
    random = Random(cluster.seed)
    how = f"parts|{random.choice((1, 2, 3, 7))}|{random.choice((0, 5, 20, 100))}"
    return re.sub(r"^(run|slices\|.*)$", how, cluster.script(), flags=re.MULTILINE)


def check(live: LiveRoom, seeds: Sequence[int]) -> None:
    """Hold the operator to the naive join on the clusters of these seeds."""
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    for start in range(0, len(seeds), TOGETHER):
        clusters = [random_cluster(seed) for seed in seeds[start : start + TOGETHER]]
        wrong += tried(live, clusters)
        for cluster in clusters:
            answers = [sum(evaluation.expected.values()) for evaluation in cluster.evaluations]
            seen["evaluations"] += len(answers)
            seen["finding"] += sum(rows > 0 for rows in answers)
    assert not wrong, f"{len(wrong)} evaluations differ\n\n" + "\n\n".join(wrong[:5])
    assert len(seeds) < 100 or seen["finding"] > seen["evaluations"] / 2, "most joins find nothing"


@pytest.mark.skipif(ONE is None, reason="CQELS_RANDOM_SEED is not set")
def test_one_seed(live: LiveRoom) -> None:
    assert ONE is not None
    check(live, [int(seed) for seed in ONE.split(",")])


def test_1000_random_clusters(live: LiveRoom) -> None:
    check(live, range(1_000))


def test_500_random_clusters_in_parts(live: LiveRoom) -> None:
    for start in range(20_000, 20_500, TOGETHER):
        clusters = [random_cluster(seed) for seed in range(start, start + TOGETHER)]
        wrong = list(tried(live, clusters, in_parts))
        assert not wrong, f"{len(wrong)} evaluations differ\n\n" + "\n\n".join(wrong[:5])


def planned(live: LiveRoom, seed: int) -> Iterator[str]:
    """What is wrong with the answers of a seed's cluster as a plan, in words."""
    cluster, shown = random_cluster(seed, plans=True), SHOWN[seed % len(SHOWN)]
    plan = PlannedCluster(live, cluster, shown)
    for number in range(len(cluster.evaluations)):
        try:
            found: Bag | str = Counter(plan.answers(number))
        except Exception as error:
            found = str(error).split("\n")[0]
        if words := difference(Counter(plan.expected(number)), found):
            yield f"seed {seed}, {shown}, evaluation {number + 1}: {words}\n{cluster.script()}"


def test_60_random_clusters_through_plans(live: LiveRoom) -> None:
    wrong = [words for seed in range(10_000, 10_060) for words in planned(live, seed)]
    assert not wrong, f"{len(wrong)} evaluations differ\n\n" + "\n\n".join(wrong[:5])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_50_000_random_clusters(live: LiveRoom, part: int) -> None:
    check(live, range(100_000 + 5_000 * part, 105_000 + 5_000 * part))


# -- what is told of an order is done ----------------------------------------------------------------


class Chain:
    """r0(v0, v1), r1(v1, v2) and so on, over stages or other contents, prepared as one plan."""

    def __init__(
        self, live: LiveRoom, contents: Sequence[Any], condition: str = "", *shown: str
    ) -> None:
        self.live = live
        names = [f"v{n}" for n in range(len(contents) + 1)]
        builder = live.room.cluster(live.names(*names), live.names(*names))
        for number, content in enumerate(contents):
            builder.relation(f"r{number}", live.frame(content, *names[number : number + 2])._jdf)
        if condition:
            shape = DataFrame(builder.shape(), live.spark)
            builder.filter("filter", shape.filter(condition)._jdf, False)
        frame = DataFrame(builder.frame(live.names(*names), 1000), live.spark)
        self.order = builder.clusterOrder()
        self.plan = live.prepare(frame.select(*shown) if shown else frame)

    def answers(self) -> list[Row]:
        return self.live.on_driver(self.plan)

    def report(self) -> dict[str, Any]:
        """Where the last evaluation began, and its steps."""
        told: dict[str, Any] = json.loads(self.order.report())
        return told

    def steps(self) -> list[str]:
        """The relations of the steps that it took, and its filter, one after the other."""
        return [name.split()[-1] for name, *_ in self.report()["steps"]]


def test_relations_are_joined_as_an_order_says(live: LiveRoom) -> None:
    contents = [live.static(f"r{n}", [(n + 1, n + 2), (n + 11, n + 12)]) for n in range(4)]
    chain = Chain(live, contents, "v1 < 5")
    for sequence in itertools.permutations(range(4)):
        chain.order.pin(numbers(sequence))
        for after in (0b1111, 1 << sequence[2]):
            chain.order.holdBack(str(after))
            assert chain.answers() == [(1, 2, 3, 4, 5)]
            assert chain.report()["driver"] == sequence[0]
            steps = [f"r{n}" for n in sequence[1:]]
            # Either relation of two binds v1; one of the first three does.
            steps.insert(3 if after == 0b1111 else 2, "filter")
            assert chain.steps() == steps, (sequence, after)
    chain.order.pin("")
    chain.order.holdBack("0")
    for driver in range(4):
        chain.order.drive(driver)
        assert chain.answers() == [(1, 2, 3, 4, 5)]
        assert chain.report()["driver"] == driver


def test_what_the_last_evaluation_did_is_not_that_of_one_before_on_more_threads(
    live: LiveRoom,
) -> None:
    stage, other = live.stage("r0"), live.static("r1", [(n, n) for n in range(1, 600)])
    chain = Chain(live, [stage, other])
    chain.order.pin("0,1")
    for rows in (500, 1):
        live.put(stage, [(n, n) for n in range(1, rows + 1)])
        assert len(chain.answers()) == rows
        assert [step[1:3] for step in chain.report()["steps"]] == [[rows, rows]]


def test_a_job_tells_what_all_its_tasks_did(live: LiveRoom) -> None:
    stage = live.stage("r0")
    others = [live.static(f"r{n}", [(m, m + 1) for m in range(1, 900)]) for n in (1, 2)]
    chain = Chain(live, [stage, *others], "v1 % 2 = 0")
    chain.order.drive(0)
    for rows in (500, 20):
        live.put(stage, [(n, n) for n in range(1, rows + 1)])
        expected = [(n, n, n + 1, n + 2) for n in range(2, rows + 1, 2)]
        assert chain.answers() == expected
        here = [step[:4] for step in chain.report()["steps"]]
        assert live.as_job(chain.plan, 3) == expected
        told = chain.report()
        assert [step[:4] for step in told["steps"]] == here
        assert here == [
            ["filter", rows, rows // 2, 0],
            ["?v2 from r1", rows // 2, rows // 2, rows // 2],
            ["?v3 from r2", rows // 2, rows // 2, rows // 2],
        ]
        assert all(step[4] > 0 for step in told["steps"])
        assert told["order"] == ["r0", "filter", "?v2 from r1", "?v3 from r2"]
        assert chain.order.largestStep() == rows // 2
    change = chain.order.takeChange()
    assert change.after().mkString(" > ") == "r0 > filter > ?v2 from r1 > ?v3 from r2"
    assert chain.order.takeChange() is None
    live.put(stage, [])
    assert live.as_job(chain.plan, 3) == []
    assert chain.report()["driver"] == -1


def test_all_threads_give_the_columns_that_are_asked_for(live: LiveRoom) -> None:
    # So many rows that no thread has taken all of them when the others wake.
    rows = [(n, n + 1) for n in range(1, 30_001)]
    chain = Chain(live, [live.static("r0", rows), live.static("r1", rows)], "", "v2", "v0")
    assert chain.answers() == [(n + 2, n) for n in range(1, 30_000)]


def test_an_evaluation_that_fails_leaves_nothing_behind(live: LiveRoom) -> None:
    first, window = live.stage("r0"), live.cqels.relations.WindowTable(2, True)
    failing = "IF(v2 = 7, CAST(raise_error('seven') AS BOOLEAN), TRUE)"
    live.divide(ONE_THREAD)
    chain = Chain(live, [first, live.cqels.relations.WindowContent("r1", window)], failing)
    live.divide(0)
    chain.order.pin("0,1")
    live.put(first, [(1, 2), (3, 4)])
    change(live, window, [(2, 5)] * 3 + [(4, 7)] * 3, True)
    with pytest.raises(Exception, match="seven"):
        chain.answers()
    change(live, window, [(2, 5)] * 2 + [(4, 7)] * 3, False)
    change(live, window, [(4, 6)], True)
    assert chain.answers() == [(1, 2, 5), (3, 4, 6)]


def test_orders_that_come_and_go_take_no_memory(live: LiveRoom) -> None:
    chain = Chain(live, [live.static(f"r{n}", [(n, n + 1)]) for n in range(1, 5)])
    orders = itertools.cycle(itertools.permutations(range(4)))

    def after(number: int) -> int:
        for sequence in itertools.islice(orders, number):
            chain.order.pin(numbers(sequence))
            assert chain.answers() == [(1, 2, 3, 4, 5)]
        return live.live_bytes()

    before = after(48)
    # Rows that wait take some 30 kB each time they wait for something else.
    assert after(480) < before + 5_000_000
