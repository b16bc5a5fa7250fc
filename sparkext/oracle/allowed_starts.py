"""Which answers are right where a profile hides t0: the oracle of RSP-QL (Definitions 25 and 26).

A query registered at time a may start window i at any t0 in {a, ..., a + step_i - 1}: every choice gives one candidate,
and answers are right when they are those of one candidate, from max(t0 + width) on. (Definition 26 starts at max(t0),
where a window of an earlier t0 still shows what this one has never seen: slip S-001-5.)

A step of ten seconds would be ten thousand candidates. But a window that reports its closings has shown its t0 by the
instants at which it reported, and what the others show changes only where an opening passes an element: there is one
candidate for each class of t0 that the answers can tell apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from sparkext.errors import CheckError
from sparkext.oracle.evaluation import Answer, ContinuousEvaluation
from sparkext.oracle.profiles import operator_of
from sparkext.oracle.report_definitions import sliding_part
from sparkext.oracle.verdict import (
    InstantDifference,
    Verdict,
    compare_instants,
    leaves_out_empty,
)
from sparkext.oracle.window_definitions import Sliding, Window

# Up to so many, Definition 26 is taken at its word.
_ALL_CANDIDATES = 64
MOST_CANDIDATES = 2_000
Starts = tuple[int | None, ...]


def judge(
    evaluation: ContinuousEvaluation,
    given: Mapping[int, Answer],
    skip_empty: bool | None = None,
    registered_at: int | None = None,
) -> Verdict:
    """Compare given answers with what the query may answer under its profile.

    `skip_empty` None: as the answers look. `registered_at` is a; without it, so long before the first element that all
    windows are under way. Raises CheckError where there are too many candidates.
    """
    skipping = leaves_out_empty(given.values()) if skip_empty is None else skip_empty
    if not (evaluation.profile.hidden_start and any(_sliding(evaluation))):
        expected = evaluation.answers()
        differences = compare_instants(expected, given, skipping)
        return Verdict(tuple(differences), len({*expected, *given}))
    a = _long_ago(evaluation) if registered_at is None else registered_at
    candidates = allowed_starts(evaluation, given, a, skipping)
    best: Verdict | None = None
    for starts in _nearest_first(evaluation, candidates, given):
        verdict = _judged(evaluation, starts, given, skipping, len(candidates))
        if best is None or len(verdict.differences) < len(best.differences):
            best = verdict
        if best.correct:
            break
    assert best is not None
    return best


def allowed_starts(
    evaluation: ContinuousEvaluation, given: Mapping[int, Answer], a: int, skip_empty: bool = False
) -> list[Starts]:
    """One t0 for each window (None for one without), for every candidate that the answers could be."""
    windows = _sliding(evaluation)
    choices: list[Sequence[int | None]] = []
    whole = _product(window.step for window in windows if window is not None)
    for place, window in enumerate(windows):
        if window is None:
            choices.append([None])
        elif whole <= _ALL_CANDIDATES:
            choices.append(range(a, a + window.step))
        else:
            choices.append(_classes(evaluation, place, window, given, a, skip_empty))
    number = _product(len(choice) for choice in choices)
    if number > MOST_CANDIDATES:
        raise CheckError(
            f"{number:,} choices of t0 are possible, more than {MOST_CANDIDATES:,}: check a shorter recording,"
            " or under a profile that does not hide t0"
        )
    return list(product(*choices))


def _sliding(evaluation: ContinuousEvaluation) -> list[Sliding | None]:
    return [sliding_part(window) for window in evaluation.windows()]


def _product(numbers: Iterator[int]) -> int:
    result = 1
    for number in numbers:
        result *= number
    return result


def _long_ago(evaluation: ContinuousEvaluation) -> int:
    first = min((e.time_ms for s in evaluation.streams.values() for e in s), default=0)
    return first - max(w.width + w.step for w in _sliding(evaluation) if w is not None)


def _classes(
    evaluation: ContinuousEvaluation,
    place: int,
    window: Sliding,
    given: Mapping[int, Answer],
    a: int,
    skip_empty: bool,
) -> list[int]:
    """One t0 of each class: within a class, the window shows the same at all instants that matter."""
    times = [e.time_ms for s in evaluation.streams.values() for e in s]
    own = evaluation.streams[evaluation.query.windows[place].stream.value]
    registration = evaluation.query.registration
    periodic = registration is not None and registration.every_ms is not None
    if not own:
        return [a]
    if not isinstance(evaluation.windows()[place], Sliding):
        raise CheckError(
            f"a step of {window.step} ms in a composed or past window has too many choices of a hidden t0"
        )
    alone = len(evaluation.query.windows) == 1
    reports = not (periodic or evaluation.profile.arrivals or window.step > window.width)
    if reports and (alone or not skip_empty):
        # It closes non-empty somewhere, and reports it there.
        residues = {(t - window.width) % window.step for t in given}
    else:
        edges = [*times, *given]
        residues = {
            (edge + offset) % window.step
            for edge in edges
            for shift in (0, -window.width)
            for offset in (shift, shift + 1)
        }
        residues.add(a % window.step)
    return sorted({a + (residue - a) % window.step for residue in residues} or {a})


def _nearest_first(
    evaluation: ContinuousEvaluation, candidates: Sequence[Starts], given: Mapping[int, Answer]
) -> list[Starts]:
    """Candidates in the order of how many instants they do not share with the answers, which is quick to see."""

    def apart(starts: Starts) -> int:
        windows = evaluation.windows(starts)
        since = _since(windows)
        ours = {t for t in evaluation.instants(windows) if t >= since}
        return len(ours ^ {t for t in given if t >= since})

    return sorted(candidates, key=apart)


def _since(windows: Sequence[Window]) -> int:
    slides = (part for window in windows if (part := sliding_part(window)) is not None)
    return max(part.start + part.width for part in slides)


def _judged(
    evaluation: ContinuousEvaluation,
    starts: Starts,
    given: Mapping[int, Answer],
    skip_empty: bool,
    candidates: int,
) -> Verdict:
    since = _since(evaluation.windows(starts))
    expected = evaluation.answers(starts)
    later = {t: answer for t, answer in expected.items() if t >= since}
    if (
        len(later) < len(expected)
        and operator_of(evaluation.query, evaluation.profile) != "RSTREAM"
    ):
        # What is new at the first instant depends on the one before, about which candidates may differ.
        since = min(later, default=since) + 1
    later = {t: answer for t, answer in expected.items() if t >= since}
    theirs = {t: answer for t, answer in given.items() if t >= since}
    differences: list[InstantDifference] = compare_instants(later, theirs, skip_empty)
    return Verdict(tuple(differences), len({*later, *theirs}), starts, since, candidates)
