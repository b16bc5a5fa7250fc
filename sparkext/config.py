"""Every ``spark.cqels.*`` key, declared once: name, type, default, meaning, first version.

``python -m sparkext.config`` prints the table of docs/configuration.md from these declarations.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from sparkext.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "spark.cqels."
T = TypeVar("T")


@dataclass(frozen=True)
class ValueType:
    """How a value is read from text (`read`, raising ValueError) and shown again (`show`)."""

    name: str
    read: Callable[[str], Any]
    show: Callable[[Any], str] = str


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


def _read_boolean(text: str) -> bool:
    known = {"true": True, "false": False}
    if text.lower() not in known:
        raise ValueError("must be true or false")
    return known[text.lower()]


def _whole(low: int, high: int | None = None) -> ValueType:
    wanted = f"must be a whole number of at least {low}"
    if high is not None:
        wanted = f"must be a whole number from {low} to {high}"

    def read(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]+", text):
            raise ValueError(wanted)
        value = int(text)
        if value < low or (high is not None and value > high):
            raise ValueError(wanted)
        return value

    return ValueType("whole number", read)


def _read_factor(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or float(text) <= 0:
        raise ValueError("must be a number above 0")
    return float(text)


def _read_share(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or float(text) > 1:
        raise ValueError("must be a number from 0 to 1")
    return float(text)


_UNITS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?")


def read_duration(text: str) -> int:
    """Milliseconds of a duration: xsd:dayTimeDuration, a number with a unit, or milliseconds.

    >>> read_duration("PT1M30S"), read_duration("2 s"), read_duration("250")
    (90000, 2000, 250)
    """
    iso = _ISO_DURATION.fullmatch(text)
    if iso and any(iso.groups()) and not text.endswith("T"):
        days, hours, minutes, seconds, fraction = iso.groups(default="0")
        whole = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
        return whole * 1_000 + int(fraction.ljust(3, "0"))
    short = re.fullmatch(r"(\d+)\s*(ms|s|min|h|d)?", text)
    if short is None:
        raise ValueError("must be a duration, such as PT30S, 30s, 5min or 250 (milliseconds)")
    return int(short.group(1)) * _UNITS[short.group(2) or "ms"]


def show_duration(milliseconds: int) -> str:
    """The shortest spelling of a duration that `read_duration` reads.

    >>> show_duration(0), show_duration(90_000), show_duration(7_200_000)
    ('0', '90s', '2h')
    """
    if milliseconds == 0:
        return "0"
    for unit in ("d", "h", "min", "s"):
        if milliseconds % _UNITS[unit] == 0:
            return f"{milliseconds // _UNITS[unit]}{unit}"
    return f"{milliseconds}ms"


def _choice(*names: str) -> ValueType:
    shown = " or ".join(names) if len(names) < 3 else f"one of {', '.join(names)}"

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"must be {shown}")
        return text

    return ValueType(" or ".join(f"`{name}`" for name in names), read)


_BOOLEAN = ValueType("true or false", _read_boolean, lambda value: str(value).lower())
_FACTOR = ValueType("number", _read_factor, lambda value: f"{value:g}")
_SHARE = ValueType("number", _read_share, lambda value: f"{value:g}")
_DURATION = ValueType("duration", read_duration, show_duration)


def _key(
    tail: str,
    type: ValueType,
    default: T,
    meaning: str,
    since: str = "0.1.0",
    internal: bool = False,
) -> T:
    declared = {"tail": tail, "type": type, "meaning": meaning, "since": since}
    made: T = field(default=default, metadata={**declared, "internal": internal})
    return made


@dataclass(frozen=True)
class Settings:
    """The values of all keys, checked and typed; durations are milliseconds.

    >>> Settings.from_mapping({"spark.cqels.allowedLateness": "PT5S"}).allowed_lateness
    5000
    >>> Settings.from_mapping({"spark.cqels.semantic": "rspql"})
    Traceback (most recent call last):
    ...
    sparkext.errors.ConfigurationError: spark.cqels.semantic: ...
    """

    enabled: bool = _key(
        "enabled",
        _BOOLEAN,
        True,
        "Run registered queries on prepared plans. When false, every evaluation is planned and run"
        " by stock Spark, with the same answers.",
    )
    adaptive_enabled: bool = _key(
        "adaptive.enabled",
        _BOOLEAN,
        True,
        "Choose the join order by cost, and change it when the streams change. When false, patterns"
        " are joined in the order in which the query writes them, static parts pre-joined as far as"
        " `prejoin.*` allows.",
    )
    calibration_enabled: bool = _key(
        "calibration.enabled",
        _BOOLEAN,
        True,
        "Measure on this machine what scans, look-ups and joins cost, when the first query is"
        " registered; the result is kept in the user's cache. When false, built-in constants are used.",
    )
    plan_cache_size: int = _key(
        "planCache.size",
        _whole(1),
        16,
        "How many join orders of a query stay prepared; the least recently used one goes.",
    )
    plan_cache_horizon: int = _key(
        "planCache.horizon",
        _whole(1),
        200,
        "The most evaluations over which the saving of another join order is counted.",
    )
    plan_cache_margin: float = _key(
        "planCache.margin",
        _SHARE,
        0.05,
        "A saving of a smaller share of an evaluation's cost is taken for noise.",
    )
    statistics_enabled: bool = _key(
        "statistics.enabled",
        _BOOLEAN,
        True,
        "Use counts of the static data, and measure windows before each evaluation so that the join"
        " order can follow them. When false, the order is chosen once, by heuristics H1 and H2, and"
        " nothing is pre-joined.",
    )
    heuristics_h1_enabled: bool = _key(
        "heuristics.h1.enabled",
        _BOOLEAN,
        True,
        "H1: where there are no statistics yet, a triple pattern is taken to be the more selective"
        " the more of its positions are bound.",
    )
    heuristics_h2_enabled: bool = _key(
        "heuristics.h2.enabled",
        _BOOLEAN,
        True,
        "H2: where there are no statistics, a pattern over one graph is taken to be more selective"
        " than one over all graphs.",
    )
    heuristics_h3_enabled: bool = _key(
        "heuristics.h3.enabled",
        _BOOLEAN,
        True,
        "H3: apply a filter as early as its variables are bound. When false, filters of a group are"
        " applied after all its joins.",
    )
    statistics_sample_rows: int = _key(
        "statistics.sampleRows",
        _whole(1),
        100,
        "How many rows of a window are looked up in a static relation to estimate their join.",
    )
    statistics_exact_values: int = _key(
        "statistics.exactValues",
        _whole(0),
        1024,
        "Up to so many different values of a column, a window counts each exactly; beyond, by"
        " sketches of fixed size.",
    )
    statistics_drift: float = _key(
        "statistics.drift",
        _FACTOR,
        1.3,
        "Measures that have changed by less than this factor are no reason to look at the order again.",
    )
    prejoin_enabled: bool = _key(
        "prejoin.enabled",
        _BOOLEAN,
        True,
        "Join the parts of a query that touch static graphs only once, when it is registered.",
    )
    prejoin_max_rows: int = _key(
        "prejoin.maxRows",
        _whole(0),
        40_000_000,
        "A static sub-pattern whose estimated number of rows is larger is not pre-joined.",
    )
    prejoin_max_growth: float = _key(
        "prejoin.maxGrowth",
        _FACTOR,
        3.0,
        "A static sub-pattern is not pre-joined when its estimated number of rows exceeds those of"
        " all its tables together by more than this factor (up to 100,000 rows it always is).",
    )
    driver_execution_enabled: bool = _key(
        "driverExecution.enabled",
        _BOOLEAN,
        True,
        "Run small evaluations on the driver instead of launching a Spark job.",
    )
    driver_execution_max_rows: int = _key(
        "driverExecution.maxRows",
        _whole(0),
        1_000_000,
        "An evaluation runs on the driver when no step of its plan is estimated to have more rows.",
    )
    driver_execution_threads: int = _key(
        "driverExecution.threads",
        _whole(0),
        0,
        "How many threads of the driver may work on one evaluation; 0 is as many as Spark runs tasks"
        " at a time. A small evaluation stays on one.",
    )
    sql_max_static_rows: int = _key(
        "sql.maxStaticRows",
        _whole(0),
        20_000_000,
        "A static part of a prepared Spark SQL query with more rows is not kept in memory: Spark jobs"
        " read it at each run.",
    )
    sql_plan_timeout: int = _key(
        "sql.planTimeout",
        _DURATION,
        2_000,
        "How long Spark's optimizer waits for a join order for an ordinary query over live views;"
        " after that the joins stay as Spark orders them.",
    )
    sharing_enabled: bool = _key(
        "sharing.enabled",
        _BOOLEAN,
        True,
        "Share windows, indexes and pre-joins between queries that have the same ones.",
    )
    semantics: str = _key(
        "semantics",
        _choice("rspql"),
        "rspql",
        "Profile of window bounds, reports and evaluation instants.",
    )
    allowed_lateness: int = _key(
        "allowedLateness",
        _DURATION,
        0,
        "How far an element's time may lie behind the newest one of its stream; later ones are"
        " counted and reported, not answered.",
    )
    idle_timeout: int = _key(
        "idleTimeout",
        _DURATION,
        0,
        "A stream that is silent for this long no longer holds back the others; 0 means that every"
        " stream is waited for.",
    )
    dictionary_hash_bits: int = _key(
        "dictionary.hashBits",
        _whole(1, 58),
        58,
        "Width of the hash in a term id; a small one forces collisions in tests.",
        internal=True,
    )

    @classmethod
    def from_mapping(cls, values: Mapping[str, str]) -> Settings:
        """Settings from configuration entries; those outside ``spark.cqels.`` are ignored.

        Raises ConfigurationError for a key that does not exist and for a value of a wrong type.
        """
        known = {key.name: key for key in keys()}
        read: dict[str, Any] = {}
        for name in sorted(name for name in values if name.startswith(PREFIX)):
            if name not in known:
                raise ConfigurationError(name, f"there is no such key{_nearest(name, known)}")
            text = str(values[name]).strip()
            try:
                read[known[name].attribute] = known[name].type.read(text)
            except ValueError as error:
                raise ConfigurationError(name, f"{error}, not {text!r}") from None
        return cls(**read)

    @classmethod
    def from_session(cls, spark: SparkSession) -> Settings:
        """Settings from what `spark` was started with and what ``spark.conf.set`` has changed."""
        launched = dict(spark.sparkContext.getConf().getAll())
        return cls.from_mapping({**launched, **spark.conf.getAll})


def keys() -> list[Key]:
    """All keys in the order of their declaration."""
    return [
        Key(
            PREFIX + declared.metadata["tail"],
            declared.name,
            declared.metadata["type"],
            declared.default,
            declared.metadata["meaning"],
            declared.metadata["since"],
            declared.metadata["internal"],
        )
        for declared in fields(Settings)
    ]


def _nearest(name: str, known: Mapping[str, Key]) -> str:
    lowered = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.0)
    return f"; did you mean {lowered[close[0]]}?" if close else ""


def markdown_page() -> str:
    """The whole text of docs/configuration.md."""
    rows = [
        f"| `{key.name}` | {key.type.name} | `{key.type.show(key.default)}`"
        f" | {key.meaning} | {key.since} |"
        for key in keys()
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
        "",
        "| key | type | default | meaning | since |",
        "| --- | --- | --- | --- | --- |",
        *rows,
        "",
        "This page is made by `python -m sparkext.config > docs/configuration.md`.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(markdown_page())
