"""RDF files of all formats, documents of streams and packed files, damaged."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Final

import pyarrow as pa

from sparkext.recorded_streams.reader import read_document
from static_data.files.format_sniffing import format_of_content
from static_data.files.on_error import OnError
from static_data.files.packings import Compression, unpacked
from static_data.files.rdf_formats import FileFormat, RdfFormat
from static_data.files.rdf_reader import entries_of
from static_data.files.rdf_version import RdfVersion
from static_data.files.reading import Reading
from tests.fuzz.mutations import mutated_bytes, mutated_text
from tests.fuzz.outcomes import bytes_of, outcome

_E: Final = "http://e/"
_TURTLE: Final = (
    '@prefix : <http://e/> . @base <http://b/> .\n:s :p "o"@en, 1, 2.5e3, true, """a"b\n""" ; a <#c> . [] :q (1 [ :r _:b ] ()) .',
    ":s :p :o {| :q 1 ; :r << :a :b :c >> |} ~ _:r .\nPREFIX : <http://e/>\n<< :s :p << :a :b 1 >> >> :q <<( :s :p :o )>> .",
    'VERSION "1.2"\n<http://e/[x]#a#b> <http://e/p> "\\u00e9\\U0001F600\\n"^^<http://e/%zz> . # end',
)
_TRIG: Final = (
    '@prefix : <http://e/> . :g { :s :p "x" . :s :q [ :r 1 ] } GRAPH :h { << :a :b :c >> :d 1 } :g <http://www.w3.org/ns/prov#generatedAtTime> 5 .',
    "<http://e/g1> <http://www.w3.org/ns/prov#generatedAtTime> \"2026-01-31T10:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
    "<http://e/g1> { <http://e/a> <http://e/p> 1 . <http://e/b> <http://e/p> 2 }\n_:g { _:a <http://e/p> _:b }",
)
_LINES: Final = (
    '<http://e/s> <http://e/p> "o"@en .\n<http://e/s> <http://e/p> "\\u00e9"^^<http://e/t> <http://e/g> .\n# c\n\n_:a <http://e/p> _:b.c _:g .',
    '<< <http://e/s> <http://e/p> <<( _:a <http://e/p> "1" )>> >> <http://e/q> <http://e/o> .\nVERSION "1.2"\n',
    '<http://e/g1> <http://www.w3.org/ns/prov#generatedAtTime> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    "<http://e/a> <http://e/p> <http://e/b> <http://e/g1> .\n<http://e/a> <http://e/p> \"x\" <http://e/g1> .",
)
_XML: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/" xml:base="http://b/">'
    '<rdf:Description rdf:about="a" e:q="x"><e:p rdf:resource="#b"/><e:p xml:lang="en">t &amp; u</e:p>'
    '<e:l rdf:parseType="Collection"><e:C rdf:ID="i"/></e:l><e:x rdf:parseType="Literal"><b>c</b></e:x>'
    '<e:n rdf:datatype="http://e/t">1</e:n><e:r rdf:parseType="Resource"><e:p>1</e:p></e:r></rdf:Description></rdf:RDF>',
    '<!DOCTYPE rdf:RDF [<!ENTITY e "http://e/"><!ENTITY f "&e;x">]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="&e;">'
    '<e:C rdf:about="&f;"><e:p>&f;</e:p></e:C><rdf:Bag><rdf:li>1</rdf:li></rdf:Bag></rdf:RDF>',
)
_JSON: Final = (
    '{"@context": {"@vocab": "http://e/", "p": {"@id": "http://e/p", "@type": "@id"}, "l": {"@id": "http://e/l", "@container": "@list"}},'
    ' "@id": "http://e/s", "@type": "C", "p": "http://e/o", "l": [1, 2.5, true, "x", {"@value": "y", "@language": "en"}]}',
    '[{"@id": "_:a", "http://e/p": [{"@id": "b"}, {"@list": []}]}, {"@graph": [{"@id": "http://e/x", "http://e/q": null}], "@id": "http://e/g"}]',
    '{"@context": ["c", {"@base": "http://b/", "a": "@id", "n": "@nest"}], "a": "x", "http://e/p": {"@reverse": {"http://e/r": "q"}}}',
)
SAMPLES: Final = {
    RdfFormat.TURTLE: _TURTLE,
    RdfFormat.TRIG: (*_TRIG, *_TURTLE),
    RdfFormat.N_TRIPLES: _LINES,
    RdfFormat.N_QUADS: _LINES,
    RdfFormat.RDF_XML: _XML,
    RdfFormat.JSON_LD: _JSON,
}
_CONTEXTS: Final = {"http://b/c": '{"@context": {"t": "http://e/t"}}', f"{_E}c": '{"@context": "c"}'}
_WAYS: Final = tuple(
    Reading(version, on_error, contexts)
    for version, on_error, contexts in (
        (RdfVersion.STAR, OnError.FAIL, {}),
        (RdfVersion.STAR, OnError.SKIP, _CONTEXTS),
        (RdfVersion.RDF_1_2, OnError.ACCEPT, _CONTEXTS),
    )
)


class DamagedFiles:
    """Files of one format, read in every way."""

    batch = 1

    def __init__(self, format: RdfFormat) -> None:
        self.name = f"files-{format.value}"
        self._format = format

    def case(self, random: Random) -> bytes:
        samples = SAMPLES[self._format]
        text = mutated_text(random, random.choice(samples), samples)
        content = bytes_of(text)
        return mutated_bytes(random, content) if random.random() < 0.3 else content

    def run(self, cases: Sequence[bytes]) -> list[str]:
        return [self._read(case) for case in cases]

    def _read(self, case: bytes) -> str:
        kind = FileFormat(self._format, Compression.NONE)
        told = [outcome(partial(self._entries, case, kind, way)) for way in _WAYS]
        told.append(outcome(lambda: format_of_content(case)))
        return next((one for one in told if one.startswith("raw")), told[0])

    @staticmethod
    def _entries(case: bytes, kind: FileFormat, way: Reading) -> None:
        def opener() -> io.BytesIO:
            return io.BytesIO(case)

        deque(entries_of("case", kind, "http://b/", opener, way), maxlen=0)


class StreamDocuments:
    """Documents of a stream, N-Quads or TriG, read into elements."""

    batch = 1

    def __init__(self, format: RdfFormat) -> None:
        self.name = f"documents-{format.value}"
        self._format = format

    def case(self, random: Random) -> bytes:
        samples = SAMPLES[self._format]
        return bytes_of(mutated_text(random, random.choice(samples), samples))

    def run(self, cases: Sequence[bytes]) -> list[str]:
        return [outcome(partial(self._read, case)) for case in cases]

    def _read(self, case: bytes) -> None:
        for version in RdfVersion:
            read_document(case, self._format, "case", version=version)


def _zipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.nt", content)
    return packed.getvalue()


_PACKERS: Final[dict[Compression, Callable[[bytes], bytes]]] = {
    Compression.GZIP: lambda content: gzip.compress(content, mtime=0),
    Compression.BZIP2: bz2.compress,
    Compression.XZ: lambda content: lzma.compress(content, preset=0),
    Compression.ZSTANDARD: lambda content: pa.Codec("zstd").compress(content, asbytes=True),
    Compression.ZIP: _zipped,
}


class PackedFiles:
    """Packed files of N-Triples with damaged bytes; the first byte of a case says how it is packed."""

    name = "packed"
    batch = 1
    _content = b'<http://e/s> <http://e/p> "o" .\n' * 20

    def case(self, random: Random) -> bytes:
        number = random.randrange(len(_PACKERS))
        packed = list(_PACKERS.values())[number](self._content)
        return bytes((number,)) + mutated_bytes(random, packed)

    def run(self, cases: Sequence[bytes]) -> list[str]:
        return [outcome(partial(self._read, case)) for case in cases]

    @staticmethod
    def _read(case: bytes) -> None:
        packing = list(_PACKERS)[case[0]]
        kind = FileFormat(RdfFormat.N_TRIPLES, packing)
        deque(entries_of("case", kind, "http://b/", lambda: unpacked(case[1:], packing), _WAYS[0]), maxlen=0)
