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
from pathlib import Path
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
_FOLDER: Final = Path(__file__).parent / "samples"


def _samples(*endings: str) -> tuple[str, ...]:
    files = sorted(path for ending in endings for path in _FOLDER.glob(f"*.{ending}"))
    return tuple(path.read_text(encoding="utf-8") for path in files)


SAMPLES: Final = {
    RdfFormat.TURTLE: _samples("ttl"),
    RdfFormat.TRIG: _samples("trig", "ttl"),
    RdfFormat.N_TRIPLES: _samples("nq"),
    RdfFormat.N_QUADS: _samples("nq"),
    RdfFormat.RDF_XML: _samples("rdf"),
    RdfFormat.JSON_LD: _samples("jsonld"),
}
_CONTEXTS: Final = {
    "http://b/c": '{"@context": {"t": "http://e/t"}}',
    f"{_E}c": '{"@context": "c"}',
}
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
        # With a date of its own: the same bytes each time.
        archive.writestr(zipfile.ZipInfo("a.nt"), content, zipfile.ZIP_DEFLATED)
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
        deque(
            entries_of("case", kind, "http://b/", lambda: unpacked(case[1:], packing), _WAYS[0]),
            maxlen=0,
        )
