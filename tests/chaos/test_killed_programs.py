"""`kill -9` at random moments, also while commits are written: the answers are those of a run that was left alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.chaos import replayed
from tests.chaos.killed import Told, run_killed, run_whole, told
from tests.chaos.program import E

PUSHED, FED = "tests.chaos.program", "tests.chaos.structured"
REPLAYED = "tests.chaos.replayed"
ARGUMENTS = {PUSHED: ("500", "0.004"), FED: ("400",)}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """What programs tell that are left alone, each found when it is first asked for."""
    return _Whole(tmp_path_factory.mktemp("chaos"))


class _Whole(dict[str, Told]):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __missing__(self, program: str) -> Told:
        arguments = ARGUMENTS[program]
        return self.setdefault(
            program, run_whole(program, self._folder / program, *arguments, "free")
        )


def check_killed(
    program: str,
    folder: Path,
    unbroken: dict[str, Told],
    kills: int,
    seed: int,
    names: Sequence[str] = (),
) -> None:
    """With `names`, these queries only, over fewer elements: each process has them to compile."""
    elements, *others = ARGUMENTS[program]
    arguments = [str(int(elements) // 2) if names else elements, *others]
    assert run_killed(program, folder / "killed", kills, seed, *arguments, "kept", *names) > 0
    own = folder / "whole"
    expected = run_whole(program, own, *arguments, "free", *names) if names else unbroken[program]
    found = told(folder / "killed")
    differing = {
        key: (expected.get(key), found.get(key))
        for key in expected.keys() | found.keys()
        if expected.get(key) != found.get(key)
    }
    assert not differing
    assert {key[0] for key in found} == {key[0] for key in expected}


def test_three_kills(tmp_path: Path, unbroken: dict[str, Told]) -> None:
    check_killed(PUSHED, tmp_path, unbroken, 3, 1, ("counted", "pairs", f"{E}made", "of-made"))


def test_ten_kills_while_structured_streaming_feeds(
    tmp_path: Path, unbroken: dict[str, Told]
) -> None:
    check_killed(FED, tmp_path, unbroken, 10, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 15))
def test_130_kills(tmp_path: Path, unbroken: dict[str, Told], seed: int) -> None:
    check_killed(PUSHED, tmp_path, unbroken, 10, seed)


@pytest.mark.slow
def test_four_kills_of_a_replay(tmp_path: Path) -> None:
    """`cqels run --checkpoint`: what it has written is added to."""
    elements = "6000"
    run_whole(REPLAYED, tmp_path / "whole", elements, "free")
    assert run_killed(REPLAYED, tmp_path / "killed", 4, 1, elements, "kept") > 0
    assert replayed.told(tmp_path / "killed") == replayed.told(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_60_kills_while_structured_streaming_feeds(
    tmp_path: Path, unbroken: dict[str, Told], seed: int
) -> None:
    check_killed(FED, tmp_path, unbroken, 10, seed)


@pytest.mark.cluster
@pytest.mark.slow
def test_20_executors_are_killed(tmp_path: Path) -> None:
    expected = run_whole(PUSHED, tmp_path / "whole", "150", "0", "free")
    assert run_whole("tests.chaos.on_cluster", tmp_path / "cluster", "150", "20") == expected
