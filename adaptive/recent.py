"""A mapping that forgets: of more entries than it may hold, the one that was kept longest ago goes."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V]):
    """At most `most` entries, the one kept last standing last; entries are to be added by `keep` alone.

    >>> recent = Recent[str, int](2)
    >>> for name, number in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
    ...     _ = recent.keep(name, number)
    >>> recent
    {'a': 3, 'c': 4}
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: K, value: V) -> V:
        """Have an entry, new or not, stand last; returns its value."""
        self.pop(key, None)
        self[key] = value
        if len(self) > self._most:
            del self[next(iter(self))]
        return value
