"""What a query has told at instants that late elements may still change, and from where it is evaluated again then.

A query over a stream whose late elements correct is evaluated as soon as its streams have passed an instant, and its
answers are final after the allowed lateness. One scheduler follows behind, at the instants that are final. Where a late
element comes, a branch of it takes the place of the query's own, at the element's time: the query comes to the instants
since then once more, in order, over windows that go back, and tells those that differ from what it told before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from sortedcontainers import SortedDict, SortedSet

from sparkext.runtime.answering.answers import Answers
from sparkext.runtime.answering.answers_file import empty_mappings
from sparkext.runtime.answering.revised_answers import (
    RevisedAnswers,
    retracted,
    revised,
    told_again,
)
from sparkext.s2r.watermark import NEVER, complete_up_to

if TYPE_CHECKING:
    from sparkext.s2r.instants import InstantScheduler
    from sparkext.s2r.watermark import StreamWatermark

_FEW = 64


@dataclass
class Told:
    """What was told last of an instant; `parts` says whose the rows are where they are of several queries.

    `revisions` are counted for each of these, by number.
    """

    answers: Answers
    parts: Any = None
    retracted: bool = False
    revisions: dict[int, int] = field(default_factory=dict)

    def revised(self, before: Answers, now: Answers, number: int = 0) -> RevisedAnswers | None:
        """What is to be told of an instant that was told before; None where nothing differs."""
        revision = self.revisions.get(number, 0) + 1
        made = told_again(now, revision) if self.retracted else revised(before, now, revision)
        if made is not None:
            self.revisions[number] = revision
        return made

    def taken_back(self, before: Answers, sequence: int, number: int = 0) -> RevisedAnswers:
        """What is to be told of an instant that is none any more."""
        self.revisions[number] = self.revisions.get(number, 0) + 1
        return retracted(before, sequence, self.revisions[number])


class CorrectedQuery(Protocol):
    """A query as its corrections see it."""

    scheduler: InstantScheduler

    def start_over(self, instant: int | None) -> None:
        """Go on as if this were the last instant that was evaluated; None: as if none was."""

    def tell_new(self, answers: Answers, among: bool) -> object:
        """Tell the answers of an instant for the first time, perhaps among others; what says whose the rows are."""

    def tell_revised(self, told: Told, answers: Answers) -> object:
        """Tell the answers of an instant that was told before, where they differ; as `tell_new`."""

    def retract(self, told: Told) -> None:
        """Tell that an instant that was told is none."""


class Corrections:
    """The corrections of one query; `final` is a scheduler that is fed as its own is, with the final watermarks.

    `remembers`: its answers depend on those of the instant before. `crowded` is called when there is much that may be
    final by now.
    """

    def __init__(
        self,
        final: InstantScheduler,
        watermarks: Mapping[str, StreamWatermark],
        remembers: bool,
        crowded: Callable[[], object],
    ) -> None:
        self.final = final
        self._watermarks = watermarks
        self._remembers = remembers
        self._crowded = crowded
        self._told: SortedDict = SortedDict()  # Told by instant
        self._again: SortedSet = (
            SortedSet()
        )  # those of them that the query has not come to once more
        self._before: int | None = None  # the last instant before all these
        self._starts_over = False
        self._newest = NEVER  # that was told of
        self._limit = _FEW
        self._copied: tuple[pa.Table, pa.Table] | None = None

    def branch(self) -> InstantScheduler:
        """A scheduler for the query, at the instants that are final."""
        return self.final.branch(self._watermarks)

    def roll_back(self, time: int) -> InstantScheduler:
        """Have all instants from a time on be decided and told again; the query's scheduler from now on."""
        made = self.branch()
        made.pass_over(time - 1)
        self._again.update(self._told.irange(time))
        self._starts_over = self._remembers
        return made

    # -- evaluations --------------------------------------------------------------------------------

    def begin(self, instant: int, query: CorrectedQuery) -> None:
        """Say that an instant is evaluated now: those before it that were told and are none any more are retracted."""
        self._retract(instant, query)
        self._again.discard(instant)
        if self._starts_over:
            self._starts_over = False
            query.start_over(self._last_before(instant))

    def nothing_due(self, query: CorrectedQuery) -> None:
        """Say that no instant is due: what was told of instants that are complete and did not come again is retracted.

        A stream that was idle and has come back may have others wait.
        """
        if self._again:
            self._retract(complete_up_to(self._watermarks.values()) + 1, query)

    def tell(self, answers: Answers, query: CorrectedQuery) -> None:
        """Tell of an evaluation, if that is news."""
        told: Told | None = self._told.get(answers.time)
        if told is None:
            told = self._told[answers.time] = Told(answers)
            among = self._newest > answers.time
            self._newest = max(self._newest, answers.time)
            told.parts = query.tell_new(answers, among)
            if len(self._told) > self._limit:
                self._crowded()
        else:
            told.parts = query.tell_revised(told, answers)
            told.retracted = False
        told.answers = self._kept(answers)

    def _retract(self, until: int, query: CorrectedQuery) -> None:
        while self._again and self._again[0] < until:
            told: Told = self._told[self._again.pop(0)]
            if not told.retracted:
                query.retract(told)
                told.retracted = True
                told.answers, told.parts = replace(told.answers, table=empty_mappings(0)), None

    def _last_before(self, instant: int) -> int | None:
        for time in self._told.irange(maximum=instant, inclusive=(True, False), reverse=True):
            if not self._told[time].retracted:
                return int(time)
        return self._before

    def _kept(self, answers: Answers) -> Answers:
        """The answers without the file that they lie in: as many files cannot be mapped as instants may be kept."""
        source = answers.table
        if self._copied is None or self._copied[0] is not source:
            self._copied = (source, _copy(source))
        fields = {name: getattr(answers, name) for name in Answers.__dataclass_fields__}
        return Answers(**{**fields, "table": self._copied[1]})

    # -- what is final ------------------------------------------------------------------------------

    def settle(self, query: CorrectedQuery) -> int:
        """Forget what no late element can change any more; up to when that is. To be asked when nothing is due."""
        if self._again:  # a subscriber's push waits, or an interruption has ended the evaluation
            return self.final.settled_up_to
        settled = min(complete_up_to(self.final.watermarks.values()), query.scheduler.settled_up_to)
        self.final.pass_over(settled)
        settled = self.final.settled_up_to
        while self._told and self._told.peekitem(0)[0] <= settled:
            time, told = self._told.popitem(0)
            if self._remembers and not told.retracted:
                self._before = time
        self._limit = max(_FEW, 2 * len(self._told))
        return settled

    @property
    def complete(self) -> int:
        """The time up to which the streams are complete and no late element comes any more."""
        return complete_up_to(self.final.watermarks.values())

    @property
    def before(self) -> int | None:
        """An instant at which windows may be asked for, although it is final."""
        return self._before


def _copy(table: pa.Table) -> pa.Table:
    if not table.num_columns:
        return table
    return pa.Table.from_arrays(
        [_copied_column(c) for c in table.columns], names=table.column_names
    )


def _copied_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    chunks = [
        pa.Array.from_buffers(
            chunk.type,
            len(chunk),
            [None if b is None else pa.py_buffer(b.to_pybytes()) for b in chunk.buffers()],
            offset=chunk.offset,
        )
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, column.type)
