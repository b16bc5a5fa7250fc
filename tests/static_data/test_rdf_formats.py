"""Formats told from file names, and from how remote files begin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from static_data.errors import UnsupportedFormatError
from static_data.files.rdf_formats import Compression, FileFormat, RdfFormat, format_of
from static_data.loading.source_files import find_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("name", "rdf"),
    [
        ("a.nt", RdfFormat.N_TRIPLES),
        ("a.ntriples", RdfFormat.N_TRIPLES),
        ("a.nq", RdfFormat.N_QUADS),
        ("a.nquads", RdfFormat.N_QUADS),
        ("a.ttl", RdfFormat.TURTLE),
        ("a.turtle", RdfFormat.TURTLE),
        ("a.n3", RdfFormat.TURTLE),
        ("a.trig", RdfFormat.TRIG),
        ("a.rdf", RdfFormat.RDF_XML),
        ("a.xml", RdfFormat.RDF_XML),
        ("a.owl", RdfFormat.RDF_XML),
        ("a.jsonld", RdfFormat.JSON_LD),
        ("a.json", RdfFormat.JSON_LD),
        ("A.B.TTL", RdfFormat.TURTLE),
        ("/x.nt/y.rdf", RdfFormat.RDF_XML),
    ],
)
def test_extension_tells_format(name: str, rdf: RdfFormat) -> None:
    assert format_of(name) == FileFormat(rdf, Compression.NONE)
    for packing in Compression:
        if packing is not Compression.NONE:
            assert format_of(f"{name}.{packing.value}") == FileFormat(rdf, packing)


@pytest.mark.parametrize("name", ["a", "a.csv", "a.gz", ".nt", "nt", "a.zip", "a.nt.rar", ""])
def test_other_names_are_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedFormatError) as caught:
        format_of(name)
    assert str(caught.value).startswith(name + ": ")
    assert caught.value.file == name


@pytest.mark.parametrize(
    ("stated", "rdf"),
    [
        ("turtle", RdfFormat.TURTLE),
        (".nq", RdfFormat.N_QUADS),
        ("JSON-LD", RdfFormat.JSON_LD),
        ("rdf/xml", RdfFormat.RDF_XML),
        (RdfFormat.TRIG, RdfFormat.TRIG),
    ],
)
def test_stated_format_overrides_the_name(stated: str | RdfFormat, rdf: RdfFormat) -> None:
    assert format_of("dump.nt.bz2", stated) == FileFormat(rdf, Compression.BZIP2)
    assert format_of("dump", stated).rdf is rdf


def test_unknown_stated_format_is_refused() -> None:
    with pytest.raises(UnsupportedFormatError, match="csv"):
        format_of("a.nt", "csv")


@pytest.mark.parametrize("format", [None, "nt"])
def test_of_a_remote_file_without_an_ending_the_beginning_is_read(
    spark: SparkSession, tmp_path: Path, format: str | None
) -> None:
    java: Any = spark.sparkContext._jvm
    systems = java.org.apache.hadoop.fs.FileSystem
    # A file system with a name of its own, which shows a local folder.
    mount = f"fs.viewfs.mounttable.{tmp_path.name.replace('_', '-')}"
    configuration: Any = spark.sparkContext._jsc.hadoopConfiguration()
    configuration.set(f"{mount}.link./data", tmp_path.as_uri())
    line = "<http://e/s> <http://e/p> <http://e/o> .\n"
    (tmp_path / "dump").write_text(line * 500_000)

    def read() -> int:
        return sum(one.getBytesRead() for one in systems.getAllStatistics())

    before = read()
    name = f"viewfs://{mount.rpartition('.')[2]}/data/dump"
    (source,) = find_files(spark, name, format)
    assert source.format.rdf is (RdfFormat.N_QUADS if format is None else RdfFormat.N_TRIPLES)
    assert source.size == len(line) * 500_000
    assert read() - before < 1 << 20
