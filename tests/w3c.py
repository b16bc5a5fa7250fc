"""The W3C's SPARQL and RDF test suites through the product's own compile-and-run path.

The three functions keep the protocol of the shared corpus' checker:

    python ../shared/w3c/check.py ../shared/w3c/dev tests.w3c:evaluate --numeric computed
    python ../shared/w3c/check.py ../shared/w3c/dev tests.w3c:check_syntax --suite syntax
    python ../shared/w3c/check.py ../shared/w3c/dev tests.w3c:read_rdf --suite rdf

One Spark session serves all cases; each case has an engine of its own. Which of the two readings of ``<< s p o >>``
holds is told by where a text comes from: RDF-star's suite means quoted triples, all others RDF 1.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from pyspark.sql import SparkSession

import sparkext
from sparkext.language import parse_query
from static_data.files.rdf_version import RdfVersion
from static_data.loading.statements import read_statements

Files = Sequence[tuple[str, str]]


@cache
def session() -> SparkSession:
    """The one session: that of the test run, or a small one made here."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("w3c")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
    )
    return sparkext.configure(builder).getOrCreate()


def evaluate(query: str, default_graphs: Files, named_graphs: Files) -> dict[str, Any]:
    """The answer of a query over files, each given as (base IRI, path)."""
    session().conf.set("spark.cqels.rdf", rdf_version(query).value)
    try:
        engine = sparkext.Engine(session())
    finally:
        session().conf.unset("spark.cqels.rdf")
    try:
        for iri, path in default_graphs:
            engine.load_static(path, base_iri=iri)
        for iri, path in named_graphs:
            engine.load_static(path, graph=iri, base_iri=iri)
        answers = engine.select(query).answer()
    finally:
        engine.close()
    if answers.form == "ASK":
        return {"boolean": answers.boolean}
    if answers.form != "SELECT":
        return {"graph": answers.to_text("nt")}
    return {"vars": list(answers.variables), "rows": list(answers)}


def check_syntax(query: str) -> None:
    """Raises what is wrong with a query's text."""
    parse_query(query, rdf=rdf_version(query))


def read_rdf(path: str, format: str, base_iri: str) -> str:
    """The statements of a file as N-Quads; raises MalformedRdfError."""
    return read_statements(session(), path, format, base_iri, rdf_version(base_iri, path))


def rdf_version(*places: str) -> RdfVersion:
    """The reading of quoted triples in texts of these IRIs or paths."""
    star = any("/rdf-star/" in place for place in places)
    return RdfVersion.STAR if star else RdfVersion.RDF_1_2
