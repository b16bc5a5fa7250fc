"""How a key is declared and listed, what it was called before, and which keys there were once."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sparkext.errors import ConfigurationError
from sparkext.setting_types import ValueType

logger = logging.getLogger(__name__)

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
    """One configuration key; `attribute` is the field of Settings that holds its value.

    `formerly` are the names that it had before: they are still read, with a warning.
    """

    name: str
    attribute: str
    type: ValueType
    default: Any
    meaning: str
    since: str
    internal: bool
    formerly: tuple[str, ...] = ()


def declare(
    tail: str,
    type: ValueType,
    default: T,
    meaning: str,
    since: str = "0.2.0",
    internal: bool = False,
    formerly: tuple[str, ...] = (),
) -> T:
    """A field of Settings that holds the value of ``spark.cqels.`` and `tail`; `formerly` are its earlier tails."""
    declared = {"tail": tail, "type": type, "meaning": meaning, "since": since}
    named = {"internal": internal, "formerly": formerly}
    made: T = field(default=default, metadata={**declared, **named})
    return made


def under_new_names(values: Mapping[str, str], known: Iterable[Key]) -> dict[str, str]:
    """The entries under the names that keys have now, with one warning in a process for each former name.

    Raises ConfigurationError where a key is set under two of its names, to different values.
    """
    found = dict(values)
    for key in known:
        former = [name for name in key.formerly if name in values]
        if not former:
            continue
        given = {name: str(found.pop(name)) for name in (*former, key.name) if name in values}
        (first, text), *others = given.items()
        for other, there in others:
            if not _same(key, text, there):
                raise ConfigurationError(
                    other,
                    f"{there!r}, but {first}, the same key, is {text!r}; set {key.name} only",
                )
        found[key.name] = text
        for name in former:
            if name not in _WARNED:
                _WARNED.add(name)
                logger.warning("%s is called %s now; the former name is still read", name, key.name)
    return found


def _same(key: Key, one: str, other: str) -> bool:
    try:
        return bool(key.type.read(one.strip()) == key.type.read(other.strip()))
    except ValueError:
        return one.strip() == other.strip()


def written_name(key: Key, values: Mapping[str, str]) -> str:
    """The name under which the entries set a key, for errors that speak of what was written."""
    return next((name for name in (key.name, *key.formerly) if name in values), key.name)


# A setting is read several times on its way to an engine; who set it needs to be told once.
_WARNED: set[str] = set()


def nearest(name: str, known: Mapping[str, Key]) -> str:
    """A question whether the key of the nearest name was meant; empty where none is near."""
    lowered = {old.lower(): key.name for key in known.values() for old in key.formerly}
    lowered |= {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.0)
    return f"; did you mean {lowered[close[0]]}?" if close else ""


def markdown_page(keys: Iterable[Key]) -> str:
    """The whole text of docs/configuration.md."""
    rows = [
        f"| `{key.name}`{_formerly(key)} | {key.type.name} | `{key.type.show(key.default)}`"
        f" | {key.meaning} | {key.since} |"
        for key in keys
        if not key.internal
    ]
    lines = [
        "# Configuration",
        "",
        "Keys are set like any other Spark setting: `SparkSession.builder.config(key, value)`",
        "before the session starts, `spark.conf.set(key, value)` before an engine is made,",
        "`--set key=value` on the command line. An unknown key, or a value of a wrong type, is an",
        "error that names the key. A duration is an xsd:dayTimeDuration (`PT30S`), a number with a",
        "unit (`250ms`, `30s`, `5min`, `2h`, `1d`), or a number of milliseconds.",
        "A name that a key had before is still read, with a warning; under two names, a key may not",
        "have two values.",
        "",
        "| key | type | default | meaning | since |",
        "| --- | --- | --- | --- | --- |",
        *rows,
        "",
        "This page is made by `python -m sparkext.config > docs/configuration.md`.",
    ]
    return "\n".join(lines) + "\n"


def _formerly(key: Key) -> str:
    """The key's former names in brackets; empty where it has none."""
    names = ", ".join(f"`{name.removeprefix(PREFIX)}`" for name in key.formerly)
    return f" (formerly {names})" if names else ""
