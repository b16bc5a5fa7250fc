"""Frozen distributions of SciPy pushed, as parameters, from functions of users, and in answers."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from scipy import stats

from sparkext import Engine, from_scipy
from sparkext.errors import DistributionError, ParameterError, StreamElementError
from sparkext.language.uncertainty import RSPU
from static_data.terms import XSD_INTEGER, Iri, Literal, QuotedTriple
from tests.sparkext.listening import E, S, listen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.answering.answers import Answers

SELECT = f"""PREFIX : <{E}> PREFIX rspu: <{RSPU}>
SELECT ?x ?d ?sum FROM NAMED WINDOW :w ON :s [RANGE 10]
WHERE {{ WINDOW :w {{ << ?x :value ?v >> rspu:uncertainty ?d . BIND(rspu:add(?d, ?v) AS ?sum) }} }}"""


TWO = Literal("2", XSD_INTEGER)


def test_distributions_go_in_and_come_out(spark: SparkSession) -> None:
    errors = [stats.norm(0, 0.1), stats.expon(scale=3), stats.uniform(0.1, 0.2)]
    with closing(Engine(spark)) as engine:
        stream = engine.register_stream(S)
        heard = listen(engine, SELECT)
        for number, error in enumerate(errors):
            reading = QuotedTriple(Iri(f"{E}r{number}"), Iri(f"{E}value"), TWO)
            stream.push((reading, RSPU + "uncertainty", error), time=1000 + number)
        stream.push_table(
            pa.table({"time": [1003]}),
            subject=QuotedTriple(Iri(f"{E}r3"), Iri(f"{E}value"), Literal("x")),
            predicate=Iri(RSPU + "uncertainty"),
            object=stats.gamma(2.5),
        )
        engine.advance_to(1003)
    last = heard[-1]
    by_name = {str(row[0]): row for row in last.scipy_rows()}
    for number, error in enumerate(errors):
        _, came, total = by_name[f"<{E}r{number}>"]
        given = dict(zip(("loc", "scale"), error.args, strict=False))
        expected = {"loc": 0, "scale": 1, **given, **error.kwds}
        assert (came.dist.name, came.kwds) == (error.dist.name, expected)
        assert total.mean() == pytest.approx(error.mean() + 2)
    assert by_name[f"<{E}r3>"][1].dist.name == "gamma"
    assert by_name[f"<{E}r3>"][2] is None
    assert all(isinstance(cell, str | None) for row in last.rows() for cell in row)
    assert from_scipy(by_name[f"<{E}r1>"][1]).n3() in {row[1] for row in last.rows()}


def test_a_parameter_a_function_and_an_inserted_triple(spark: SparkSession) -> None:
    query = f"""PREFIX : <{E}> PREFIX rspu: <{RSPU}>
    SELECT ?p ?made ?kept FROM NAMED WINDOW :w ON :s [RANGE 10]
    WHERE {{ WINDOW :w {{ ?x :at ?y }} ?x :error ?kept
             BIND(rspu:mean(?limit) AS ?p) BIND(:spread(?p) AS ?made) }}"""
    with closing(Engine(spark)) as engine:
        engine.register_function(
            E + "spread", lambda mean: stats.norm(mean, 0.5), returns="term", cost_us=5
        )
        engine.insert((f"{E}x", f"{E}error", stats.beta(2, 3)), graph=None)
        stream = engine.register_stream(S)
        heard: list[Answers] = []
        limit = {"limit": stats.norm(7, 0.1)}
        engine.register_query(query, parameters=limit).subscribe(heard.append)
        stream.push((f"{E}x", f"{E}at", f"{E}y"), time=1)
        engine.advance_to(1)
        ((mean, made, kept),) = heard[-1].scipy_rows()
        assert "7.0" in mean
        assert (made.kwds, kept.kwds["b"]) == ({"loc": 7.0, "scale": 0.5}, 3.0)
        with pytest.raises(ParameterError, match=r"\?limit: weibull_min\(c=2, loc=0, scale=1\)"):
            engine.register_query(query, name="no", parameters={"limit": stats.weibull_min(2)})


def test_what_does_not_fit_is_told_with_its_place(spark: SparkSession) -> None:
    with closing(Engine(spark)) as engine:
        stream = engine.register_stream(S)
        with pytest.raises(StreamElementError, match=r"triples: cauchy\(loc=0, scale=1\)"):
            stream.push((f"{E}x", f"{E}error", stats.cauchy()), time=1)
        answers = engine.select(
            f"PREFIX rspu: <{RSPU}> SELECT ?a ?sum "
            '{ VALUES ?n { "N(0, 1)"^^rspu:distribution } VALUES ?u { "U(0, 1)"^^rspu:distribution }'
            " BIND(1 AS ?a) BIND(rspu:add(?n, ?u) AS ?sum) }"
        ).answer()
        with pytest.raises(DistributionError, match=r"row 0, \?sum: .*no family for Sum"):
            answers.scipy_rows()
