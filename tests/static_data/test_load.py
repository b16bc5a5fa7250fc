"""Loading: every format, named graphs, blank nodes, malformed files, collisions of ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from static_data.errors import (
    MalformedRdfError,
    MissingFileError,
    UnknownGraphError,
    UnsupportedFormatError,
)
from static_data.graph_names import GraphName
from static_data.store import StaticStore
from tests.static_data.rdf_samples import (
    EX,
    PLAIN,
    XSD,
    oracle_quads,
    serialised,
    store_quads,
    write_as,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def store(spark: SparkSession) -> Iterator[StaticStore]:
    made = StaticStore(spark, driver_bytes=0)
    yield made
    made.close()


FORMATS = [
    ("nt", ox.RdfFormat.N_TRIPLES),
    ("nq", ox.RdfFormat.N_QUADS),
    ("ttl", ox.RdfFormat.TURTLE),
    ("trig", ox.RdfFormat.TRIG),
    ("rdf", ox.RdfFormat.RDF_XML),
    ("jsonld", ox.RdfFormat.JSON_LD),
]


def test_every_format_and_packing_gives_the_same_quads(store: StaticStore, tmp_path: Path) -> None:
    expected = oracle_quads(PLAIN.encode(), ox.RdfFormat.N_TRIPLES)
    packed = [("nt.gz", ox.RdfFormat.N_TRIPLES), ("nq.bz2", ox.RdfFormat.N_QUADS)]
    packed += [("ttl.gz", ox.RdfFormat.TURTLE)]
    for extension, format in FORMATS + packed:
        path = write_as(tmp_path, f"a.{extension}", serialised(PLAIN, format))
        store.load(path, graph=EX + extension)
    found = store_quads(store)
    assert max(found.values()) == 1
    for extension, _ in FORMATS + packed:
        quads = {(s, p, o, None) for s, p, o, g in found if g == f"<{EX}{extension}>"}
        assert quads == expected, extension
    assert len(found) == len(expected) * len(FORMATS + packed)
    # All graphs together need each term once.
    terms = {t for quad in found for t in quad if t}
    dictionary = {t for t in terms if store.lookup(t) < 8 << 58}
    assert store.dictionary.staticSize() == len(dictionary)


def test_all_files_of_one_call_in_parallel(store: StaticStore, tmp_path: Path) -> None:
    files = [
        write_as(tmp_path, f"a{i}.{extension}", serialised(PLAIN, format))
        for i, (extension, format) in enumerate(FORMATS)
    ]
    report = store.load(files)
    expected = oracle_quads(PLAIN.encode(), ox.RdfFormat.N_TRIPLES)
    assert store_quads(store) == Counter(expected)
    assert report.files == len(FORMATS)
    assert report.statements == len(FORMATS) * len(expected)
    assert report.quads_added == len(expected)
    assert report.duplicates == report.statements - len(expected)
    assert report.bytes == sum(file.stat().st_size for file in files)


def test_named_graphs_and_the_default_of_the_load(store: StaticStore, tmp_path: Path) -> None:
    nquads = f"<{EX}a> <{EX}p> <{EX}b> .\n<{EX}a> <{EX}p> <{EX}c> <{EX}g> .\n"
    store.load(write_as(tmp_path, "a.nq", nquads.encode()))
    trig = f"<{EX}a> <{EX}p> <{EX}d> . <{EX}g> {{ <{EX}a> <{EX}p> <{EX}c>, <{EX}e> }}"
    store.load(write_as(tmp_path, "a.trig", trig.encode()), graph=EX + "h")
    assert store_quads(store) == Counter(
        (f"<{EX}a>", f"<{EX}p>", f"<{EX}{o}>", g and f"<{EX}{g}>")
        for o, g in [("b", None), ("c", "g"), ("d", "h"), ("e", "g")]
    )
    assert store.graphs() == [
        GraphName(0, None),
        GraphName(store.graph_id(EX + "g"), f"<{EX}g>"),
        GraphName(store.graph_id(f"<{EX}h>"), f"<{EX}h>"),
    ]
    p = store.lookup(f"<{EX}p>")
    assert store.predicates(store.graph_id(EX + "g")) == [p]
    rows = store.table(store.graph_id(EX + "g"), p).collect()
    assert {(store.text(s), store.text(o)) for s, o in rows} == {
        (f"<{EX}a>", f"<{EX}c>"),
        (f"<{EX}a>", f"<{EX}e>"),
    }
    assert store.row_count(store.graph_id(EX + "g"), p) == 2
    assert store.row_count(0) == 1
    assert store.table(0, store.graph_id(EX + "g")).collect() == []
    with pytest.raises(UnknownGraphError, match=r"<http://example\.org/p>"):
        store.graph_id(EX + "p")


def test_an_empty_file_makes_its_graph_known(store: StaticStore, tmp_path: Path) -> None:
    report = store.load(write_as(tmp_path, "a.nt", b""), graph=EX + "empty")
    assert (report.statements, report.quads_added) == (0, 0)
    assert store.quads(store.graph_id(EX + "empty")).collect() == []
    assert store.dictionary.sweepUnreferenced() == 0
    assert store.graph_id(EX + "empty") != 0


def test_a_line_of_ntriples_cannot_name_a_graph(store: StaticStore, tmp_path: Path) -> None:
    path = write_as(tmp_path, "a.nt", f"<{EX}a> <{EX}p> <{EX}b> <{EX}g> .\n".encode())
    with pytest.raises(MalformedRdfError, match="line 1"):
        store.load(path)
    store.load(path, format="nq")
    assert store.graph_id(EX + "g") != 0


def test_blank_nodes_belong_to_their_file(store: StaticStore, tmp_path: Path) -> None:
    text = f"_:x <{EX}p> _:y .\n_:y <{EX}p> _:x ."
    one = write_as(tmp_path, "1.nt", text.encode())
    two = write_as(tmp_path, "2.ttl", f"{text} [] <{EX}p> [ <{EX}p> _:x ] .".encode())
    store.load([one, two])
    store.load(one)
    found = list(store_quads(store))
    assert len(found) == 8
    assert len({t for s, _, o, _ in found for t in (s, o)}) == 2 + 4 + 2
    loops = [(s, o) for s, _, o, _ in found if any((o, s) == (a, b) for a, _, b, _ in found)]
    assert len(loops) == 6


STAR = f"""
<< <{EX}s> <{EX}p> "o"@EN >> <{EX}q> _:x .
<{EX}a> <{EX}q> << << _:x <{EX}p> "1"^^<{XSD}integer> >> <{EX}p> << <{EX}s> <{EX}p> "o"@en >> >> .
<{EX}a> <{EX}q> <<( <{EX}s> <{EX}p> "o"@en )>> .
"""


@pytest.mark.parametrize("name", ["a.nt", "a.nq.gz", "_hidden.nt"])
def test_quoted_triples_of_line_based_files(store: StaticStore, tmp_path: Path, name: str) -> None:
    store.load(write_as(tmp_path, name, STAR.encode()))
    inner = f'<< <{EX}s> <{EX}p> "o"@en >>'
    one = f'"1"^^<{XSD}integer>'
    assert store_quads(store) == Counter(
        [
            (inner, f"<{EX}q>", "_:f0_x", None),
            (
                f"<{EX}a>",
                f"<{EX}q>",
                f"<< << _:f0_x <{EX}p> {one} >> <{EX}p> {inner} >>",
                None,
            ),
            (f"<{EX}a>", f"<{EX}q>", inner, None),
        ]
    )
    quoted = store.lookup(inner)
    assert quoted < 0
    assert [store.text(part) for part in store.dictionary.quoted(quoted)] == [
        f"<{EX}s>",
        f"<{EX}p>",
        '"o"@en',
    ]


def test_quoted_triples_of_turtle_are_those_of_ntriples(store: StaticStore, tmp_path: Path) -> None:
    turtle = f"@prefix : <{EX}> . :s :p :o {{| :q 1 |}} . << :a :b << :c :d :e >> >> :q 2 ."
    ntriples = (
        f"<{EX}s> <{EX}p> <{EX}o> .\n"
        f'<< <{EX}s> <{EX}p> <{EX}o> >> <{EX}q> "1"^^<{XSD}integer> .\n'
        f"<< <{EX}a> <{EX}b> << <{EX}c> <{EX}d> <{EX}e> >> >>"
        f' <{EX}q> "2"^^<{XSD}integer> .\n'
    )
    first = store.load(write_as(tmp_path, "a.ttl", turtle.encode()))
    second = store.load(write_as(tmp_path, "a.nt", ntriples.encode()))
    assert (first.quads_added, second.quads_added) == (3, 0)


def test_odd_file_names(store: StaticStore, tmp_path: Path) -> None:
    line = f"<{EX}a> <{EX}p> <{EX}%d> .\n"
    odd = [
        "a b.nt",
        "a%20b.nt",
        "UP.NT.GZ",
        "UP.NT.BZ2",
        "[1]{x,y}*?.nt",
        "caf\u00e9.nt.gz",
        ".dot.nt",
        "a,b.ttl",
        "#x.ttl",
    ]
    files = [write_as(tmp_path, n, (line % i).encode()) for i, n in enumerate(odd)]
    store.load(files)
    assert {o for _, _, o, _ in store_quads(store)} == {f"<{EX}{i}>" for i in range(len(odd))}


def test_files_are_cut_at_line_ends(store: StaticStore, tmp_path: Path) -> None:
    # Larger than the smallest piece that Spark cuts (4 MB), plain and packed.
    count = 60_000
    text = "".join(
        f'<{EX}s{i}> <{EX}p> "value \u00e4 number {i} {"x" * 40}" .\n' for i in range(count)
    )
    assert len(text) > 5 << 20
    for name in ("big.nt", "big.nt.bz2", "big.nt.gz"):
        store.load(write_as(tmp_path, name, text.encode()), graph=EX + name)
        assert store.row_count(store.graph_id(EX + name)) == count
    assert store.dictionary.staticSize() == 2 * count + 1 + 3
    broken = text + "<oops\n"
    with pytest.raises(MalformedRdfError) as caught:
        store.load(write_as(tmp_path, "broken.nt", broken.encode()))
    assert (caught.value.line, caught.value.column) == (count + 1, 6)


GOOD = f"<{EX}a> <{EX}p> <{EX}b> .\n"


@pytest.mark.parametrize(
    ("name", "content", "line", "column"),
    [
        ("bad.nt", GOOD * 3 + f"<{EX}a> <{EX}p> x .\n" + GOOD, 4, 47),
        ("bad.nq.gz", GOOD + f"<{EX}a> <{EX}p>", 2, 46),
        ("bad.nt.bz2", "\n# note\n" + GOOD + '"a" <http://e/p> "b" .', 4, 1),
        ("bad.nt", "\ufeff<a> <b> <c> .\n", 1, 2),
        ("bad.ttl", f"@prefix : <{EX}> .\n:a :b .", 2, 7),
        ("bad.trig.gz", f"<{EX}g> {{ <{EX}a> <{EX}p> }}", 1, 72),
    ],
)
def test_malformed_file_names_the_place_and_changes_nothing(
    store: StaticStore, tmp_path: Path, name: str, content: str, line: int, column: int
) -> None:
    good = write_as(tmp_path, "good.nt", GOOD.encode())
    bad = write_as(tmp_path, name, content.encode())
    with pytest.raises(MalformedRdfError) as caught:
        store.load([good, bad], graph=EX + "g")
    assert caught.value.file == str(bad)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert store.quads().collect() == []
    assert store.graphs() == [GraphName(0, None)]
    assert store.version == 0
    assert store.dictionary.staticSize() == store.dictionary.streamSize() == 0
    assert store.load(good).quads_added == 1


def test_the_first_file_with_an_error_is_named(store: StaticStore, tmp_path: Path) -> None:
    files = [
        write_as(tmp_path, f"{i}.{extension}", content.encode())
        for i, (extension, content) in enumerate(
            [("nt", GOOD), ("ttl", "oops"), ("nt", "oops"), ("jsonld", "oops")]
        )
    ]
    with pytest.raises(MalformedRdfError) as caught:
        store.load(files)
    assert caught.value.file == str(files[1])
    with pytest.raises(MalformedRdfError) as caught:
        store.load([files[0], files[2], files[1]])
    assert caught.value.file == str(files[2])


def test_bytes_that_are_not_utf8(store: StaticStore, tmp_path: Path) -> None:
    path = write_as(tmp_path, "a.nt", GOOD.encode() + b'<http://e/a> <http://e/p> "\xff" .\n')
    with pytest.raises(MalformedRdfError, match="UTF-8") as caught:
        store.load(path)
    assert (caught.value.line, caught.value.column) == (2, 28)
    # The replacement character itself is a character like any other.
    store.load(write_as(tmp_path, "b.nt", '<http://e/a> <http://e/p> "\ufffd" .\n'.encode()))
    assert [o for _, _, o, _ in store_quads(store)] == ['"\ufffd"']


@pytest.mark.parametrize("name", ["a.nt.gz", "a.nt.bz2", "a.ttl.gz"])
def test_broken_compression(store: StaticStore, tmp_path: Path, name: str) -> None:
    whole = write_as(tmp_path, name, GOOD.encode() * 2000).read_bytes()
    for content in (b"not packed at all", whole[: len(whole) // 2], whole[:6]):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(MalformedRdfError) as caught:
            store.load(tmp_path / name)
        assert caught.value.file == str(tmp_path / name)
        assert store.quads().collect() == []


def test_missing_and_unknown_files(store: StaticStore, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"nothing\.nt"):
        store.load(tmp_path / "nothing.nt")
    with pytest.raises(UnsupportedFormatError, match=r"a\.csv"):
        store.load(write_as(tmp_path, "a.csv", b""))


@pytest.mark.parametrize("bits", [8, 10])
def test_colliding_ids_are_mended(spark: SparkSession, tmp_path: Path, bits: int) -> None:
    # 120 terms of one kind among 256 or 1,024 hashes: many pairs share one.
    text = "".join(
        f'<{EX}s{i % 40}> <{EX}p{i % 3}> << <{EX}s{i}> <{EX}p1> "{i}" >> .\n' for i in range(80)
    )
    files = [
        write_as(tmp_path, f"{i}.{e}", part.encode())
        for i, (e, part) in enumerate(
            [("nt", "".join(text.splitlines(keepends=True)[::2])), ("nq", text), ("nt", text)]
        )
    ]
    expected = Counter(
        (
            f"<{EX}s{i % 40}>",
            f"<{EX}p{i % 3}>",
            f'<< <{EX}s{i}> <{EX}p1> "{i}" >>',
            None,
        )
        for i in range(80)
    )
    ids = []
    for order in (files, files[::-1]):
        store = StaticStore(spark, driver_bytes=0)
        store.dictionary.setHashBits(bits)
        early = store.dictionary.encodeRetained(f"<{EX}s77>")
        store.load(order)
        assert store_quads(store) == expected
        assert store.lookup(f"<{EX}s77>") == early
        assert store.dictionary.exceptionCount() > 0
        terms = {f"<{EX}s{i}>" for i in range(80)} | {o for _, _, o, _ in expected}
        coded = {term: store.lookup(term) for term in sorted(terms)}
        assert len(set(coded.values())) == len(terms)
        assert all(store.text(number) == term for term, number in coded.items())
        ids.append(coded)
        # A later load must find the same ids, though it meets only some of the terms.
        assert store.load(files[0]).quads_added == 0
        assert {term: store.lookup(term) for term in sorted(terms)} == coded
        store.save(tmp_path / f"saved{len(ids)}")
        reopened = StaticStore(spark, driver_bytes=0)
        reopened.dictionary.setHashBits(bits)
        reopened.open(tmp_path / f"saved{len(ids)}")
        assert store_quads(reopened) == expected
        assert {term: reopened.lookup(term) for term in sorted(terms)} == coded
        assert reopened.load(files[1]).quads_added == 0
        reopened.close()
        store.close()
    assert ids[0] == ids[1]


def test_stream_terms_keep_their_ids(store: StaticStore, tmp_path: Path) -> None:
    before = store.dictionary.encodeRetained(f"<{EX}a>")
    store.load(write_as(tmp_path, "a.nt", GOOD.encode()))
    assert store.lookup(f"<{EX}a>") == before
    assert store.dictionary.streamSize() == 0


def test_progress_is_shown_when_asked(
    store: StaticStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_as(tmp_path, "a.nt", GOOD.encode())
    store.load(path)
    assert capsys.readouterr().err == ""
    store.load(path, progress=True)
    assert "100%" in capsys.readouterr().err
