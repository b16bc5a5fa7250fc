"""`<< s p o >>` as RDF-star and as RDF 1.2 read it, in queries and in files; literals with a base direction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.engine import Engine
from sparkext.errors import QuerySyntaxError
from sparkext.language import parse_query
from sparkext.language.algebra import Bgp
from sparkext.language.nodes import TriplePattern
from static_data.errors import MalformedRdfError
from static_data.files.rdf_version import RdfVersion
from static_data.store import StaticStore
from static_data.terms import Literal, parse_term

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "PREFIX : <http://e/> "
REIFIES = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>"
STAR, RDF_1_2 = RdfVersion.STAR, RdfVersion.RDF_1_2


def triples(pattern: str, version: RdfVersion) -> list[str]:
    """The triple patterns of a text, in order; blank nodes by number."""
    query = parse_query(f"{PREFIX} ASK {{ {pattern} }}", rdf=version)
    assert isinstance(query.pattern, Bgp)
    return [_shown(triple) for triple in query.pattern.patterns]


def _shown(triple: TriplePattern) -> str:
    text = " ".join(term.n3() for term in triple)
    return (
        text.replace("<http://e/", "")
        .replace(REIFIES, "reifies")
        .replace(">", "")
        .replace("<<", "(")
    )


@pytest.mark.parametrize(
    ("pattern", "star", "rdf12"),
    [
        ("<< :a :p ?o >> :q 1 .", ["( a p ?o  q"], ["?_:b0 reifies ( a p ?o", "?_:b0 q"]),
        ("?x :q << :a :p :o >> .", ["?x q ( a p o"], ["?_:b0 reifies ( a p o", "?x q ?_:b0"]),
        ("<< :a :p :o ~ :r >> :q :z .", ["r reifies ( a p o", "r q z"], ["r reifies ( a p o", "r q z"]),
        ("<< :a :p :o >> .", ["?_:b0 reifies ( a p o"], ["?_:b0 reifies ( a p o"]),
        (":a :p :o {| :q :z |} .", ["a p o", "( a p o  q z"], ["a p o", "?_:b0 reifies ( a p o", "?_:b0 q z"]),
        (":a :p :o ~ :r {| :q :z |} .", ["a p o", "r reifies ( a", "r q z"], ["a p o", "r reifies ( a", "r q z"]),
        ("?r :is <<( :a :p ?o )>> .", ["?r is ( a p ?o"], ["?r is ( a p ?o"]),
    ],
)  # fmt: skip
def test_quoted_triples_in_queries(pattern: str, star: list[str], rdf12: list[str]) -> None:
    for version, expected in ((STAR, star), (RDF_1_2, rdf12)):
        found = triples(pattern, version)
        assert len(found) == len(expected)
        for text, start in zip(found, expected, strict=True):
            assert text.startswith(start), (version, found)


def test_base_directions() -> None:
    literal = parse_term('"a"@en--rtl')
    assert isinstance(literal, Literal)
    assert (literal.language, literal.direction, literal.n3()) == ("en", "rtl", '"a"@en--rtl')
    assert literal.datatype.value.endswith("#dirLangString")
    assert triples(':a :p "x"@EN--ltr .', STAR) == ['a p "x"@en--ltr']
    with pytest.raises(QuerySyntaxError, match="ltr or rtl"):
        parse_query('ASK { ?s ?p "x"@en--up }')
    with pytest.raises(ValueError, match="direction"):
        Literal("x", direction="ltr")


TURTLE = """@prefix : <http://e/> .
<< :a :p :o >> :q "x"@en--ltr . :a :p :o {| :since 1 |} ."""


@pytest.mark.parametrize("driver_bytes", ["262144", "0"])
def test_an_engine_reads_files_and_queries_alike(
    spark: SparkSession, tmp_path: Path, driver_bytes: str
) -> None:
    file = tmp_path / "data.ttl"
    file.write_text(TURTLE, encoding="utf-8")
    counts = {}
    for version in (STAR, RDF_1_2):
        spark.conf.set("spark.cqels.rdf", version.value)
        spark.conf.set("spark.cqels.load.driverMaxBytes", driver_bytes)
        try:
            engine = Engine(spark)
        finally:
            spark.conf.unset("spark.cqels.rdf")
            spark.conf.unset("spark.cqels.load.driverMaxBytes")
        engine.load_static(file)
        counts[version] = engine.store.row_count(0)
        for text in ("<< :a :p :o >> :since ?n .", ":a :p ?o {| :q ?n |} ."):
            assert len(engine.select(f"{PREFIX} SELECT ?n {{ {text} }}").answer()) == 1
        reified = engine.select(f"SELECT ?r {{ ?r {REIFIES} ?t }}").answer()
        assert len(reified) == (0 if version is STAR else 2)
        json = engine.select("SELECT ?o { ?s <http://e/q> ?o }").answer().to_text()
        assert '"xml:lang": "en", "its:dir": "ltr"' in json
        engine.close()
    assert counts == {STAR: 3, RDF_1_2: 5}


def test_line_formats_of_rdf_1_2_hold_triple_terms_as_objects_only(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = tmp_path / "data.nt"
    quoted = "<http://e/a> <http://e/p> <http://e/b>"
    cases = [
        (f"<http://e/a> <http://e/p> <<( {quoted} )>> .", True),
        (f"<http://e/a> <http://e/p> << {quoted} >> .", False),
        (f"<<( {quoted} )>> <http://e/p> <http://e/a> .", False),
    ]
    for text, fits in cases:
        file.write_text(text + "\n", encoding="utf-8")
        assert StaticStore(spark).load(file).quads_added == 1
        strict = StaticStore(spark, version=RDF_1_2)
        if fits:
            assert strict.load(file).quads_added == 1
        else:
            with pytest.raises(MalformedRdfError):
                strict.load(file)
