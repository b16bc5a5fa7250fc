"""Whether given answers are right, and if not, where: instant by instant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from sparkext.oracle.comparison import NO_DIFFERENCE, RowDifference, compare_rows
from sparkext.oracle.evaluation import Answer


class Kind(Enum):
    """What is wrong with an instant."""

    MISSING = "missing"
    EXTRA = "extra"
    DIFFERENT = "different"


@dataclass(frozen=True)
class InstantDifference:
    """One instant that is not as it should be: `expected` is None where it should not be there at all, `given` where
    it is not there."""

    time: int
    kind: Kind
    expected: Answer | None
    given: Answer | None
    rows: RowDifference = NO_DIFFERENCE


@dataclass(frozen=True)
class Verdict:
    """The judgement over all instants from `since` on (None: from the first).

    `starts` are the t0 of the windows under which the answers come nearest, where the profile hides them; `candidates`
    is how many were possible.
    """

    differences: tuple[InstantDifference, ...]
    compared: int
    starts: tuple[int | None, ...] | None = None
    since: int | None = None
    candidates: int = 1

    @property
    def correct(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


def compare_instants(
    expected: Mapping[int, Answer], given: Mapping[int, Answer], skip_empty: bool
) -> list[InstantDifference]:
    """The instants that differ, in order of time; with `skip_empty`, one without an answer may be missing.

    >>> one = Answer("SELECT", ("x",), (("<http://e/a>",),))
    >>> [d.kind.value for d in compare_instants({1: one, 2: one}, {2: one, 3: one}, False)]
    ['missing', 'extra']
    """
    found = []
    for time in sorted({*expected, *given}):
        right, theirs = expected.get(time), given.get(time)
        if right is None:
            assert theirs is not None
            found.append(InstantDifference(time, Kind.EXTRA, None, theirs))
        elif theirs is None:
            if not (skip_empty and right.is_empty):
                found.append(InstantDifference(time, Kind.MISSING, right, None))
        else:
            rows = compare_rows(right.rows, theirs.rows)
            if rows or right.boolean != theirs.boolean:
                found.append(InstantDifference(time, Kind.DIFFERENT, right, theirs, rows))
    return found


def leaves_out_empty(given: Iterable[Answer]) -> bool:
    """Whether answers look as `--skip-empty` writes them: no instant is without an answer."""
    return not any(answer.is_empty for answer in given)
