"""Rows of a table in memory, found by subject, by object, or by both."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from static_data.storage.row_edits import Pair

_CHUNK = 4096


class SortedPairs:
    """Pairs of ids (subject, object), distinct, given as two arrays of int64 in any order."""

    def __init__(self, subjects: np.ndarray, objects: np.ndarray) -> None:
        order = np.lexsort((objects, subjects))
        self._subjects = subjects[order]
        self._objects = objects[order]
        # By object, then subject: made when somebody asks for an object first.
        self._by_object: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, pairs: Collection[Pair]) -> SortedPairs:
        """The same of a collection of pairs."""
        cells = np.fromiter((i for pair in pairs for i in pair), np.int64, 2 * len(pairs))
        return cls(cells[::2], cells[1::2])

    def __len__(self) -> int:
        return len(self._subjects)

    def pairs(self, subject: int | None = None, object: int | None = None) -> Iterator[Pair]:
        """The pairs with these ids (None: any).

        >>> rows = SortedPairs.of([(1, 5), (2, 5), (1, 7)])
        >>> list(rows.pairs(subject=1)), list(rows.pairs(object=5)), list(rows.pairs(1, 6))
        ([(1, 5), (1, 7)], [(1, 5), (2, 5)], [])
        """
        if subject is None and object is not None:
            objects, subjects = self._sorted_by_object()
            begin, end = _range(objects, object)
            return _chunks(subjects[begin:end], objects[begin:end])
        subjects, objects = self._subjects, self._objects
        if subject is not None:
            begin, end = _range(subjects, subject)
            subjects, objects = subjects[begin:end], objects[begin:end]
            if object is not None:
                begin, end = _range(objects, object)
                subjects, objects = subjects[begin:end], objects[begin:end]
        return _chunks(subjects, objects)

    def _sorted_by_object(self) -> tuple[np.ndarray, np.ndarray]:
        if self._by_object is None:
            order = np.argsort(self._objects, kind="stable")
            self._by_object = self._objects[order], self._subjects[order]
        return self._by_object


def _range(ids: np.ndarray, wanted: int) -> tuple[int, int]:
    number = np.int64(wanted)
    return int(ids.searchsorted(number)), int(ids.searchsorted(number, "right"))


def _chunks(subjects: np.ndarray, objects: np.ndarray) -> Iterator[Pair]:
    for begin in range(0, len(subjects), _CHUNK):
        piece = slice(begin, begin + _CHUNK)
        yield from zip(subjects[piece].tolist(), objects[piece].tolist(), strict=True)
