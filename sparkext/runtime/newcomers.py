"""Instances that come to a template while its streams run: each is answered from when it would be by itself."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from sparkext.s2r.instants import InstantScheduler

Begin = Callable[[], object]
"""Has an instance be answered from now on."""


@dataclass
class _Group:
    """Those that came between the same arrivals, by their number; `scheduler` is one that began then."""

    scheduler: InstantScheduler
    begin: dict[int, Begin] = field(default_factory=dict)


class Newcomers:
    """The instances that are not answered yet, in groups of those that came between the same arrivals.

    What arrived before a query is no reason to evaluate it, so its first instant may be after the next one of its
    template.
    """

    def __init__(self) -> None:
        self._groups: dict[Hashable, _Group] = {}

    def add(
        self,
        number: int,
        begin: Begin,
        arrived: Hashable,
        scheduler: Callable[[], InstantScheduler],
    ) -> None:
        """Wait with an instance; `arrived` tells what has come so far, `scheduler` makes one that begins now."""
        group = self._groups.get(arrived)
        if group is None:
            group = self._groups[arrived] = _Group(scheduler())
        group.begin[number] = begin

    def remove(self, number: int) -> None:
        """Wait with an instance no more."""
        for group in self._groups.values():
            group.begin.pop(number, None)

    def begin(self, instant: int) -> bool:
        """Begin with those whose first instant has come; whether there are some."""
        come = [key for key, group in self._groups.items() if _is_due(group.scheduler, instant)]
        begun = [begin for key in come for begin in self._groups.pop(key).begin.values()]
        for begin in begun:
            begin()
        return bool(begun)


def _is_due(scheduler: InstantScheduler, instant: int) -> bool:
    first = scheduler.next_due()
    return first is not None and first <= instant
