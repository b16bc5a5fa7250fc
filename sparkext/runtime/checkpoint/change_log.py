"""The changes of static graphs since an engine began: its static data are loaded anew, and changed again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

_BLANK = re.compile(r"(^|\s)_:", re.MULTILINE)
_MANY = 32  # changes of one graph become few


@dataclass(frozen=True)
class LoggedChange:
    """A change as it was read: canonical N-Triples `texts`, or `files` to be loaded, as `on_error` has it.

    `at` is its time, None for at once; `turn` how many evaluations there had been when it was made, None while it
    waits for its time.
    """

    kind: str
    graph: str | None
    texts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    on_error: str = "fail"
    at: int | None = None
    turn: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it can be told from others what is left of it: triples without blank nodes."""
        edits = self.kind in ("insert", "remove") and not self.files
        return edits and not any(map(_BLANK.search, self.texts))


class ChangeLog:
    """The changes in the order in which they were made, without those of which nothing is left; then those that wait.

    >>> log = ChangeLog()
    >>> _ = log.add(LoggedChange("insert", None, ("<a> <b> <c> .",), turn=1))
    >>> _ = log.add(LoggedChange("replace", None, ("<a> <b> <d> .",), turn=2))
    >>> [change["kind"] for change in log.described()]
    ['replace']
    """

    def __init__(self, changes: Iterable[Mapping[str, Any]] = ()) -> None:
        self.made: list[LoggedChange] = []
        self.waiting: dict[int, LoggedChange] = {}
        self.changed = False
        self._number = 0
        for given in changes:
            change = LoggedChange(**given)
            self.add(replace(change, texts=tuple(change.texts), files=tuple(change.files)))

    def add(self, change: LoggedChange) -> int:
        """Note a change that is made, or waits to be; its number."""
        self._number += 1
        self.changed = True
        if change.turn is None:
            self.waiting[self._number] = change
        else:
            self._make(change)
        return self._number

    def came(self, number: int, turn: int) -> None:
        """Note that a change that waited was made."""
        change = self.waiting.pop(number, None)
        if change is not None:
            self.changed = True
            self._make(replace(change, turn=turn))

    def _make(self, change: LoggedChange) -> None:
        if change.kind == "replace":
            self.made = [other for other in self.made if other.graph != change.graph]
        self.made.append(change)

    def described(self, settled: int = 0) -> list[dict[str, Any]]:
        """As plain data; changes of before so many evaluations may be told together, as nothing asks for what was
        between them."""
        for graph in {change.graph for change in self.made}:
            self._join(graph, settled)
        self.changed = False
        return [asdict(change) for change in (*self.made, *self.waiting.values())]

    def _join(self, graph: str | None, settled: int) -> None:
        mine = [change for change in self.made if change.graph == graph]
        last: list[LoggedChange] = []
        for change in mine:
            turn = change.turn or 0
            if change.is_plain and turn < settled:
                last.append(change)
            elif turn < settled:
                last = []  # what it does may depend on those before it
        if len(last) < _MANY:
            return
        lines: dict[str, str] = {}
        for change in last:
            for text in change.texts:
                lines.update((line, change.kind) for line in text.split("\n") if line.strip())
        newest = last[-1].turn
        joined = [
            LoggedChange(
                kind,
                graph,
                ("".join(f"{line}\n" for line, k in lines.items() if k == kind),),
                turn=newest,
            )
            for kind in ("insert", "remove")
            if kind in lines.values()
        ]
        place = next(n for n, change in enumerate(self.made) if change is last[-1])
        gone = set(map(id, last))
        before = [change for change in self.made[:place] if id(change) not in gone]
        self.made = [*before, *joined, *self.made[place + 1 :]]
