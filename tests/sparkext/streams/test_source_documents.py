"""Documents of a streaming DataFrame: what tasks read is what the reader of recordings reads in Python."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from sparkext.recorded_streams import SetAside, StreamElement
from sparkext.recorded_streams.reader import read_document
from sparkext.runtime.streams.numbered_batches import Entry
from sparkext.runtime.streams.source_documents import document_format
from static_data.files.rdf_formats import RdfFormat
from static_data.files.rdf_version import RdfVersion
from static_data.jvm import extension
from tests.sparkext.listening import PROV_TIME, E, listen, settings
from tests.sparkext.recorded_streams.random_recordings import recordings
from tests.sparkext.recorded_streams.whole_replay import XSD, at, element, quad
from tests.sparkext.streams.fed_documents import feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers
    from sparkext.runtime.streams.stream import Stream

_NUMBERS = count()
NULL = "no document (null)"
BOM = b"\xef\xbb\xbf"

TRIG = st.sampled_from(
    [
        f"@prefix : <{E}> . :t <{PROV_TIME}> 7 . :t {{ :a :p _:x , [ :q 'a{{' ] . << :a :p _:x >> :r 1 }}",
        f"@prefix : <{E}> .\n:u <{PROV_TIME}> 8 .\n:u {{ :a :p oops }}\n:v <{PROV_TIME}> 9 . :v {{ :a :p :v }}",
        f"@prefix : <{E}> . :w {{ :a :p :o }}",
        f'<{E}x> <{PROV_TIME}> "1970-01-01T00:00:00.011Z"^^<{XSD}dateTime> . <{E}x> {{ <{E}a> <{E}p> "é"@EN }}',
        f"_:g <{PROV_TIME}> 3 . _:g {{ _:g <{E}p> _:h }} garbage",
        "{ <http://e/a> <http://e/p> 1 }",
        "{",
    ]
).map(str.encode)


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    from sparkext import Engine

    with settings(spark, allowedLateness="10"), closing(Engine(spark)) as made:
        yield made


@pytest.fixture(scope="module")
def counting(spark: SparkSession) -> Iterator[Engine]:
    """An engine of bags: it tells how often an element has a triple."""
    from sparkext import Engine

    with (
        settings(spark, allowedLateness="10", duplicates="bag"),
        closing(Engine(spark)) as made,
    ):
        yield made


def fresh(engine: Engine) -> tuple[Stream, list[Answers]]:
    """A stream of its own, and all that is in a window over it."""
    iri = f"{E}s{next(_NUMBERS)}"
    stream = engine.register_stream(iri)
    text = (
        f"REGISTER RSTREAM <{iri}q> AS SELECT * FROM NAMED WINDOW <{E}w> ON <{iri}> [RANGE 7 STEP 3] WHERE {{"
        f" {{ WINDOW <{E}w> {{ GRAPH ?g {{ ?x ?p ?y }} }} }} UNION {{ WINDOW <{E}w> {{ ?x ?p ?y }} }} }}"
    )
    return stream, listen(engine, text, f"{iri}q")


def heard_of(engine: Engine, stream: Stream, heard: list[Answers]) -> list[tuple[int, object]]:
    """Answers by time when the stream has ended, blank nodes without their labels."""
    stream.advance_to(10_000)
    engine.stop_query(f"{stream.iri}q")
    return [
        (
            answers.time,
            Counter(
                tuple(None if t is None else re.sub(r"_:[\w-]+", "_:", t) for t in row.values())
                for row in answers
            ),
        )
        for answers in heard
    ]


def read(
    documents: Sequence[bytes | None], format: str, version: RdfVersion = RdfVersion.STAR
) -> tuple[list[StreamElement], list[str]]:
    """The elements of documents, and what is set aside, as the reader in Python has it."""
    elements: list[StreamElement] = []
    set_aside: list[str | SetAside] = []
    for document in documents:
        if document is None:
            set_aside.append(NULL)
            continue
        kind = document_format(document)
        if format != "auto":
            kind = RdfFormat.TRIG if format == "trig" else RdfFormat.N_QUADS
        content = document.removeprefix(BOM)
        found, flaws = read_document(content, kind, "document", version=version)
        elements += found
        set_aside += flaws
    return elements, told(set_aside)


def told(set_aside: Sequence[object]) -> list[str]:
    """Of malformed lines, readers differ in the words."""
    return [re.sub(r": column \d+: .*", ": column", str(one)) for one in set_aside]


def check(
    spark: SparkSession,
    engine: Engine,
    documents: Sequence[bytes | None],
    format: str,
    parts: int = 1,
) -> None:
    elements, set_aside = read(documents, format)
    pushed, heard = fresh(engine)
    pushed.push_elements(elements)
    expected = heard_of(engine, pushed, heard)
    stream, heard = fresh(engine)
    feed(spark, stream, documents, format, parts)
    assert heard_of(engine, stream, heard) == expected
    assert told(stream.set_aside) == set_aside
    assert stream.malformed_count == len(set_aside)
    for one in ("accepted_count", "late_count", "newest_time"):
        assert getattr(stream, one) == getattr(pushed, one), one


SOME = examples(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


@SOME
@given(st.lists(st.one_of(recordings(), st.none()), min_size=1, max_size=4), st.integers(1, 2))
@example([element("g", 1).encode(), element("g", 1).encode(), None], 2)
@example([b"", b"\n\r\n", BOM, at("g", 2).encode() + b"\xff"], 1)
def test_documents_of_nquads(
    spark: SparkSession, engine: Engine, documents: list[bytes | None], parts: int
) -> None:
    check(spark, engine, documents, "nquads", parts)


@SOME
@given(
    st.lists(
        st.one_of(TRIG, recordings().map(lambda d: d.removeprefix(BOM)), st.none()), max_size=4
    )
)
def test_documents_of_either_format(
    spark: SparkSession, engine: Engine, documents: list[bytes | None]
) -> None:
    check(spark, engine, documents, "auto")


@SOME
@given(st.lists(st.one_of(TRIG, st.none()), min_size=1, max_size=4))
def test_documents_of_trig(
    spark: SparkSession, engine: Engine, documents: list[bytes | None]
) -> None:
    check(spark, engine, documents, "trig")


@pytest.mark.parametrize("format", ["nquads", "auto"])
def test_a_triple_counts_once_in_its_element(
    spark: SparkSession, counting: Engine, format: str
) -> None:
    twice = element("g", 1) + quad("g", f"<{E}g>") + at("g", 1)
    check(spark, counting, [twice.encode(), twice.encode()], format)


def test_a_stream_of_trig_is_told_by_its_first_document(
    spark: SparkSession, engine: Engine
) -> None:
    """Batches before it, with it and after it are read the same."""
    from sparkext.runtime.streams.source_documents import SourceDocuments
    from static_data.files.reading import Reading

    lines = [element(f"g{time}", time).encode() for time in range(4)]
    trig = f"<{E}t> <{PROV_TIME}> 3 . <{E}t> {{ <{E}a> <{E}p> <{E}o> }}".encode()
    source = SourceDocuments("auto", Reading())
    stream, _ = fresh(engine)
    for number, documents in enumerate([lines[:1], [lines[1], trig], lines[2:3], lines[3:]]):
        batch = spark.createDataFrame([(one,) for one in documents], "value BINARY")
        taking = stream.batch("s", number, lambda room, batch=batch: source.read(room, batch))  # type: ignore[misc]
        assert taking(Entry())
        assert not taking(Entry())
    assert (stream.accepted_count, stream.malformed_count) == (5, 0)


@pytest.mark.parametrize("format", ["nquads", "trig"])
def test_quoted_triples_are_read_as_the_engine_has_them(spark: SparkSession, format: str) -> None:
    from sparkext import Engine

    for version, accepted in (("1.2", 1), ("star", 2)):
        with settings(spark, rdf=version), closing(Engine(spark)) as engine:
            stream, _ = fresh(engine)
            term = f"<<( <{E}a> <{E}p> <{E}o> )>>"
            documents = []
            for number, line in enumerate([f"<{E}s> <{E}p> {term}", f"{term} <{E}p> <{E}o>"]):
                name = f"<{E}g{number}>"
                dated = f'{name} <{PROV_TIME}> "{number}"^^<{XSD}integer> .\n'
                lines = f"{line} {name} ." if format == "nquads" else f"{name} {{ {line} }}"
                documents.append((dated + lines).encode())
            feed(spark, stream, documents, format)
            expected, set_aside = read(documents, format, RdfVersion(version))
            assert stream.accepted_count == len(expected)
            assert told(stream.set_aside) == set_aside
            if format == "nquads":
                assert len(expected) == accepted


PIECES = ['"', "\\", "{", "<", ">", "#", "\n", " ", "a", "é", "}", "\x1f", "\r", ":"]


@examples(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@example('"\\"{"<{>#{')
def test_a_format_is_told_alike(spark: SparkSession, text: str) -> None:
    reader = extension(spark).documents.DocumentReader
    is_trig = document_format(text.encode()) is RdfFormat.TRIG
    assert bool(reader.looksLikeTrig(text.encode())) == is_trig
