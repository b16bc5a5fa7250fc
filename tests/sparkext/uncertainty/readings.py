"""Streams of uncertain readings as the uncertainty paper's listings have them, and queries run over them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sparkext.recorded_streams import StreamElement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.registered_query import RegisteredQuery

E = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
RSPU = "http://w3id.org/rsp/rspu#"
PREFIXES = f"PREFIX : <{E}> PREFIX rspu: <{RSPU}>\n"


@contextmanager
def engine_with(spark: SparkSession, **settings: str) -> Iterator[Engine]:
    """An engine with these settings, "__" for the points in their names; closed in the end."""
    from sparkext import Engine

    keys = {f"spark.cqels.{name.replace('__', '.')}": value for name, value in settings.items()}
    for key, value in keys.items():
        spark.conf.set(key, value)
    try:
        engine = Engine(spark)
    finally:
        for key in keys:
            spark.conf.unset(key)
    try:
        yield engine
    finally:
        engine.close()


def oxygen(name: str, place: str, level: str, seconds: int, error: str) -> StreamElement:
    """An annotated reading of oxygen at a place."""
    stated = f'<{E}{name}> <{E}oxygen> "{level}"^^<{XSD}decimal>'
    return StreamElement(
        seconds * 1000,
        f"<{E}g-{name}>",
        (
            f"{stated} .",
            f'<< {stated} >> <{RSPU}uncertainty> "{error}"^^<{RSPU}distribution> .',
            f"<{E}{name}> <{E}at> <{E}{place}> .",
        ),
        None,
        (),
    )


def temperature(name: str, place: str, degrees: int, seconds: int) -> StreamElement:
    """A reading of the temperature at a place."""
    return StreamElement(
        seconds * 1000,
        f"<{E}g-{name}>",
        (
            f'<{E}{name}> <{E}temperature> "{degrees}"^^<{XSD}integer> .',
            f"<{E}{name}> <{E}at> <{E}{place}> .",
        ),
        None,
        (),
    )


def run(
    engine: Engine, text: str, streams: Mapping[str, Sequence[StreamElement]]
) -> tuple[dict[int, list[str]], RegisteredQuery]:
    """Register a query, push everything, end the streams; the answers by instant in seconds, and the stopped query.

    An answer is a line of the terms' local parts, in the order of the projection, "-" where unbound.
    """
    for stream in streams:
        engine.register_stream(E + stream)
    query = engine.register_query(PREFIXES + text)
    told: dict[int, list[str]] = {}
    query.subscribe(
        lambda answers: told.__setitem__(
            answers.time // 1000, sorted(" ".join(map(local, row)) for row in answers.rows())
        )
    )
    for stream, elements in streams.items():
        engine.stream(E + stream).push_elements(elements)
    engine.finish()
    assert query.progress.failures == 0
    query.stop()
    return told, query


def local(term: str | None) -> str:
    """The part of a term that tests look at."""
    if term is None:
        return "-"
    return re.sub(r'^<.*/([^/>]*)>$|^"(.*)".*$', r"\1\2", term)
