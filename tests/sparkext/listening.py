"""Queries over one or two streams, and what is heard of their answers, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers


E = "http://e/"
S, T = f"{E}s", f"{E}t"
PROV_TIME = "http://www.w3.org/ns/prov#generatedAtTime"


def triple(subject: str, predicate: str, object_: str) -> str:
    return f"<{E}{subject}> <{E}{predicate}> <{E}{object_}> ."


def query(
    pattern: str, windows: str = "[RANGE 10]", select: str = "*", operator: str = "RSTREAM"
) -> str:
    """A query over window :w on stream :s; further windows of stream :t are :v."""
    first, _, second = windows.partition(" and ")
    declared = f"FROM NAMED WINDOW :w ON :s {first}\n"
    if second:
        declared += f"FROM NAMED WINDOW :v ON :t {second}\n"
    return (
        f"PREFIX : <{E}>\nREGISTER {operator} :q AS SELECT {select}\n{declared}"
        f"WHERE {{ {pattern} }}"
    )


@contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    """Engines made inside have these spark.cqels settings."""
    for key, value in values.items():
        spark.conf.set(f"spark.cqels.{key}", value)
    try:
        yield
    finally:
        for key in values:
            spark.conf.unset(f"spark.cqels.{key}")


def listen(engine: Engine, text: str, name: str | None = None) -> list[Answers]:
    """Register a query; the list fills with its answers."""
    heard: list[Answers] = []
    engine.register_query(text, name=name).subscribe(heard.append)
    return heard
