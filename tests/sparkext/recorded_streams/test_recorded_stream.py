"""Recorded streams in TriG(-star) and N-Quads(-star): elements, times, blank nodes, merging."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest

from sparkext.errors import InputFileError
from sparkext.recorded_streams import (
    RecordedStream,
    StreamElement,
    merge_streams,
    read_recorded_stream,
)
from sparkext.recorded_streams.elements import time_of

XSD = "http://www.w3.org/2001/XMLSchema#"
PROV = "http://www.w3.org/ns/prov#generatedAtTime"
SOSA = "http://www.w3.org/ns/sosa/resultTime"
TRIG = f"""
@prefix : <http://e/> .
PREFIX prov: <http://www.w3.org/ns/prov#>
@prefix sosa: <http://www.w3.org/ns/sosa/> . @prefix xsd: <{XSD}> .
:g2 {{ :bob :at :r1 ; :says "a.b }} #" }}   # a comment, with }} and .
:g2 sosa:resultTime "2026-01-31T10:00:02"^^xsd:dateTime ; :by :sensor1 .
GRAPH :g1 {{ << :ann :at :r1 >> :conf 0.9 . :ann :at :r1 }}
:g1 prov:generatedAtTime "2026-01-31T11:00:01+01:00"^^xsd:dateTime .
:g3 prov:generatedAtTime 1769853603000 .
:g3 {{ :cat :knows [ :name "c" ] , _:x . _:x :name "x" }}
:catalogue :title "about no element" .
"""


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def quad(graph: str, subject: str = "<http://e/s>", object_: str = '"o"') -> str:
    return f"{subject} <http://e/p> {object_} <http://e/{graph}> .\n"


def dated(graph: str, time: int, predicate: str = PROV) -> str:
    return f'<http://e/{graph}> <{predicate}> "{time}"^^<{XSD}integer> .\n'


def names(stream: RecordedStream) -> list[str]:
    return [element.graph.removeprefix("<http://e/").rstrip(">") for element in stream.elements]


def test_trig_star_elements_in_time_order(tmp_path: Path) -> None:
    stream = read_recorded_stream(write(tmp_path, "s.trig", TRIG))
    assert stream.set_aside == []
    assert names(stream) == ["g1", "g2", "g3"]
    assert [element.time_ms - 1_769_853_600_000 for element in stream.elements] == [
        1000,
        2000,
        3000,
    ]
    first, second, third = stream.elements
    assert set(first.triples) == {
        f'<< <http://e/ann> <http://e/at> <http://e/r1> >> <http://e/conf> "0.9"^^<{XSD}decimal> .',
        "<http://e/ann> <http://e/at> <http://e/r1> .",
    }
    assert first.time_triple == (
        f'<http://e/g1> <{PROV}> "2026-01-31T11:00:01+01:00"^^<{XSD}dateTime> .'
    )
    assert '<http://e/bob> <http://e/says> "a.b } #" .' in second.triples
    assert second.about == ("<http://e/g2> <http://e/by> <http://e/sensor1> .",)
    assert third.time_triple == f'<http://e/g3> <{PROV}> "1769853603000"^^<{XSD}integer> .'
    assert len(third.triples) == 4
    assert stream.ignored_triples == 1


def test_the_same_stream_in_every_wrapping(tmp_path: Path) -> None:
    reference = read_recorded_stream(write(tmp_path, "s.trig", TRIG))
    nquads = "".join(f"{line}\n" for element in reference.elements for line in element.nquads())
    files = [
        write(tmp_path, "s.trig.gz", gzip.compress(TRIG.encode())),
        write(tmp_path, "s.TRIG.bz2", bz2.compress(TRIG.encode())),
        write(tmp_path, "s.nq", nquads),
        write(tmp_path, "crlf.nq", nquads.replace("\n", "\r\n")),
        write(tmp_path, "s.nq.gz", gzip.compress(nquads.encode())),
    ]
    for file in files:
        assert [e.time_triple for e in read_recorded_stream(file).elements] == [
            e.time_triple for e in reference.elements
        ]
        assert [len(e.triples) for e in read_recorded_stream(file).elements] == [2, 2, 4]
    assert read_recorded_stream(files[2]).elements == reference.elements


def test_nquads_star_terms_become_canonical(tmp_path: Path) -> None:
    lines = [
        '<http://e/s><http://e/p>"a\\u00E9\\t\\n"@EN-gb<http://e/g>.',
        f'<http://e/s> <http://e/p> "plain"^^<{XSD}string> <http://e/g> . # comment',
        '<<_:b <http://e/p> <<(<http://e/s> <http://e/p> "x")>> >> <http://e/p> _:b <http://e/g> .',
        '<< <http://e/a> <http://e/p> "x y>>" >> <http://e/c> _:b <http://e/g> .',
        "  # nothing",
        "",
        dated("g", 7).strip(),
    ]
    (element,) = read_recorded_stream(write(tmp_path, "s.nq", "\n".join(lines))).elements
    assert element.triples == (
        '<http://e/s> <http://e/p> "aé\t\\n"@en-gb .',
        '<http://e/s> <http://e/p> "plain" .',
        '<< _:e0b0 <http://e/p> << <http://e/s> <http://e/p> "x" >> >> <http://e/p> _:e0b0 .',
        '<< <http://e/a> <http://e/p> "x y>>" >> <http://e/c> _:e0b0 .',
    )


def test_blank_nodes_are_scoped_to_their_element(tmp_path: Path) -> None:
    text = quad("g1", "_:a", "_:b") + quad("g1", "_:b") + dated("g1", 1) + quad("g2", "_:a")
    text += dated("g2", 2) + quad("g3", "<http://e/_:a>", '"_:a"') + dated("g3", 3)
    one, two, three = read_recorded_stream(write(tmp_path, "s.nq", text), scope="s7").elements
    assert one.triples == (
        "_:s7e0b0 <http://e/p> _:s7e0b1 .",
        '_:s7e0b1 <http://e/p> "o" .',
    )
    assert two.triples == ('_:s7e1b0 <http://e/p> "o" .',)
    assert three.triples == ('<http://e/_:a> <http://e/p> "_:a" .',)


def test_a_graph_may_be_named_by_a_blank_node(tmp_path: Path) -> None:
    text = f'<http://e/s> <http://e/p> _:o _:g .\n_:g <{PROV}> "5"^^<{XSD}long> .\n'
    (element,) = read_recorded_stream(write(tmp_path, "s.nq", text)).elements
    assert element.graph == "_:e0b0"
    assert element.time_triple.startswith("_:e0b0 ")
    assert element.triples == ("<http://e/s> <http://e/p> _:e0b1 .",)


def test_times_may_stand_before_after_or_apart_from_their_graphs(tmp_path: Path) -> None:
    graphs = [quad(f"g{k}") + quad(f"g{k}", "<http://e/t>") for k in range(3)]
    times = [dated(f"g{k}", 10 - k) for k in range(3)]
    layouts = [
        "".join(t + g for t, g in zip(times, graphs, strict=True)),
        "".join(g + t for t, g in zip(times, graphs, strict=True)),
        "".join(times + graphs),
        "".join(graphs + times),
        "".join(times[::-1] + graphs),
    ]
    for layout in layouts:
        stream = read_recorded_stream(write(tmp_path, "s.nq", layout))
        assert names(stream) == ["g2", "g1", "g0"]
        assert stream.set_aside == []
        assert all(len(element.triples) == 2 for element in stream.elements)


def test_equal_times_keep_the_order_of_the_file_and_arrival_order_can_be_kept(
    tmp_path: Path,
) -> None:
    text = "".join(quad(g) + dated(g, t) for g, t in [("a", 5), ("c", 3), ("b", 5), ("d", 3)])
    file = write(tmp_path, "s.nq", text)
    assert names(read_recorded_stream(file)) == ["c", "d", "a", "b"]
    assert names(read_recorded_stream(file, in_time_order=False)) == ["a", "c", "b", "d"]


def test_time_property_replaces_the_usual_ones(tmp_path: Path) -> None:
    text = quad("g") + dated("g", 5) + dated("g", 9, "http://e/when")
    file = write(tmp_path, "s.nq", text)
    assert [e.time_ms for e in read_recorded_stream(file).elements] == [5]
    (element,) = read_recorded_stream(file, ["http://e/when"]).elements
    assert element.time_ms == 9
    assert element.about == (dated("g", 5).strip(),)


def test_several_files_make_one_stream(tmp_path: Path) -> None:
    first = write(tmp_path, "1.nq", quad("a", "_:x") + dated("a", 9))
    second = write(tmp_path, "2.nq", quad("b", "_:x") + dated("b", 1) + quad("a") + dated("a", 2))
    stream = read_recorded_stream([first, second])
    assert names(stream) == ["b", "a"]
    assert [e.triples[0].split()[0] for e in stream.elements] == ["_:e1b0", "_:e0b0"]
    assert [(s.graph, s.line) for s in stream.set_aside] == [("<http://e/a>", 3)]
    assert "another file" in str(stream.set_aside[0])


def test_merge_is_stable_by_time() -> None:
    def element(name: str, time: int) -> StreamElement:
        return StreamElement(time, name, (), "")

    merged = merge_streams(
        {
            "s": [element("a", 1), element("b", 3), element("c", 3)],
            "t": [element("d", 1), element("e", 2), element("f", 3)],
        }
    )
    assert "".join(e.graph for _, e in merged) == "adebcf"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f'"1970-01-01T00:00:01Z"^^<{XSD}dateTimeStamp>', 1000),
        (f'"-5"^^<{XSD}integer>', -5),
        (f'"+5"^^<{XSD}unsignedLong>', 5),
        (f'"5.0"^^<{XSD}decimal>', None),
        ('"5"', None),
        ('"2026-01-31T10:00:00"', None),
        ("<http://e/5>", None),
        (f'"99999999999999999999"^^<{XSD}integer>', None),
        (f'"2026-02-30T10:00:00"^^<{XSD}dateTime>', None),
        (f'"2026-01-31"^^<{XSD}date>', None),
    ],
)
def test_time_values(value: str, expected: int | None) -> None:
    if expected is not None:
        assert time_of(value) == expected
        return
    with pytest.raises(ValueError, match=r"neither|out of range|not an xsd:dateTime"):
        time_of(value)


def test_files_that_cannot_be_read_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"none\.nq: no such file"):
        read_recorded_stream(tmp_path / "none.nq")
    with pytest.raises(InputFileError, match="TriG or N-Quads"):
        read_recorded_stream(write(tmp_path, "s.ttl", ""))
    with pytest.raises(InputFileError, match=r"broken \.gz file"):
        read_recorded_stream(write(tmp_path, "s.nq.gz", gzip.compress(b"x" * 999)[:-9]))
    with pytest.raises(InputFileError, match=r"broken \.bz2 file"):
        read_recorded_stream(write(tmp_path, "s.trig.bz2", b"no"))
    (tmp_path / "folder.nq").mkdir()
    with pytest.raises(InputFileError, match=r"folder\.nq"):
        read_recorded_stream(tmp_path / "folder.nq")
