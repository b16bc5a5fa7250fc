"""What may be pushed into a stream, and what becomes of what may not: times, texts, terms."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import StreamElementError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answers import Answers

E = "http://e/"
S = f"{E}s"
TRIPLE = (f"{E}a", f"{E}p", f"{E}o")
QUERY = f"""
PREFIX : <{E}>
REGISTER RSTREAM :q AS SELECT ?o FROM NAMED WINDOW :w ON :s [RANGE 10] WHERE {{ WINDOW :w {{ ?s :p ?o }} }}
"""


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    from sparkext import Engine

    made = Engine(spark)
    made.register_stream(S)
    yield made
    made.close()


def listen(engine: Engine) -> list[Answers]:
    """Register the query; the list fills with its answers."""
    heard: list[Answers] = []
    engine.register_query(QUERY).subscribe(heard.append)
    return heard


def test_an_engine_is_advanced_to_what_its_streams_are(engine: Engine) -> None:
    heard = listen(engine)
    engine.push(S, TRIPLE, time=1000)
    for wrong in (1000.5, "1970-01-01T00:00:01Z", True):
        with pytest.raises(StreamElementError, match="whole number of milliseconds or a datetime"):
            engine.advance_to(wrong)  # type: ignore[arg-type]
    assert heard == []
    engine.advance_to(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert [answers.time for answers in heard] == [1000]
    assert engine.push(S, TRIPLE, time=1000).late == 1  # type: ignore[attr-defined]
