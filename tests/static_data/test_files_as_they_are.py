"""Files as people have them: marks at the beginning, encodings, packings, names that tell nothing, odd IRIs."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from static_data.errors import MalformedRdfError, UnsupportedFormatError
from static_data.files import turtle_text
from static_data.files.format_sniffing import format_of_content
from static_data.files.odd_iris import hide, reveal
from static_data.files.packings import Compression
from static_data.files.rdf_formats import RdfFormat
from static_data.files.rdf_reader import read_lines
from static_data.files.turtle_text import hidden, hidden_stream
from tests.static_data.rdf_samples import PLAIN, oracle_quads, serialised

MANY = settings(max_examples=150, derandomize=True, database=None, deadline=None)
FORMATS = {
    "nt": ox.RdfFormat.N_TRIPLES,
    "nq": ox.RdfFormat.N_QUADS,
    "ttl": ox.RdfFormat.TURTLE,
    "trig": ox.RdfFormat.TRIG,
    "rdf": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
}


def zstandard(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(content)
    return bytes(sink.getvalue().to_pybytes())


def zipped(content: bytes, name: str = "some file") -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("folder")
        archive.writestr(name, content)
    return sink.getvalue()


PACK: dict[Compression, Callable[[bytes], bytes]] = {
    Compression.NONE: bytes,
    Compression.GZIP: gzip.compress,
    Compression.BZIP2: bz2.compress,
    Compression.XZ: lzma.compress,
    Compression.ZSTANDARD: zstandard,
    Compression.ZIP: zipped,
}


def expected() -> Counter[str]:
    quads = oracle_quads(PLAIN.encode(), ox.RdfFormat.N_TRIPLES)
    return Counter(f"{s} {p} {o} ." for s, p, o, _ in quads)


def canonical(lines: list[str]) -> Counter[str]:
    """What line-based files pass through, as canonical texts."""
    quads = oracle_quads("\n".join(lines).encode(), ox.RdfFormat.N_QUADS)
    return Counter(f"{s} {p} {o} ." for s, p, o, _ in quads)


# ---- packings, marks, names ------------------------------------------------------------------------


@pytest.mark.parametrize("packing", PACK, ids=lambda p: p.value or "plain")
@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_is_read_packed_marked_and_without_an_ending(
    tmp_path: Path, ending: str, packing: Compression
) -> None:
    content = serialised(PLAIN, FORMATS[ending])
    suffix = f".{packing.value}" if packing.value else ""
    for mark in (b"", b"\xef\xbb\xbf"):
        for name in (f"a.{ending}{suffix}", f"a{suffix}", "dump"):
            path = tmp_path / name
            path.write_bytes(PACK[packing](mark + content))
            assert canonical(list(read_lines(path))) == expected(), name


@pytest.mark.parametrize("packing", [p for p in PACK if p.value], ids=lambda p: p.value)
@pytest.mark.parametrize("ending", ["nt", "ttl", "rdf", "jsonld"])
def test_what_is_cut_off_or_not_packed_is_said(
    tmp_path: Path, ending: str, packing: Compression
) -> None:
    path = tmp_path / f"a.{ending}.{packing.value}"
    whole = PACK[packing](serialised(PLAIN, FORMATS[ending]))
    for content in (whole[: len(whole) // 2], b"this is not packed"):
        path.write_bytes(content)
        with pytest.raises(MalformedRdfError, match=rf"a.*broken \.{packing.value} file"):
            list(read_lines(path))


@pytest.mark.parametrize("packing", PACK, ids=lambda p: p.value or "plain")
def test_a_file_without_a_byte_is_empty(tmp_path: Path, packing: Compression) -> None:
    path = tmp_path / f"a.nt.{packing.value}".rstrip(".")
    for content in (b"", PACK[packing](b"")):
        path.write_bytes(content)
        assert list(read_lines(path)) == []


def test_a_zip_holds_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.nt.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.nt", "")
        archive.writestr("y.nt", "")
    with pytest.raises(MalformedRdfError, match=r"it holds 2 files, not one: x\.nt, y\.nt"):
        list(read_lines(path))


def test_the_name_in_a_zip_tells_the_format(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(b"<> <p> 1 .", "b.ttl"))
    assert len(list(read_lines(path))) == 1


def test_an_ending_that_is_not_known_is_not_looked_into(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(serialised(PLAIN, ox.RdfFormat.N_TRIPLES))
    with pytest.raises(UnsupportedFormatError, match="cannot tell the RDF format"):
        list(read_lines(path))
    assert canonical(list(read_lines(path, "nt"))) == expected()


def test_what_is_no_text_has_no_format(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\x7fELF\x00\x01")
    with pytest.raises(UnsupportedFormatError, match="no text"):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("", RdfFormat.TRIG),
        ("# nothing\n", RdfFormat.TRIG),
        ('# note\n_:a <http://e/p> "x"@en .\n\n<a> <b> <c> <d> . # e', RdfFormat.N_QUADS),
        ("<a> <b> <c> .\n@prefix : <http://e/> .", RdfFormat.TRIG),
        ("<a> <b> <c> , <d> .", RdfFormat.TRIG),
        ("[ <b> <c> ] .", RdfFormat.TRIG),
        ("{ <a> <b> <c> }", RdfFormat.TRIG),
        ("PREFIX : <http://e/>", RdfFormat.TRIG),
        ('[{"@id": "http://e/"}]', RdfFormat.JSON_LD),
        ("{}", RdfFormat.JSON_LD),
        ("<!-- a -->\n<rdf:RDF/>", RdfFormat.RDF_XML),
        ("<owl:x xmlns:owl='y'>", RdfFormat.RDF_XML),
    ],
)
def test_content_tells_the_format(text: str, format: RdfFormat) -> None:
    assert format_of_content(text.encode()) is format
    assert format_of_content(b"\xef\xbb\xbf" + text.encode()) is format


# ---- encodings of XML ------------------------------------------------------------------------------

NS = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'
LATIN = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_categories=["Cc"]))


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@MANY
@given(LATIN, st.sampled_from(["UTF-8", "ISO-8859-1", "UTF-16", "windows-1252", "iso-8859-15"]))
def test_xml_is_read_in_the_encoding_that_it_declares(
    tmp_path_factory: pytest.TempPathFactory, text: str, encoding: str
) -> None:
    text = text.encode(encoding, "ignore").decode(encoding)
    document = (
        f'<?xml version="1.0" encoding="{encoding}"?>\n<rdf:RDF {NS}>'
        f'<rdf:Description rdf:about="http://e/s"><e:p>{escaped(text)}</e:p></rdf:Description></rdf:RDF>'
    )
    for name in ("a.rdf", "a"):
        path = tmp_path_factory.getbasetemp() / name
        path.write_bytes(document.encode(encoding))
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        assert list(read_lines(path)) == [f'<http://e/s> <http://e/p> "{quoted}" .']


def test_an_encoding_that_is_not_known_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.rdf"
    path.write_bytes(f'<?xml version="1.0" encoding="klingon"?><rdf:RDF {NS}/>'.encode())
    with pytest.raises(MalformedRdfError, match=r"klingon|unknown encoding"):
        list(read_lines(path))


# ---- odd IRIs --------------------------------------------------------------------------------------

ODD = st.sampled_from([*"#[]%:@/?a1.-=&~'()*+,;!$_Fé", "\ue001", "%41", "\U000d0023", "\U000ce001"])
IRIS = st.builds(
    lambda begin, rest: begin + "".join(rest),
    st.sampled_from(["http://", "x:", "http://a/", "http://a/#", "urn:a:", "http://a/b?"]),
    st.lists(ODD, max_size=12),
)


@MANY
@given(IRIS)
def test_a_hidden_iri_is_read_by_a_strict_parser_and_comes_back(iri: str) -> None:
    text = hide(iri)
    if any(c in iri for c in "\U000d0023\U000ce001"):
        assert "\ufffe" in text or text == iri
        return
    assert reveal(text) == iri
    (quad,) = ox.parse(f"<x:s> <x:p> <{text}> .".encode(), format=ox.RdfFormat.TURTLE)
    if "/." not in iri:  # which resolving against a base would take out
        assert reveal(quad.object.value) == iri


@MANY
@given(IRIS)
def test_an_iri_of_n_triples_is_read_from_every_format(
    tmp_path_factory: pytest.TempPathFactory, iri: str
) -> None:
    if "/." in iri or any(c in iri for c in "\U000d0023\U000ce001"):
        return
    folder = tmp_path_factory.getbasetemp()
    turtle = f'@prefix x: <{iri}> .\n<x:s> <x:p> <{iri}> , "<{iri}>" , "1"^^<{iri}> .\n<{iri}> <x:q> x: .'
    xml = (
        f'<rdf:RDF {NS} xmlns:x="x:"><rdf:Description rdf:about="x:s"><x:p rdf:resource="{escaped(iri)}"/>'
        f'<x:p>{escaped(f"<{iri}>")}</x:p><x:p rdf:datatype="{escaped(iri)}">1</x:p></rdf:Description>'
        f'<rdf:Description rdf:about="{escaped(iri)}"><x:q rdf:resource="{escaped(iri)}"/></rdf:Description></rdf:RDF>'
    )
    values = [{"@id": iri}, f"<{iri}>", {"@value": "1", "@type": iri}]
    jsonld = [{"@id": "x:s", "x:p": values}, {"@id": iri, "x:q": {"@id": iri}}]
    texts = {"a.ttl": turtle, "a.trig": turtle, "a.rdf": xml, "a.jsonld": json.dumps(jsonld)}
    for name, text in texts.items():
        path = folder / name
        path.write_bytes(text.encode())
        assert Counter(read_lines(path)) == Counter(
            [
                f"<x:s> <x:p> <{iri}> .",
                f'<x:s> <x:p> "<{iri}>" .',
                f'<x:s> <x:p> "1"^^<{iri}> .',
                f"<{iri}> <x:q> <{iri}> .",
            ]
        ), name


def test_a_type_that_is_an_attribute_is_an_iri_too(tmp_path: Path) -> None:
    iri, path = "http://c/y-[spn]", tmp_path / "a.rdf"
    path.write_text(
        f'<rdf:RDF {NS}><rdf:Description rdf:about="http://e/s" rdf:type="{iri}"/></rdf:RDF>'
    )
    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    assert list(read_lines(path)) == [f"<http://e/s> <{rdf_type}> <{iri}> ."]


PARTS = [
    "<http://e/[s]>",
    "<x:#a#b>",
    '"',
    '"""',
    "'",
    "'''",
    "\\",
    '\\"',
    "#",
    "\n",
    " ",
    "a",
    "<",
]
PARTS += [">", ".", "<<", "x:y\\#z", "é", "{", "%", "<x:\\u005b>"]


@MANY
@given(st.lists(st.sampled_from(PARTS), max_size=20).map("".join), st.integers(1, 9))
def test_hiding_does_not_depend_on_where_a_stream_is_cut(text: str, segment: int) -> None:
    before = turtle_text._SEGMENT
    turtle_text._SEGMENT = segment
    try:
        assert hidden_stream(io.BytesIO(text.encode())).read().decode() == hidden(text)
    finally:
        turtle_text._SEGMENT = before


def test_an_iri_that_n_triples_refuses_is_refused_with_its_place(tmp_path: Path) -> None:
    iri = "http://x/a b"
    texts = {
        "a.ttl": f"<x:s> <x:p>\n  <{iri}> .",
        "a.trig": f"<x:g> {{\n  <{iri}> <x:p> 1 }}",
        "a.rdf": f'<rdf:RDF {NS}>\n  <e:A rdf:about="{iri}"/></rdf:RDF>',
        "a.jsonld": f'{{"@id": "x:s",\n "x:p": {{"@id": "{iri}"}}}}',
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
        with pytest.raises(MalformedRdfError) as caught:
            list(read_lines(tmp_path / name))
        assert caught.value.line == 2, name
        assert caught.value.column, name
