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
from sparkext.s2r.watermark import FOREVER, NEVER, complete_up_to

if TYPE_CHECKING:
    from sparkext.s2r.instants import InstantScheduler
    from sparkext.s2r.watermark import StreamWatermark

_FEW = 64


@dataclass
class Told:
    """What was told last of an instant; `parts` says whose the rows are where they are of several queries.

    `revisions` are counted for each of these, by number. `turn` is how many evaluations of all queries there had been
    with the one that found the answers; `anew` whether the query had started over for that; `stale` whether the
    instant was come to since and the answers are not what it answers now, or may not be. `consumed` is how much events
    had used up before it.
    """

    answers: Answers
    parts: Any = None
    retracted: bool = False
    revisions: dict[int, int] = field(default_factory=dict)
    turn: int = 0
    anew: bool = False
    stale: bool = False
    consumed: int = 0

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
    """A query as its corrections see it; `turn` is how many evaluations of all queries there were with its last one."""

    scheduler: InstantScheduler
    turn: int

    @property
    def consumed(self) -> int:
        """How much its events have used up so far."""

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
        self._before_turn = 0
        self._before_consumed = 0
        self._consumed = 0  # before the evaluation under way
        self._starts_over = False
        self._anew = False  # whether the query has started over for the evaluation under way
        self._newest = NEVER  # that was told of
        self._limit = _FEW
        self.passes_on = False
        """Whether somebody is given what is final: nothing is forgotten before `finished` has given it."""
        self._copied: tuple[pa.Table, pa.Table] | None = None

    def branch(self) -> InstantScheduler:
        """A scheduler for the query, at the instants that are final."""
        return self.final.branch(self._watermarks)

    def roll_back(self, time: int) -> InstantScheduler:
        """Have all instants from a time on be decided and told again; the query's scheduler from now on."""
        made = self.branch()
        made.pass_over(time - 1)
        for instant in self._told.irange(time):
            self._again.add(instant)
            self._told[instant].stale = True
        self._starts_over = self._remembers
        return made

    # -- evaluations --------------------------------------------------------------------------------

    def begin(self, instant: int, query: CorrectedQuery) -> None:
        """Say that an instant is evaluated now: those before it that were told and are none any more are retracted."""
        self._retract(instant, query)
        self._again.discard(instant)
        self._anew, self._starts_over = self._starts_over, False
        if self._anew:
            query.start_over(self.last_before(instant))
        self._consumed = query.consumed

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
        told.turn, told.anew, told.stale = query.turn, self._anew, False
        told.consumed = self._consumed

    def _retract(self, until: int, query: CorrectedQuery) -> None:
        while self._again and self._again[0] < until:
            told: Told = self._told[self._again.pop(0)]
            if not told.retracted:
                query.retract(told)
                told.retracted = True
                told.answers, told.parts = replace(told.answers, table=empty_mappings(0)), None

    def last_before(self, instant: int) -> int | None:
        """The last instant before one that the query was evaluated at."""
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
        if not self.passes_on:
            self._settle(query, FOREVER)
        return self.final.settled_up_to

    def finished(self, query: CorrectedQuery, limit: int) -> tuple[list[Answers], int]:
        """What has been told of instants that are final now, up to a time by which none is due; and up to when nothing
        else can be."""
        if self._again:
            return [], self.final.settled_up_to
        told = self._settle(query, limit)
        return [one.answers for one in told if not one.retracted], min(
            limit, self.final.decided_up_to
        )

    def _settle(self, query: CorrectedQuery, limit: int) -> list[Told]:
        if self._again:  # a subscriber's push waits, or an interruption has ended the evaluation
            return []
        settled = min(complete_up_to(self.final.watermarks.values()), query.scheduler.settled_up_to)
        self.final.pass_over(min(settled, limit))
        settled = self.final.settled_up_to
        final = []
        while self._told and self._told.peekitem(0)[0] <= settled:
            time, told = self._told.popitem(0)
            final.append(told)
            if self._remembers and not told.retracted:
                self._before, self._before_turn = time, told.turn
                self._before_consumed = told.consumed
        self._limit = max(_FEW, 2 * len(self._told))
        return final

    @property
    def complete(self) -> int:
        """The time up to which the streams are complete and no late element comes any more."""
        return complete_up_to(self.final.watermarks.values())

    @property
    def before(self) -> int | None:
        """An instant at which windows may be asked for, although it is final."""
        return self._before

    # -- what events have used up --------------------------------------------------------------------

    def consumed_before(self, instant: int) -> int | None:
        """How much had been used up before the first instant from one on; None where that is all there is."""
        if instant == self._before:
            return self._before_consumed
        for time in self._told.irange(instant):
            if not self._told[time].retracted:
                return None if self._told[time].stale else self._told[time].consumed
        return None

    def forgot_consumed(self, count: int) -> None:
        """Say that so much that was used up before all instants that may be evaluated again is forgotten."""
        self._before_consumed -= count
        for told in self._told.values():
            told.consumed -= count

    # -- for another process ------------------------------------------------------------------------

    def state(self, named: Mapping[int, str]) -> dict[str, Any]:
        """As plain data, what `restore` has others go on with; `named` are the queries by the numbers of `Told`.

        The answers are not in it but where they cannot be found again, as late elements have come since.
        """
        return {
            "final": self.final.state(),
            "told": [_described(time, told, named) for time, told in self._told.items()],
            "again": list(self._again),
            "before": [self._before, self._before_turn, self._before_consumed],
            "starts_over": self._starts_over,
            "newest": self._newest,
        }

    def restore(
        self,
        state: Mapping[str, Any],
        numbers: Mapping[str, int],
        shared: bool,
        nothing: Callable[[int], Answers],
    ) -> None:
        """Have told what others had whose state this is; `nothing` makes answers without rows of an instant.

        The answers that are not in it are still to be `found`. `shared`: of several queries, with these `numbers`.
        """
        for known in state["told"]:
            self._told[known["time"]] = _told_of(known, numbers, shared, nothing(known["time"]))
        self._again.update(state["again"])
        self._before, self._before_turn, self._before_consumed = state["before"]
        self._starts_over, self._newest = state["starts_over"], state["newest"]
        self._limit = max(_FEW, 2 * len(self._told))

    def began_after(self, instant: int | None, turn: int) -> None:
        """Say that there was an instant before all that is told from now on."""
        if self._remembers:
            self._before, self._before_turn = instant, turn

    def to_find(self) -> list[tuple[int, int]]:
        """The instants whose answers are to be found again in another process, in order, each with its turn.

        The first may be one that is final, from which the next one differs.
        """
        before = [] if self._before is None else [(self._before, self._before_turn)]
        return before + [
            (time, told.turn)
            for time, told in self._told.items()
            if not (told.retracted or told.stale)
        ]

    def starts_over_at(self, instant: int) -> bool:
        """Whether the query had started over where it found the answers of an instant."""
        return self._told[instant].anew if instant in self._told else True

    def found(self, answers: Answers, parts: object) -> None:
        """Have these be what was told of an instant."""
        told: Told | None = self._told.get(answers.time)
        if told is not None:
            told.answers, told.parts = self._kept(answers), parts

    def lost(self, instant: int) -> None:
        """Have an instant be told as if it were one again, as what was told of it is not known."""
        if instant in self._told:
            self._told[instant].retracted = True


def _described(time: int, told: Told, named: Mapping[int, str]) -> dict[str, Any]:
    revisions = {named[number]: n for number, n in told.revisions.items() if number in named}
    made = {
        "time": time,
        "turn": told.turn,
        "anew": told.anew,
        "consumed": told.consumed,
        "retracted": told.retracted,
        "revisions": revisions,
    }
    if told.stale and not told.retracted:
        parts = None
        if told.parts is not None:
            known = told.parts.items()  # of queries that have ended, too
            parts = {named[number]: list(part) for number, part in known if number in named}
        table = told.answers.table
        made["rows"] = [table.num_rows, [column.to_pylist() for column in table.columns], parts]
    return made


def _told_of(
    known: Mapping[str, Any], numbers: Mapping[str, int], shared: bool, nothing: Answers
) -> Told:
    revisions = {numbers[name]: n for name, n in known["revisions"].items() if name in numbers}
    told = Told(nothing, None, known["retracted"], revisions, known["turn"], known["anew"])
    told.consumed = known["consumed"]
    if "rows" in known:
        told.stale = True
        count, columns, parts = known["rows"]
        if len(columns) != len(nothing.variables) or shared != (parts is not None):
            told.retracted = True  # it is answered together with others than before
            return told
        names = list(nothing.variables)
        arrays = [pa.array(column, pa.string()) for column in columns]
        table = pa.Table.from_arrays(arrays, names=names) if names else empty_mappings(count)
        told.answers = replace(nothing, table=table)
        if parts is not None:
            mine = ((numbers[name], tuple(part)) for name, part in parts.items() if name in numbers)
            told.parts = dict(mine)
    return told


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
