"""How many bytes a packed file may unpack to: a small file that stands for endless ones is stopped on its way."""

from __future__ import annotations

from typing import Final

MOST_EXPANSION: Final = 250.0
"""How many times as many bytes as were read may come out of a packed file, unless said otherwise."""

FREE_BYTES: Final = 64 << 20
"""So many bytes may come out of any file."""

KEY: Final = "spark.cqels.load.maxExpansion"


class ExpansionError(ValueError):
    """A packed file that unpacks to more than is allowed."""

    def __init__(self, most: float) -> None:
        super().__init__(
            f"it unpacks to more than {FREE_BYTES >> 20} MiB and {most:g} times its size;"
            f" if it is sound, raise {KEY}"
        )


def check_expansion(packed: int, unpacked: int, most: float) -> None:
    """Raise ExpansionError where so many unpacked bytes are too many for so many packed ones.

    >>> check_expansion(1000, 250_000, 250.0)
    >>> check_expansion(1000, 100 << 20, 250.0)
    Traceback (most recent call last):
    static_data.limits.expansion.ExpansionError: it unpacks to more than 64 MiB and 250 times its size; ...
    """
    if unpacked > FREE_BYTES and unpacked > most * packed:
        raise ExpansionError(most)
