"""A template: many registered queries that differ in constants only, evaluated as one."""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa

from sparkext.runtime.answering.answers import Answers
from sparkext.runtime.answering.answers_file import empty_mappings
from sparkext.runtime.queries.template_instances import Shares, TemplateInstances, take_shares
from sparkext.runtime.registered_query import RegisteredQuery


class Member(Protocol):
    """An instance: `answered` counts its answers."""

    name: str
    number: int
    variables: tuple[str, ...]
    answered: int

    def take(self, answers: Answers) -> None:
        """Tell whoever listens of its answers at an instant."""


class TemplateQuery(RegisteredQuery):
    """The query that answers all instances of a template; its own answers are theirs, one after the other."""

    def __init__(self, *arguments: Any) -> None:
        self._members: dict[int, Member] = {}
        self._listening: dict[int, Member] = {}
        self._shares: Shares = {}
        super().__init__(*arguments)

    @property
    def _relation(self) -> TemplateInstances:
        assert self._instances is not None
        return self._instances

    # -- instances ----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._members)

    def add(self, instance: Member) -> None:
        """Answer an instance from the next evaluation on; the relation of instances has it."""
        self._members[instance.number] = instance
        self._changed()

    def remove(self, instance: Member) -> None:
        """Answer an instance no more."""
        if self._members.pop(instance.number, None) is not None:
            self._listening.pop(instance.number, None)
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

    def run(self, bounds: str, instant: int = 0) -> tuple[pa.Table, dict[str, Any]]:
        """As there; whose the answers are is known afterwards."""
        if self._relation.settle():
            self._jvm.instancesChanged()
        table, outcome = super().run(bounds, instant)
        self._shares = take_shares(outcome)
        return table, outcome

    def _tell(self, answers: Answers) -> None:
        super()._tell(answers)
        for number, (_, count) in self._shares.items():
            self._members[number].answered += count
        parts = _Parts(answers, self._shares)
        for number in list(self._listening):
            instance = self._listening.get(number)  # None: another's subscriber has ended it
            if instance is not None:
                instance.take(parts.of(instance))

    def answers_of(self, instance: Member) -> Answers | None:
        """What the last evaluation answered to an instance that was there; None before one."""
        return None if self._last is None else _Parts(self._last, self._shares).of(instance)


class _Parts:
    """The answers of an evaluation, in the columns and rows of each instance."""

    def __init__(self, answers: Answers, shares: Shares) -> None:
        self._answers = answers
        self._shares = shares
        self._tables: dict[tuple[str, ...], tuple[pa.Table, pa.Table]] = {}

    def of(self, instance: Member) -> Answers:
        """What is one instance's."""
        whole, variables, share = (
            self._answers,
            instance.variables,
            self._shares.get(instance.number),
        )
        if not variables:
            table = empty_mappings(0 if share is None else share[1])
        else:
            if variables not in self._tables:
                named = whole.table.rename_columns(list(variables))
                self._tables[variables] = (named, named.slice(0, 0))
            named, none = self._tables[variables]
            table = none if share is None else named.slice(*share)
        return Answers(
            instance.name, whole.time, variables, table, whole.ordered, whole.seconds, whole.form
        )
