"""The files that have the elements of a checkpoint: few, though there is a new one with each commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

_JOINED = 16  # files of one level become one of the next
_LARGEST = 64 << 20  # bytes of a file that is made of others, which are in memory meanwhile


@dataclass(frozen=True)
class SegmentFile:
    """A file of segments; `spans` are the first and last time of each stream's elements in it."""

    name: str
    level: int
    size: int
    spans: Mapping[str, tuple[int, int]]

    def is_needed(self, oldest: Mapping[str, int]) -> bool:
        """Whether it has elements of a time that still counts; `oldest` is that of each stream.

        >>> file = SegmentFile("elements-1", 0, 9, {"a": (1, 5), "b": (2, 8)})
        >>> file.is_needed({"a": 6, "b": 8}), file.is_needed({"a": 6, "b": 9})
        (True, False)
        """
        return any(last >= oldest.get(iri, last + 1) for iri, (_, last) in self.spans.items())


class SegmentFiles:
    """The files of a checkpoint's elements, in the order in which these came.

    >>> files = SegmentFiles()
    >>> for number in range(20):
    ...     files.add(f"e{number}", 1, {"s": [number, number]})
    ...     files.tidy({"s": 3}, lambda names: ("+".join(names), len(names)))
    >>> [file.name.count("e") for file in files.files]
    [16, 1]
    """

    def __init__(self, files: Iterable[Mapping[str, Any]] = ()) -> None:
        self.files = [
            SegmentFile(f["name"], f["level"], f["size"], _spans(f["spans"])) for f in files
        ]

    def add(self, name: str, size: int, spans: Mapping[str, Any]) -> None:
        """Take in the file of a segment that has just been written."""
        self.files.append(SegmentFile(name, 0, size, _spans(spans)))

    def tidy(self, oldest: Mapping[str, int], join: Callable[[list[str]], tuple[str, int]]) -> None:
        """Forget files that are not needed, and have `join` make one of several small ones."""
        self.files = [file for file in self.files if file.is_needed(oldest)]
        while (run := self._many()) is not None:
            first, last = run
            parts = self.files[first:last]
            name, size = join([part.name for part in parts])
            spans: dict[str, tuple[int, int]] = {}
            for part in parts:
                for iri, (low, high) in part.spans.items():
                    before = spans.get(iri, (low, high))
                    spans[iri] = (min(low, before[0]), max(high, before[1]))
            self.files[first:last] = [SegmentFile(name, parts[0].level + 1, size, spans)]

    def _many(self) -> tuple[int, int] | None:
        """Where so many files of one level stand side by side that they are to become one."""
        first = 0
        for place in range(1, len(self.files) + 1):
            if place == len(self.files) or self.files[place].level != self.files[first].level:
                for begin in range(first, place - _JOINED + 1):
                    end = begin + _JOINED
                    if sum(file.size for file in self.files[begin:end]) <= _LARGEST:
                        return begin, end
                first = place
        return None

    def described(self) -> list[dict[str, Any]]:
        """As plain data, from which another one is made."""
        return [asdict(file) for file in self.files]


def _spans(given: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    return {iri: (first, last) for iri, (first, last) in given.items()}
