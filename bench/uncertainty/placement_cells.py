"""One cell of the placement bench: a fan-out and a selectivity, under early, late and cost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from bench.data.linked_events import LinkedEvents, followed
from bench.report import progress
from bench.uncertainty.uncertain_engine import (
    PLACEMENTS,
    AnswersDifferError,
    Contender,
    Evaluation,
    Setting,
    WatchedQuery,
    agree,
    in_turn,
)

# A placement that takes this many times as long as the other is run a few times only, once that is some time at all.
HOPELESS, HOPELESS_MS = 5.0, 100.0
# Event time between evaluations, and a window that nothing leaves.
STEP_MS = 1000
RANGE = "PT24H"
# Events whose texts are in memory at a time.
PUSHED_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class CellEffort:
    """How much is run.

    Evaluations by which a cell settles (its size and who is hopeless are read off them; the first one is told by
    itself), turns (twice), those of a hopeless placement, the milliseconds that the faster of early and late takes at
    least, and the first stream's events to begin with and at most. Evaluations go on getting faster: `sized_ms` are
    wanted of the last ones of settling, `least_ms` of the medians. A turn is the median of `repeats` evaluations.
    """

    settling: int
    runs: int
    few_runs: int
    least_ms: float
    events: int
    most_events: int
    sized_ms: float = 0.0
    repeats: int = 1


@dataclass(frozen=True)
class Content:
    """What the windows of some cells hold, and the streams that it came by."""

    events: LinkedEvents
    first: str
    second: str


# What a contender evaluated in one turn.
Turn = list[Evaluation]


@dataclass
class Runner:
    """A contender's query of one cell."""

    contender: Contender
    name: str
    content: Content
    watched: WatchedQuery
    settling: list[Evaluation] = field(default_factory=list)
    passes: tuple[list[Turn], list[Turn]] = field(default_factory=lambda: ([], []))
    hopeless: bool = False

    @property
    def placement(self) -> str:
        """Where the filter goes."""
        return self.contender.setting.placement

    def evaluate(self) -> Evaluation:
        """Let one more event arrive, and evaluate."""
        clock = self.contender.clock + STEP_MS
        content = self.content
        self.contender.push(content.first, content.events.idle(clock))
        return self.contender.advance(clock)[self.name]

    def settled_ms(self) -> float:
        """What an evaluation seems to take, from the last ones of settling."""
        return min(run.ms for run in self.settling[-3:])

    def turns_ms(self, place: int) -> list[float]:
        """What each turn of a pass took: the median of its evaluations."""
        return [float(np.median([run.ms for run in turn])) for turn in self.passes[place]]

    def median(self, place: int) -> float:
        """The median of a pass."""
        return float(np.median(self.turns_ms(place)))


class CellRace:
    """Measures cells with one kind of functions; an engine for each placement."""

    def __init__(self, spark: SparkSession, functions: str, effort: CellEffort) -> None:
        self.functions = functions
        self._effort = effort
        self._cells = 0
        self._open_cell: list[Runner] = []
        self.contenders = [Contender(spark, Setting(functions, place)) for place in PLACEMENTS]

    def measure(self, fan_out: float, selectivity: float, events: int) -> dict[str, Any]:
        """A row of the result; `events` are tried first, and more where these are answered too fast."""
        while True:
            runners: list[Runner] = []  # a stopped query that is held keeps its windows
            runners, events = self._sized(fan_out, selectivity, events)
            self._run(runners)
            least = min(r.median(0) for r in runners if r.placement != "cost")
            if least >= self._effort.least_ms or events >= self._effort.most_events:
                break
            progress(
                f"  measured again with more than {events:,} events: {least:.1f} ms are too few"
            )
            events = min(2 * events, self._effort.most_events)
        agree({f"{r.placement}, run {n}": e for r in runners for n, e in enumerate(_all(r))})
        expected = runners[0].content.events.answers(selectivity)
        if runners[0].settling[0].answers != expected:
            raise AnswersDifferError(
                f"fan-out {fan_out:g}, selectivity {selectivity:g}: {expected:,} answers are right,"
                f" not {runners[0].settling[0].answers:,}"
            )
        found = row(self.functions, fan_out, selectivity, runners)
        shown = ", ".join(f"{key} {found[key]}" for key in ("early_ms", "late_ms", "cost_ms"))
        progress(f"  1 to {fan_out:g}, selectivity {selectivity:g}, {events:,} events: {shown}")
        return found

    def _sized(self, fan_out: float, selectivity: float, events: int) -> tuple[list[Runner], int]:
        """A cell that has settled and takes long enough, and its events."""
        while True:
            runners: list[Runner] = []  # a stopped query that is held keeps its windows
            runners = self._open(fan_out, selectivity, events)
            few = self._settle(runners)
            least = min(r.settled_ms() for r in runners if r.placement != "cost")
            wanted = self._effort.sized_ms
            if least >= wanted or events >= self._effort.most_events:
                break
            events = min(events * grown(least, wanted), self._effort.most_events)
        for runner in runners:
            runner.hopeless = runner.placement in few
        return runners, events

    def _run(self, runners: list[Runner]) -> None:
        """Two passes over all placements, in turn."""
        by_contender = {runner.contender: runner for runner in runners}
        for place in range(2):
            for turn in range(self._effort.runs):
                for contender in in_turn(self.contenders, turn):
                    runner = by_contender[contender]
                    if turn < self._effort.few_runs or not runner.hopeless:
                        repeats = range(self._effort.repeats)
                        runner.passes[place].append([runner.evaluate() for _ in repeats])

    def _open(self, fan_out: float, selectivity: float, events: int) -> list[Runner]:
        """Registers the query of a cell in all engines, over the windows of the cell before if these will do."""
        self._cells += 1
        name = f"http://example.org/cell/{self._cells}"
        wanted = LinkedEvents(events, fan_out)
        before, self._open_cell = self._open_cell, []
        content = before[0].content if before else None
        if content is None or content.events != wanted:
            self._stop(before)
            before = []
            # Three engines' windows of millions of events are to be filled: what others left is in the way.
            self.contenders[0].collect_garbage()
            content = Content(wanted, f"{name}/first", f"{name}/second")
            for contender in self.contenders:
                for stream in (content.first, content.second):
                    contender.engine.register_stream(stream)
        text = followed(content.first, content.second, selectivity, RANGE)
        for contender in self.contenders:
            self._open_cell.append(Runner(contender, name, content, contender.register(name, text)))
        # Windows stay as they are while some query reads them.
        if before:
            self._stop(before)
            for runner in in_turn(self._open_cell, self._cells):
                runner.settling.append(runner.evaluate())
        else:
            self._fill(self._open_cell, content)
        return self._open_cell

    def _fill(self, runners: list[Runner], content: Content) -> None:
        time = max(contender.clock for contender in self.contenders) + STEP_MS
        second = content.events.second(time)
        for runner in runners:
            runner.contender.push(content.second, second)
        with ThreadPoolExecutor(len(runners)) as side_by_side:  # millions of events take minutes
            for part in content.events.first_in_parts(time, PUSHED_AT_ONCE):
                pushed = [
                    side_by_side.submit(runner.contender.push, content.first, part)
                    for runner in runners
                ]
                for one in pushed:
                    one.result()
        # Whoever is the first of all finds code that no other has run: not always the same one.
        for runner in in_turn(runners, self._cells):
            runner.settling.append(runner.contender.advance(time)[runner.name])
        # What reading a million events has left behind is not to be collected while cells are measured.
        runners[0].contender.collect_garbage()

    def _settle(self, runners: list[Runner]) -> set[str]:
        """Runs all until they have settled; the placements, of early and late, that are hopeless."""
        few: set[str] = set()
        for number in range(self._effort.settling):
            for runner in runners:
                if runner.placement not in few:
                    runner.settling.append(runner.evaluate())
            if number >= 1:
                few |= hopeless({r.placement: r.settled_ms() for r in runners})
        return few

    def _stop(self, runners: list[Runner]) -> None:
        for runner in runners:
            runner.contender.stop(runner.name)

    def close(self) -> None:
        """End all engines."""
        for contender in self.contenders:
            contender.close()


def _all(runner: Runner) -> list[Evaluation]:
    return [*runner.settling, *chain(*runner.passes[0], *runner.passes[1])]


def hopeless(ms: dict[str, float]) -> set[str]:
    """Of early and late, the one that is not worth all runs.

    >>> hopeless({"early": 700.0, "late": 20.0, "cost": 25.0}), hopeless({"early": 50.0, "late": 2.0})
    ({'early'}, set())
    """
    early, late = ms["early"], ms["late"]
    slow, fast = max(early, late), min(early, late)
    return (
        {"early" if early == slow else "late"}
        if slow > max(HOPELESS * fast, HOPELESS_MS)
        else set()
    )


def grown(ms: float, wanted: float) -> int:
    """By which power of two the events must grow for evaluations to last as long as wanted.

    >>> grown(15.0, 20.0), grown(9.0, 20.0), grown(0.5, 20.0)
    (2, 4, 8)
    """
    return int(2 ** min(3, max(1, np.ceil(np.log2(1.1 * wanted / ms)))))


def row(
    functions: str, fan_out: float, selectivity: float, runners: list[Runner]
) -> dict[str, Any]:
    """What a cell's runs say; no `noise` where early was hopeless: the medians of few runs are apart anyway."""
    by_placement = {runner.placement: runner for runner in runners}
    ms = {name: runner.median(0) for name, runner in by_placement.items()}
    again = by_placement["early"].median(1)
    runs = {name: len(runner.passes[0]) for name, runner in by_placement.items()}
    last = {name: runner.passes[1][-1][-1] for name, runner in by_placement.items()}
    return {
        "cardinality": fan_out,
        "selectivity": selectivity,
        "functions": functions,
        "events": runners[0].content.events.events,
        **{f"{name}_ms": round(ms[name], 3) for name in PLACEMENTS},
        **{f"{name}_first_ms": round(by_placement[name].settling[0].ms, 3) for name in PLACEMENTS},
        "early_again_ms": round(again, 3),
        "ratio": round(ms["cost"] / min(ms["early"], ms["late"]), 4),
        "noise": round(again / ms["early"], 4) if runs["early"] == runs["cost"] else None,
        **{f"{name}_calls": last[name].calls for name in PLACEMENTS},
        **{f"{name}_runs": runs[name] for name in PLACEMENTS},
        "answers": last["cost"].answers,
        **{f"{name}_plan": runner.watched.plan for name, runner in by_placement.items()},
        "settling_ms": {
            name: [round(run.ms, 2) for run in runner.settling]
            for name, runner in by_placement.items()
        },
        "turns_ms": {
            name: [[round(ms, 2) for ms in runner.turns_ms(place)] for place in range(2)]
            for name, runner in by_placement.items()
        },
    }
