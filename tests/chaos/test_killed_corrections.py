"""`kill -9` where late elements correct: answers and revisions are those of a run that was left alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.chaos.killed import Told, run_killed, run_whole, told
from tests.chaos.test_killed_programs import ARGUMENTS, PUSHED


def test_two_kills_where_late_elements_correct(tmp_path: Path) -> None:
    check_late(tmp_path, 2, 1, ("counted", "new"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_40_kills_where_late_elements_correct(tmp_path: Path, seed: int) -> None:
    check_late(tmp_path, 10, seed)


def check_late(folder: Path, kills: int, seed: int, names: Sequence[str] = ()) -> None:
    arguments = ARGUMENTS[PUSHED]
    whole = run_whole(PUSHED, folder / "whole", *arguments, "free-late", *names)
    killed = run_killed(PUSHED, folder / "killed", kills, seed, *arguments, "kept-late", *names)
    assert killed > 0
    assert told(folder / "killed") == whole
    assert sum(revision > 0 for _, _, revision in whole) > 30
    in_order = run_whole(PUSHED, folder / "in order", *arguments, "free", *names)
    assert last_of(whole) == last_of(in_order)


def last_of(answers: Told) -> dict[tuple[str, int], tuple[str, ...]]:
    """The rows of the last revision of each instant; of queries that no static graph that changes decides on."""
    last: dict[tuple[str, int], tuple[str, ...]] = {}
    for (query, time, _), (_, rows) in sorted(answers.items()):
        if query in ("count", "counted"):
            last[query, time] = rows
    assert last
    return {key: rows for key, rows in last.items() if rows}  # without what was retracted
