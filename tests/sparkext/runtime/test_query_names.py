"""Names of registered queries: given, made up, free again, unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import DuplicateNameError, UnknownQueryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

E = "http://e/"
UNNAMED = f"""
PREFIX : <{E}>
SELECT ?x FROM NAMED WINDOW :w ON :s [NOW] WHERE {{ WINDOW :w {{ ?x :at ?y }} }}
"""


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    from sparkext import Engine

    made = Engine(spark)
    made.register_stream(f"{E}s")
    yield made
    made.close()


def test_made_up_names_go_on_after_a_stop(engine: Engine) -> None:
    first, second = (engine.register_query(UNNAMED) for _ in range(2))
    assert [first.name, second.name] == ["query-1", "query-2"]
    first.stop()
    assert engine.register_query(UNNAMED).name == "query-3"
    assert list(engine.queries) == ["query-2", "query-3"]


def test_made_up_names_pass_over_those_that_are_taken(engine: Engine) -> None:
    engine.register_query(UNNAMED, name="query-2")
    assert engine.register_query(UNNAMED).name == "query-3"
    with pytest.raises(DuplicateNameError, match="query-3"):
        engine.register_query(UNNAMED, name="query-3")


def test_a_second_stop_does_nothing_to_whoever_has_the_name_now(engine: Engine) -> None:
    stopped = engine.register_query(UNNAMED, name="rooms")
    stopped.stop()
    stopped.stop()
    namesake = engine.register_query(UNNAMED, name="rooms")
    stopped.stop()
    assert namesake.active
    assert engine.queries == {"rooms": namesake}


def test_a_name_that_no_query_has_is_told(engine: Engine) -> None:
    engine.register_query(UNNAMED, name="rooms").stop()
    with pytest.raises(UnknownQueryError) as unknown:
        engine.stop_query("rooms")
    assert str(unknown.value) == "no query named rooms is registered"
    engine.register_query(UNNAMED, name="halls")
    with pytest.raises(UnknownQueryError, match=r"^no query named rooms is .*; known: halls$"):
        engine.stop_query("rooms")
