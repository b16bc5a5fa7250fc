"""A template: many registered queries that differ in constants only, evaluated as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, Protocol

import pyarrow as pa

from sparkext.runtime.answering.answers import Answers, AnswersPart
from sparkext.runtime.answering.answers_file import empty_mappings
from sparkext.runtime.answering.revised_answers import told_again
from sparkext.runtime.lateness.corrections import Told
from sparkext.runtime.newcomers import Newcomers
from sparkext.runtime.queries.template_instances import Shares, TemplateInstances, take_shares
from sparkext.runtime.registered_query import RegisteredQuery


class Member(Protocol):
    """An instance: `answered` counts its answers."""

    name: str
    number: int
    variables: tuple[str, ...]
    answered: int
    active: bool

    @property
    def evaluated(self) -> int:
        """How many evaluations were its own."""

    @property
    def has_begun(self) -> bool:
        """Whether its first instant has come."""

    def begin(self) -> None:
        """Note that it is answered from now on."""

    def restore(self, known: Mapping[str, Any]) -> None:
        """Go on where it was."""

    def tell(self, answers: Answers) -> None:
        """Tell whoever listens of its answers at an instant."""

    def tell_failure(self, instant: int, error: Exception) -> None:
        """Tell whoever asked for it that an evaluation failed."""

    def stop(self) -> None:
        """End it."""


class TemplateQuery(RegisteredQuery):
    """The query that answers all instances of a template; its own answers are theirs, one after the other."""

    def __init__(self, *arguments: Any) -> None:
        self._members: dict[int, Member] = {}
        self._listening: dict[int, Member] = {}
        self._shares: Shares = {}
        self._last_shares: Shares = {}  # of the answers of the last instant
        self._newcomers = Newcomers()
        self._among = (
            False  # whether what is told is of an instant among others that were told before
        )
        super().__init__(*arguments)
        self._arrived_before: tuple[int, ...] | None = self._arrived()

    @property
    def _relation(self) -> TemplateInstances:
        assert self._instances is not None
        return self._instances

    # -- instances ----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._members)

    def add(self, instance: Member, put: Callable[[], object]) -> None:
        """Answer an instance from the instant on at which it would be answered first by itself.

        `put` has the relation of instances have it.
        """

        def begin() -> None:
            put()
            instance.begin()
            self._changed()

        self._members[instance.number] = instance
        arrived = self._arrived()
        if arrived == self._arrived_before:
            begin()
        else:
            self._newcomers.add(instance.number, begin, arrived, self._make_scheduler)

    def add_again(
        self, instance: Member, put: Callable[[], object], known: Mapping[str, Any]
    ) -> None:
        """Go on with an instance of which this is known from another process.

        One that was still to be answered there begins with the next instant.
        """
        self._members[instance.number] = instance
        put()
        instance.restore({**known, "name": instance.name})
        if not instance.has_begun:
            instance.begin()
        self._changed()

    def restore(self, state: Mapping[str, Any]) -> None:
        """As there; instances that come from now on are new."""
        super().restore(state)
        self._arrived_before = None

    @property
    def takes_newcomers(self) -> bool:
        """Whether an instance can come now, and be answered from its first instant on wherever the template is.

        Where elements may come late, those that came before it are no reason to evaluate it, and others of the same
        times may be.
        """
        lateness = [mark.final.allowed_lateness for mark in self._watermarks.values()]
        return not any(lateness) or self._arrived() == self._arrived_before

    def _arrived(self) -> tuple[int, ...]:
        """Another one after each arrival."""
        return tuple(self._times(stream).version for stream in self.scheduler.watermarks)

    def remove(self, instance: Member) -> None:
        """Answer an instance no more."""
        if self._members.pop(instance.number, None) is not None:
            self._listening.pop(instance.number, None)
            self._newcomers.remove(instance.number)
            self._relation.remove(instance.number)
            self._changed()

    def listen(self, instance: Member, listens: bool) -> None:
        """Have an instance told of each evaluation, or no more."""
        if listens and instance.number in self._members:
            self._listening[instance.number] = instance
        else:
            self._listening.pop(instance.number, None)

    def _changed(self) -> None:
        self._known, self._differs = None, True

    # -- evaluation ---------------------------------------------------------------------------------

    def evaluate(self, instant: int) -> Answers:
        """As there, with the instances whose first instant has come."""
        self._newcomers.begin(instant)
        return super().evaluate(instant)

    def may_go_ahead(self, instant: int) -> bool:
        """As there, with the instances whose first instant has come."""
        self._newcomers.begin(instant)
        self._settle()
        return super().may_go_ahead(instant)

    def _settle(self) -> None:
        if self._relation.settle():
            self._jvm.instancesChanged()
            self._running.forget_expected()

    def run(self, bounds: str, instant: int = 0) -> tuple[pa.Table, dict[str, Any]]:
        """As there; whose the answers are is known afterwards."""
        self._settle()
        table, outcome = super().run(bounds, instant)
        self._shares = take_shares(outcome)
        return table, outcome

    def tell(self, answers: Answers) -> None:
        """Keep the answers, and tell whoever listens to an instance of its own."""
        super().tell(answers)
        if self._last is answers:
            self._last_shares = self._shares
        for number, (_, count) in self._shares.items():
            self._members[number].answered += count
        parts = _Parts(answers, self._shares)
        for instance in list(self._listening.values()):
            if instance.active and instance.has_begun:  # else another's subscriber has ended it
                part = parts.of(instance)
                instance.tell(told_again(part, 0) if self._among else part)

    def tell_failure(self, instant: int, error: Exception) -> None:
        """Have whoever asked for it at an instance know: it is a failure of all."""
        for instance in list(self._members.values()):
            instance.tell_failure(instant, error)

    def stop(self) -> None:
        """End all instances, and so the template."""
        for instance in list(self._members.values()):
            instance.stop()

    def answers_of(self, instance: Member) -> Answers | None:
        """What the last evaluation answered to an instance that was there; None before one."""
        return None if self._last is None else _Parts(self._last, self._last_shares).of(instance)

    def _named(self) -> Mapping[int, str]:
        return {number: member.name for number, member in self._members.items()}

    def _whose(self) -> object:
        return self._shares

    # -- late elements ------------------------------------------------------------------------------

    def tell_new(self, answers: Answers, among: bool) -> object:
        """As there; gives the shares of the instances."""
        self._among = among
        try:
            self.tell(answers)
        finally:
            self._among = False
        return self._shares

    def tell_revised(self, told: Told, answers: Answers) -> object:
        """As there, to each instance whose answers differ; gives the shares of the instances."""
        if self._last is None or answers.time >= self._last.time:
            self._last, self._last_shares = answers, self._shares
        parts = told.parts or {}  # None where it was taken back, or is not known
        before, now = _Parts(told.answers, parts), _Parts(answers, self._shares)
        for instance in self._told_again():
            number = instance.number
            if told.retracted or number in parts or number in self._shares:
                made = told.revised(before.of(instance), now.of(instance), number)
                if made is not None:
                    instance.tell(made)
        return self._shares

    def retract(self, told: Told) -> None:
        """As there, to all instances."""
        self.progress.evaluations += 1
        before = _Parts(told.answers, told.parts)
        for instance in self._told_again():
            instance.tell(told.taken_back(before.of(instance), instance.evaluated, instance.number))

    def _told_again(self) -> Iterator[Member]:
        for instance in list(self._listening.values()):
            if instance.active and instance.has_begun:
                yield instance


class _Parts:
    """The answers of an evaluation, in the columns and rows of each instance."""

    def __init__(self, answers: Answers, shares: Shares) -> None:
        self._answers = answers
        self._shares = shares
        self._named: dict[tuple[str, ...], _Named] = {}

    def of(self, instance: Member) -> Answers:
        """What is one instance's."""
        variables = instance.variables
        named = self._named.get(variables)
        if named is None:
            named = self._named[variables] = _Named(self._answers, variables)
        share = self._shares.get(instance.number)
        if share is None:
            return AnswersPart.of(named.fields, instance, 0, named.nothing)
        return AnswersPart.of(named.fields, instance, share[1], partial(named.cut, *share))


class _Named:
    """The answers of a template with the variables of some of its instances."""

    def __init__(self, answers: Answers, variables: tuple[str, ...]) -> None:
        whole = {field.name: getattr(answers, field.name) for field in fields(answers)}
        self._table = whole.pop("table")
        self.fields = {**whole, "variables": variables}
        self._variables = list(variables)
        self._none: pa.Table | None = None

    def cut(self, start: int, count: int) -> pa.Table:
        """So many rows from one on."""
        if not self._variables:
            return empty_mappings(count)
        return self._table.slice(start, count).rename_columns(self._variables)

    def nothing(self) -> pa.Table:
        """No rows."""
        if self._none is None:
            self._none = self.cut(0, 0)
        return self._none
