"""Every ``spark.cqels.*`` key, declared once: name, type, default, meaning, first version.

``python -m sparkext.config`` prints the table of docs/configuration.md from these declarations.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from sparkext.errors import ConfigurationError
from sparkext.s2r.profiles import PROFILES
from sparkext.setting_keys import (
    PREFIX,
    RETIRED,
    Key,
    declare,
    markdown_page,
    nearest,
    under_new_names,
    written_name,
)
from sparkext.setting_types import BOOLEAN, FACTOR, INSTANT, choice, whole_number
from sparkext.settings.input_settings import InputSettings
from sparkext.settings.limit_settings import LimitSettings
from sparkext.settings.restart_settings import RestartSettings
from sparkext.settings.spark_sql_settings import SparkSqlSettings
from sparkext.settings.stream_settings import StreamSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

# Numbers of things that the JVM counts in 32 bits.
_MOST = (1 << 31) - 1


@dataclass(frozen=True)
class Settings(RestartSettings, SparkSqlSettings, StreamSettings, LimitSettings, InputSettings):
    """The values of all keys, checked and typed; durations are milliseconds.

    >>> Settings.from_mapping({"spark.cqels.allowedLateness": "PT5S"}).allowed_lateness
    5000
    >>> Settings.from_mapping({"spark.cqels.semantic": "rspql"})
    Traceback (most recent call last):
    ...
    sparkext.errors.ConfigurationError: spark.cqels.semantic: ...
    """

    enabled: bool = declare(
        "enabled",
        BOOLEAN,
        True,
        "Run registered queries on prepared plans. When false, every evaluation is planned and run"
        " by stock Spark, with the same answers.",
    )
    adaptive_enabled: bool = declare(
        "adaptive.enabled",
        BOOLEAN,
        True,
        "Choose the join order by cost, and change it when the streams change. When false, patterns"
        " are joined in the order in which the query writes them, static parts pre-joined as far as"
        " `prejoin.*` allows.",
    )
    multiway_join_enabled: bool = declare(
        "multiwayJoin.enabled",
        BOOLEAN,
        True,
        "Join the patterns of a group by one operator, in which the order is data and may change while it runs. When"
        " false, they are joined by a chain of Spark's joins, in one order: what benchmarks compare with.",
        internal=True,
        formerly=("clusterJoin.enabled",),
    )
    star_patterns_enabled: bool = declare(
        "starPatterns.enabled",
        BOOLEAN,
        True,
        "Find patterns with one subject over a mapped row together. When false, they are joined, as for benchmarks.",
        internal=True,
    )
    multiway_join_broadcast_rows: int = declare(
        "multiwayJoin.broadcastRows",
        whole_number(1),
        20_000_000,
        "Where executors are other processes, a job sends a relation of at most so many rows to each of them as a"
        " whole. A larger one stays in parts, each on one executor, and rows of the join go to the part that can have"
        " others for them.",
        formerly=("clusterJoin.broadcastRows",),
    )
    statistics_enabled: bool = declare(
        "statistics.enabled",
        BOOLEAN,
        True,
        "Use counts of the static data and of what windows hold, so that the join order can follow them. When"
        " false, the order is chosen once, by heuristics H1 and H2, and nothing is pre-joined.",
    )
    heuristics_h1_enabled: bool = declare(
        "heuristics.h1.enabled",
        BOOLEAN,
        True,
        "H1: where there are no statistics yet, a triple pattern is taken to be the more selective"
        " the more of its positions are bound.",
    )
    heuristics_h2_enabled: bool = declare(
        "heuristics.h2.enabled",
        BOOLEAN,
        True,
        "H2: where there are no statistics, a pattern over one graph is taken to be more selective"
        " than one over all graphs.",
    )
    heuristics_h3_enabled: bool = declare(
        "heuristics.h3.enabled",
        BOOLEAN,
        True,
        "H3: apply a filter as early as its variables are bound, also inside the branches of UNION,"
        " OPTIONAL and sub-selects. When false, no filter is moved into another group, and those of a group wait for"
        " all of its joins; `predicatePlacement` counts for nothing.",
    )
    heuristics_h4_enabled: bool = declare(
        "heuristics.h4.enabled",
        BOOLEAN,
        False,
        "H4: apply filters that call an uncertainty function after all joins of their group; for those it stands above"
        " H3 and `predicatePlacement`.",
    )
    window_copies_enabled: bool = declare(
        "windowCopies.enabled",
        BOOLEAN,
        True,
        "Copy those rows of a window side by side that an OPTIONAL, MINUS or EXISTS looks up again and again in one"
        " evaluation.",
    )
    predicate_placement: Literal["early", "late", "cost"] = declare(
        "predicatePlacement",
        choice("early", "late", "cost"),
        "cost",
        "Where filters that call an uncertainty function are applied, and lazy variables computed: as soon as their"
        " variables are bound (H3), after all joins of their group (H4), or where it is estimated to cost least.",
        formerly=("filterPlacement",),
    )
    lazy_variables_enabled: bool = declare(
        "lazyVariables.enabled",
        BOOLEAN,
        True,
        "Compute a variable that BIND gives the value of an uncertainty function only if it is read, and where"
        " `predicatePlacement` has it among the joins around the BIND; when false, where it is written.",
    )
    function_cache_enabled: bool = declare(
        "functionCache.enabled",
        BOOLEAN,
        True,
        "Make a call of an uncertainty function with the same arguments once in an evaluation, where looking it up"
        " pays (`functionCache.calls`).",
    )
    function_cache_calls: Literal["paying", "all"] = declare(
        "functionCache.calls",
        choice("paying", "all"),
        "paying",
        "Which calls the function cache is asked for: those of functions that, as measured, cost more than asking does;"
        " or all.",
    )
    function_cache_size: int = declare(
        "functionCache.size",
        whole_number(1, _MOST),
        100_000,
        "The most calls whose values are kept. Values and arguments that hold many numbers, or long"
        " texts, count for several.",
    )
    function_cache_across_evaluations: bool = declare(
        "functionCache.acrossEvaluations",
        BOOLEAN,
        False,
        "Keep the values of calls for later evaluations, too.",
    )
    function_burden: int = declare(
        "functionBurden",
        whole_number(0),
        0,
        "Nanoseconds that every call of an uncertainty function takes longer; for experiments with expensive ones.",
        internal=True,
    )
    delta_evaluation_enabled: bool = declare(
        "deltaEvaluation.enabled",
        BOOLEAN,
        True,
        "Find the new answers of a monotone ISTREAM query from what arrived, not by evaluating each"
        " instant as a whole. When false, the same answers take work that grows with the windows.",
    )
    prejoin_enabled: bool = declare(
        "prejoin.enabled",
        BOOLEAN,
        True,
        "Join the parts of a query that touch static graphs only once, when it is registered.",
    )
    prejoin_max_rows: int = declare(
        "prejoin.maxRows",
        whole_number(0),
        500_000,
        "A static sub-pattern whose estimated number of rows is larger is not pre-joined (up to 100,000 rows it"
        " always is). Making a million rows takes some 2 to 5 s, before the first answer.",
    )
    prejoin_max_growth: float = declare(
        "prejoin.maxGrowth",
        FACTOR,
        3.0,
        "A static sub-pattern is not pre-joined when its estimated number of rows exceeds those of"
        " all its tables together by more than this factor (up to 100,000 rows it always is).",
    )
    driver_execution_enabled: bool = declare(
        "driverExecution.enabled",
        BOOLEAN,
        True,
        "Run small evaluations on the driver instead of launching a Spark job; delta evaluation needs it.",
    )
    driver_execution_max_rows: int = declare(
        "driverExecution.maxRows",
        whole_number(0),
        1_000_000,
        "An evaluation runs on the driver only when no step of its plan is estimated to have more rows (a"
        " prepared Spark SQL query: when it reads no more), and a job would not be sooner; what is kept of static data,"
        " such as pre-joins, is made there when these are no more triples.",
    )
    driver_execution_threads: int = declare(
        "driverExecution.threads",
        whole_number(0, 1024),
        0,
        "How many threads of the driver may work on one evaluation; 0 is as many as Spark runs tasks"
        " at a time. A small evaluation stays on one. Unless it is 1, queries that are due at one instant are evaluated"
        " side by side.",
    )
    sharing_enabled: bool = declare(
        "sharing.enabled",
        BOOLEAN,
        True,
        "Share windows, indexes and pre-joins between queries that have the same ones, and evaluate queries that"
        " differ in constants only together.",
    )
    load_driver_max_bytes: int = declare(
        "load.driverMaxBytes",
        whole_number(0),
        8 << 20,
        "Static files that are no larger together (packed ones count twenty times) are read on the driver, without a"
        " Spark job, and up to 131,072 triples stay in its memory until they are saved; 0 gives all loading to Spark.",
    )
    mapped_indexes_min_rows: int = declare(
        "mappedIndexes.minRows",
        whole_number(0),
        131_072,
        "A static table of so many rows, loaded from files or opened, is looked up in index files that are mapped into"
        " memory: they may be larger than memory, are saved with the store and take no heap. Smaller ones are read"
        " into memory.",
    )
    class_archive: bool = declare(
        "classArchive",
        BOOLEAN,
        True,
        "Read at the start of Java only: keep an archive of the classes that Spark loads in the user's cache folder"
        " (about 160 MB, written in the background when the first process with an engine has ended), with which later"
        " starts take about half the time. Executors do not use it.",
    )
    rdf: str = declare(
        "rdf",
        choice("star", "1.2"),
        "star",
        "What `<< s p o >>` means, in queries, files and streams: the quoted triple itself (RDF-star), or a node"
        " that reifies it (RDF 1.2).",
    )
    semantics: str = declare(
        "semantics",
        choice(*PROFILES),
        "rspql",
        "Profile: which windows, datasets, report policies and streaming operators queries have"
        " (docs/semantics.md).",
    )
    starting_at: int = declare(
        "startingAt",
        INSTANT,
        0,
        "t0 of windows with STEP for which the query gives none, and of COMPUTED EVERY without such"
        " a window.",
    )
    window_bounds: str = declare(
        "windowBounds",
        choice("open-closed", "closed-open"),
        "open-closed",
        "Whether windows with STEP leave out their opening and hold their closing instant, or the"
        " other way round. In profile `rspqlstar` they are always closed-open.",
    )
    filter_scope: str = declare(
        "filterScope",
        choice("standard", "lift"),
        "standard",
        "A filter inside WINDOW or GRAPH that reads a variable bound only outside never holds in SPARQL, and a BIND"
        " there leaves its variable unbound; both are warned of. With `lift` they are moved to the nearest group"
        " around them that binds the variables.",
    )
    duplicates: str = declare(
        "duplicates",
        choice("set", "bag"),
        "set",
        "Whether a triple that several elements of a window hold is one triple, as in an RDF graph, or"
        " counts as often (RSP-QL's counters; ISTREAM and DSTREAM are differences of bags then).",
    )
    dictionary_hash_bits: int = declare(
        "dictionary.hashBits",
        whole_number(1, 58),
        58,
        "Width of the hash in a term id; a small one forces collisions in tests.",
        internal=True,
    )

    @classmethod
    def from_mapping(cls, values: Mapping[str, str]) -> Settings:
        """Settings from configuration entries; those outside ``spark.cqels.`` are ignored, with a warning those
        that had a meaning once. Former names of keys are read, with a warning.

        Raises ConfigurationError for a key that does not exist, for a value of a wrong type, and for one that is set
        to different values under its names.
        """
        known = {key.name: key for key in keys()}
        named = under_new_names(values, known.values())
        read: dict[str, Any] = {}
        for name in sorted(name for name in named if name.startswith(PREFIX)):
            if name in RETIRED:
                logger.warning("%s has no effect any more; see the CHANGELOG", name)
                continue
            if name not in known:
                raise ConfigurationError(name, f"there is no such key{nearest(name, known)}")
            text = str(named[name]).strip()
            try:
                read[known[name].attribute] = known[name].type.read(text)
            except ValueError as error:
                written = written_name(known[name], values)
                raise ConfigurationError(written, f"{error}, not {text!r}") from None
        return cls(**read)

    @classmethod
    def from_session(cls, spark: SparkSession) -> Settings:
        """Settings from what `spark` was started with and what ``spark.conf.set`` has changed."""
        # PySpark fetches entry by entry, a name and a value at a time: half of what an engine's start would take.
        context, session = spark.sparkContext._jsc, spark._jsparkSession
        launched = {PREFIX + e._1(): e._2() for e in context.getConf().getAllWithPrefix(PREFIX)}
        names = session.conf().getAll().keys().mkString("\n").split("\n")
        changed = {name: str(spark.conf.get(name)) for name in names if name.startswith(PREFIX)}
        return cls.from_mapping({**launched, **changed})


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
            tuple(PREFIX + tail for tail in declared.metadata["formerly"]),
        )
        for declared in fields(Settings)
    ]


def names_of(attribute: str) -> tuple[str, ...]:
    """The names of the key of a field of Settings: the one of now, then the former ones."""
    return next((key.name, *key.formerly) for key in keys() if key.attribute == attribute)


if __name__ == "__main__":
    sys.stdout.write(markdown_page(keys()))
