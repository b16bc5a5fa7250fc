"""How a key is declared, and which keys there were once."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sparkext.setting_types import ValueType

PREFIX = "spark.cqels."
# What keys of earlier versions set is no more; whoever still sets them is told so.
RETIRED = frozenset(
    PREFIX + tail
    for tail in (
        "calibration.enabled",
        "planCache.horizon",
        "planCache.margin",
        "planCache.size",
        "planCache.trials",
        "scanGrouping.enabled",
        "statistics.drift",
        "statistics.exactValues",
        "statistics.sampleRows",
    )
)
T = TypeVar("T")


@dataclass(frozen=True)
class Key:
    """One configuration key; `attribute` is the field of Settings that holds its value."""

    name: str
    attribute: str
    type: ValueType
    default: Any
    meaning: str
    since: str
    internal: bool


def declare(
    tail: str,
    type: ValueType,
    default: T,
    meaning: str,
    since: str = "0.1.0",
    internal: bool = False,
) -> T:
    """A field of Settings that holds the value of ``spark.cqels.`` and `tail`."""
    declared = {"tail": tail, "type": type, "meaning": meaning, "since": since}
    made: T = field(default=default, metadata={**declared, "internal": internal})
    return made


def nearest(name: str, known: Mapping[str, Key]) -> str:
    """A question whether the key of the nearest name was meant; empty where none is near."""
    lowered = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.0)
    return f"; did you mean {lowered[close[0]]}?" if close else ""
