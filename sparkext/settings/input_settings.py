"""The ``spark.cqels.*`` keys of limits that input which nobody vouches for may run into (docs/security.md)."""

from __future__ import annotations

from dataclasses import dataclass

from sparkext.setting_keys import declare
from sparkext.setting_types import FACTOR
from static_data.limits.expansion import MOST_EXPANSION


@dataclass(frozen=True)
class InputSettings:
    """The values of these keys, checked and typed."""

    load_max_expansion: float = declare(
        "load.maxExpansion",
        FACTOR,
        MOST_EXPANSION,
        "A packed file, static or of a recorded stream, that unpacks to more than 64 MiB and so many times its size is"
        " refused: few bytes may stand for endless ones.",
    )
