"""Files that ask for too much: deep nesting, endless unpacking, endless aliases; each a clear error, and soon."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from static_data.errors import MalformedRdfError, MappingError
from static_data.files.on_error import OnError
from static_data.files.rdf_reader import read_entries
from static_data.files.reading import Reading
from static_data.limits.expansion import FREE_BYTES
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.source_rows import rows_of_source
from tests.static_data.mappings.mapping_cases import rml

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

P = "<http://e/p>"
DEEP = {
    "quoted.ttl": "<< :s :p " * 2000 + "1" + " >>" * 2000 + " :q 1 .",
    "terms.ttl": ":s :p " + "<<( :s :p " * 2000 + "1" + " )>>" * 2000 + " .",
    "annotated.trig": ":s :p 1 " + "{| :p 1 " * 2000 + "|}" * 2000 + " .",
    "behind_a_comment.ttl": ":s :p " + "<<( # >> '\n :s :p " * 2000 + "1" + " )>>" * 2000 + " .",
    "objects.jsonld": '{"http://e/p":' * 500 + "1" + "}" * 500,
    "lists.jsonld": '{"http://e/p":' + '{"@list":[' * 500 + "1" + "]}" * 500 + "}",
    "contexts.jsonld": '{"@context":'
    + '{"a":{"@id":"a:a","@context":' * 500
    + "{}"
    + "}}" * 500
    + "}",
}


@pytest.mark.parametrize("on_error", OnError)
@pytest.mark.parametrize("name", DEEP)
def test_what_nests_too_deep(tmp_path: Path, name: str, on_error: OnError) -> None:
    file = tmp_path / name
    file.write_text(("" if name.endswith("ld") else "@prefix : <http://e/> .\n") + DEEP[name])
    with pytest.raises(MalformedRdfError, match=r"500 quoted triples in one another|128 deep"):
        list(read_entries(file, reading=Reading(on_error=on_error)))


def test_what_nests_deep_enough_is_read(tmp_path: Path) -> None:
    turtle, json = tmp_path / "deep.ttl", tmp_path / "deep.jsonld"
    turtle.write_text(
        f"<http://e/s> {P} " + f"<<( <http://e/s> {P} " * 400 + "1" + " )>>" * 400 + " ."
    )
    json.write_text('{"http://e/p":' * 100 + "1" + "}" * 100)
    (line,) = read_entries(turtle)
    assert isinstance(line, str) and line.count("<< ") == 400
    assert len(list(read_entries(json))) == 100


def test_marks_in_strings_are_no_nesting(tmp_path: Path) -> None:
    file = tmp_path / "strings.ttl"
    file.write_text(
        "".join(f"<http://e/s> {P} \"{n} << {{| <<( '''\" . # <<\n" for n in range(1500))
    )
    assert len(list(read_entries(file))) == 1500


def test_a_term_that_the_parser_cannot_hold(tmp_path: Path) -> None:
    file = tmp_path / "long.ttl"
    file.write_text(f'<http://e/s> {P} "' + "a" * (17 << 20) + '" .')
    with pytest.raises(MalformedRdfError, match="longer than 16 MiB"):
        list(read_entries(file))


def _zipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.nt", content)
    return packed.getvalue()


PACKERS = {
    "nt.gz": gzip.compress,
    "nt.bz2": bz2.compress,
    "nt.xz": lambda content: lzma.compress(content, preset=0),
    "nt.zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
    "nt.zip": _zipped,
}
LINE = f'<http://e/s> {P} "o" .\n'.encode()


@pytest.mark.parametrize("ending", PACKERS)
def test_what_unpacks_without_end(tmp_path: Path, ending: str) -> None:
    content = b"#" * (FREE_BYTES + (8 << 20)) + b"\n" + LINE
    file = tmp_path / f"bomb.{ending}"
    file.write_bytes(PACKERS[ending](content))
    with pytest.raises(
        MalformedRdfError,
        match=r"more than 64 MiB and 250 times its size.*spark\.cqels\.load\.maxExpansion",
    ):
        list(read_entries(file))
    lines = list(read_entries(file, reading=Reading(most_expansion=1e9)))
    assert len(lines) == 2


@pytest.mark.parametrize("ending", ["nt.gz", "nt.bz2"])
def test_what_spark_would_unpack_without_end(
    spark: SparkSession, tmp_path: Path, ending: str
) -> None:
    from static_data.store import StaticStore

    content = b"#" * (FREE_BYTES + (8 << 20)) + b"\n" + LINE
    file = tmp_path / f"bomb.{ending}"
    file.write_bytes(PACKERS[ending](content))
    store = StaticStore(spark, driver_bytes=0)
    try:
        with pytest.raises(MalformedRdfError, match=r"spark\.cqels\.load\.maxExpansion"):
            store.load(file, progress=False)
    finally:
        store.close()
    store = StaticStore(spark, driver_bytes=0, most_expansion=1e9)
    try:
        assert store.load(file, progress=False).statements == 1
    finally:
        store.close()


def test_aliases_of_yaml_without_end(tmp_path: Path) -> None:
    file = tmp_path / "bomb.yml"
    names = "abcdefghij"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in pairwise(names):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    file.write_text("\n".join(lines))
    with pytest.raises(MalformedRdfError, match="more than 1,000,000 values"):
        read_mapping(file)


def test_a_mapping_reads_no_file_elsewhere(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    (inside / "link.csv").symlink_to(secret)
    for name in (str(secret), "../secret.csv", "link.csv", f"file://{secret}"):
        file = inside / "m.ttl"
        file.write_text(
            rml(
                f'<#M> rml:logicalSource [ rml:source "{name}"; rml:referenceFormulation ql:CSV ];'
                ' rr:subjectMap [ rr:template "http://e/{a}"; rr:class ex:C ] .'
            )
        )
        (mapped,) = read_mapping(file).rows
        with pytest.raises(MappingError, match="lies neither in the mapping's folder"):
            rows_of_source(mapped.source, str(file), lambda asked: None)
        assert len(rows_of_source(mapped.source, str(file), lambda asked: secret)) == 1
