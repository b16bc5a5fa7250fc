"""Streams made by queries whose answers late elements correct: what is final is passed on, as of the sorted stream."""

from __future__ import annotations

from contextlib import closing
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from sparkext import Engine
from tests.sparkext.listening import E, S, listen, query, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.answering.answers import Answers

MAKERS = (
    ("RSTREAM", "[RANGE 5]", "{ ?x :was ?y }"),
    ("ISTREAM", "[RANGE 8 STEP 4]", "{ ?x :was ?y }"),
    ("RSTREAM", "[ELEMENTS 4 STEP 2]", "{ ?y :had ?x }"),
)
Rows = list[tuple[int, list[object]]]


def made(engine: Engine, operator: str, window: str, template: str) -> list[list[Answers]]:
    """A maker, and what its readers are told, one of which makes a stream as well."""
    engine.register_query(
        f"PREFIX : <{E}> REGISTER {operator} :made AS CONSTRUCT {template} FROM NAMED WINDOW :w ON :s {window}"
        " WHERE { WINDOW :w { ?x :at ?y } }"
    )
    engine.register_query(
        f"PREFIX : <{E}> REGISTER RSTREAM :more AS CONSTRUCT {{ ?a :more ?b }} FROM NAMED WINDOW :w ON :made [RANGE 6]"
        " WHERE { WINDOW :w { ?a ?p ?b } }"
    )
    texts = [
        query("WINDOW :w { ?a ?p ?b }", "[RANGE 7]", "*", "ISTREAM").replace("ON :s", "ON :made"),
        query("WINDOW :w { ?a ?p ?b }", "[RANGE 9 STEP 3]").replace("ON :s", "ON :made"),
        query("WINDOW :w { ?a :more ?b }", "[RANGE 3]", "*", "DSTREAM").replace(
            "ON :s", "ON :more"
        ),
    ]
    return [listen(engine, text, f"reader-{n}") for n, text in enumerate(texts)]


def rows(heard: list[Answers]) -> Rows:
    return [(a.time, sorted(map(str, a.rows()))) for a in heard]


def elements(random: Random) -> list[tuple[int, str]]:
    """Times and triples in the order in which they come, at most 9 later than in order."""
    times = sorted(random.randint(0, 80) for _ in range(40))
    facts = [
        (t, triple(f"x{random.randint(0, 5)}", "at", f"r{random.randint(0, 2)}")) for t in times
    ]
    return sorted(facts, key=lambda fact: fact[0] + random.randint(0, 9))


@pytest.mark.parametrize("maker", MAKERS, ids=[f"{m[0]} {m[1]}" for m in MAKERS])
def test_readers_answer_as_over_the_sorted_stream(
    spark: SparkSession, maker: tuple[str, str, str], tmp_path: Path
) -> None:
    for seed in range(2):
        coming = elements(Random(seed))
        with closing(Engine(spark)) as engine:
            stream = engine.register_stream(S)
            heard = made(engine, *maker)
            for time, fact in sorted(coming, key=itemgetter(0)):
                stream.push(fact, time)
            engine.finish()
            expected = [rows(one) for one in heard]
        with closing(Engine(spark)) as engine:
            stream = engine.register_stream(S, allowed_lateness=9, late="correct")
            heard = made(engine, *maker)
            for time, fact in coming:
                assert stream.push(fact, time).accepted == 1
                assert all(a.revision == 0 for one in heard for a in one)
            corrected = engine.queries[f"{E}made"]
            assert not corrected.corrections._told or min(corrected.corrections._told) > 60
            engine.finish()
            assert [rows(one) for one in heard] == expected, f"seed {seed}"
        folder, again = tmp_path / f"{seed}", []
        for part in (coming[:20], coming[20:]):  # an engine that ends, and goes on
            with closing(Engine(spark, checkpoint=folder)) as engine:
                stream = engine.register_stream(S, allowed_lateness=9, late="correct")
                again.append(made(engine, *maker))
                for time, fact in part:
                    stream.push(fact, time)
                if len(again) == 2:
                    engine.finish()
        both = [rows(a) + rows(b) for a, b in zip(*again, strict=True)]
        assert both == expected, f"seed {seed}"
