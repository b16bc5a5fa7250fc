"""Malformed stream elements: one is set aside with its reason, the rest is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkext.recorded_streams import RecordedStream, read_recorded_stream
from sparkext.recorded_streams.nquads_lines import MalformedLineError, parse_line
from static_data.files.trig_blocks import BlockKind, split_blocks

XSD = "http://www.w3.org/2001/XMLSchema#"
PROV = "http://www.w3.org/ns/prov#generatedAtTime"
HEAD = f"""@prefix : <http://e/> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <{XSD}> .
"""


def trig(name: str, time: int, body: str = ":s :p :o") -> str:
    return f":{name} {{ {body} }}\n:{name} prov:generatedAtTime {time} .\n"


def nq(name: str, time: int) -> str:
    return f'<http://e/s> <http://e/p> "o" <http://e/{name}> .\n{at(name, time)}'


def at(name: str, time: int) -> str:
    return f'<http://e/{name}> <{PROV}> "{time}"^^<{XSD}integer> .\n'


def read(folder: Path, name: str, text: str | bytes) -> RecordedStream:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_recorded_stream(path)


def names(stream: RecordedStream) -> list[str]:
    return [element.graph[len("<http://e/") : -1] for element in stream.elements]


def aside(stream: RecordedStream) -> list[tuple[str | None, int | None]]:
    """Which elements were set aside, and the line that says so."""
    return [
        (None if s.graph is None else s.graph[len("<http://e/") : -1], s.line)
        for s in stream.set_aside
    ]


NO_TIME = '<http://e/s> <http://e/p> "o" <http://e/bad> .\n'


@pytest.mark.parametrize(
    ("flaw", "reason", "line"),
    [
        (NO_TIME, "no time", 3),
        (nq("bad", 5) + at("bad", 6), "two times", 3),
        (at("bad", 6) + nq("bad", 5), "two times", 3),
        (nq("bad", 5) + at("bad", 6) + at("bad", 7), "3 times", 3),
        (at("bad", 5), "no triple in a graph", 3),
        (NO_TIME + at("bad", 5).replace("integer", "gYear"), "neither an xsd:dateTime", 3),
        (NO_TIME + f'<http://e/bad> <{PROV}> "soon" .\n', "neither an xsd:dateTime", 3),
        (nq("bad", 5) + NO_TIME.replace('"o"', '"o'), "column 27: expected an RDF term", 5),
        (nq("bad", 5) + NO_TIME.replace("<http://e/p>", "<p>"), "not an absolute IRI", 5),
        (NO_TIME + at("bad", 5).replace(" .", ""), "column ", 4),
    ],
)
def test_nquads_element_with_a_flaw_is_set_aside(
    tmp_path: Path, flaw: str, reason: str, line: int
) -> None:
    stream = read(tmp_path, "s.nq", nq("a", 1) + flaw + nq("z", 2))
    assert names(stream) == ["a", "z"]
    assert aside(stream) == [("bad", line)]
    assert reason in stream.set_aside[0].reason
    assert str(stream.set_aside[0]).startswith(f"{tmp_path}/s.nq:{line}: <http://e/bad>: ")


def test_a_line_that_names_no_element_belongs_to_the_one_around_it(tmp_path: Path) -> None:
    text = nq("a", 1) + NO_TIME + "garbage\n" + NO_TIME + at("bad", 2) + "rubbish\n" + nq("z", 3)
    stream = read(tmp_path, "s.nq", text)
    assert names(stream) == ["a", "z"]
    assert aside(stream) == [(None, 7), ("bad", 4)]


def test_bytes_that_are_not_utf_8_cost_one_element(tmp_path: Path) -> None:
    text = (
        (nq("a", 1) + nq("bad", 2) + nq("z", 3))
        .encode()
        .replace(b'"o" <http://e/bad', b'"\xff" <http://e/bad')
    )
    stream = read(tmp_path, "s.nq", text)
    assert names(stream) == ["a", "z"]
    assert aside(stream) == [("bad", 3)]
    assert "not UTF-8" in stream.set_aside[0].reason


@pytest.mark.parametrize("again", [5, 6])
def test_a_second_element_of_a_used_name_is_set_aside(tmp_path: Path, again: int) -> None:
    """The first stays, whether or not the second has the same time."""
    stream = read(tmp_path, "s.nq", nq("g", 5) + nq("h", 5) + nq("g", again))
    assert names(stream) == ["g", "h"]
    assert aside(stream) == [("g", 5)]
    assert stream.set_aside[0].reason == "its graph name is already used, in line 1"
    stream = read(tmp_path, "s.trig", HEAD + trig("g", 5) + trig("h", 5) + trig("g", again))
    assert names(stream) == ["g", "h"]
    assert aside(stream) == [("g", None)]


def test_a_graph_written_in_pieces_with_one_time_is_one_element(tmp_path: Path) -> None:
    piece = NO_TIME.replace("bad", "g").replace('"o"', '"more"')
    for text in (nq("g", 5) + nq("h", 6) + piece, piece + nq("h", 6) + nq("g", 5)):
        stream = read(tmp_path, "s.nq", text)
        assert stream.set_aside == []
        assert sorted(names(stream)) == ["g", "h"]
        assert {len(e.triples) for e in stream.elements if e.graph == "<http://e/g>"} == {2}


def test_the_same_time_triple_twice_is_one(tmp_path: Path) -> None:
    for text in (nq("g", 5) + at("g", 5), nq("g", 5) + nq("h", 6) + at("g", 5)):
        stream = read(tmp_path, "s.nq", text)
        assert stream.set_aside == []
        assert "g" in names(stream)


@pytest.mark.parametrize(
    ("flaw", "line"),
    [
        (trig("bad", 5, ":s :p"), 6),
        (trig("bad", 5, ':s :p "never ends'), 6),
        (trig("bad", 5, ":s :p 'x' .\n :s unknown:p :o"), 7),
        (trig("bad", 5, ":s :p <http://e/a b>"), 6),
        (trig("bad", 5).replace("generatedAtTime 5", "generatedAtTime"), 7),
        (trig("bad", 5).replace(" }", ""), 6),
        (trig("bad", 5).replace("5 .", "5 "), 7),
    ],
)
def test_trig_syntax_error_costs_one_element(tmp_path: Path, flaw: str, line: int) -> None:
    stream = read(tmp_path, "s.trig", HEAD + trig("a", 1) + flaw + trig("z", 2) + trig("y", 3))
    assert names(stream) == ["a", "z", "y"]
    assert [(graph, at_least >= line) for graph, at_least in aside(stream) if at_least] == [
        ("bad", True)
    ]
    assert len(stream.set_aside) == 1


def test_trig_recovery_among_many_elements(tmp_path: Path) -> None:
    """More statements than one piece; anonymous blank nodes stay apart."""
    good = [trig(f"g{k}", k, ":s :p [ :q 1 ] , [ :q 2 ]") for k in range(700)]
    good.insert(333, trig("bad", 5, ":s :p ."))
    good.insert(
        600,
        "@prefix ex: <http://e/> .\nex:late { ex:s ex:p [] } ex:late prov:generatedAtTime 9 .\n",
    )
    stream = read(tmp_path, "s.trig", HEAD + "".join(good))
    assert len(stream.elements) == 701
    assert aside(stream) == [("bad", 4 + 2 * 333)]
    assert {len(e.triples) for e in stream.elements if e.graph != "<http://e/late>"} == {4}


def test_trig_malformed_directive_is_reported_with_what_hangs_on_it(tmp_path: Path) -> None:
    stream = read(tmp_path, "s.trig", HEAD + "@prefix x: <not closed .\n" + trig("a", 1))
    assert names(stream) == ["a"]
    assert len(stream.set_aside) == 1
    assert stream.set_aside[0].graph is None


def test_blocks_of_a_trig_document() -> None:
    document = '''@prefix ex: <http://e/#> . # } {
PREFIX ex2: <http://e/.>
ex:a.b { ex:s ex:p """long " } string""" , 'x\\'}' , 1.5 . }
{ ex:default ex:graph <http://e/#.> }
GRAPH ex:g { ex:s ex:p [ ex:q ( 1 2 ) ] }
<< ex:s ex:p 1.5 >> ex:c 0.5 .'''
    blocks = list(split_blocks(document))
    kinds = [block.kind.value for block in blocks]
    assert kinds == ["directive", "directive", "graph", "graph", "graph", "triples"]
    assert [block.line for block in blocks] == [1, 2, 3, 4, 5, 6]
    assert [block.name for block in blocks[2:5]] == ["ex:a.b", "", "ex:g"]
    assert blocks[2].kind is BlockKind.GRAPH
    assert "".join(block.text for block in blocks) == document.replace(" # } {", "").replace(
        "\n", ""
    )


@pytest.mark.parametrize(
    "line",
    [
        '"s" <http://e/p> <http://e/o> .',
        "<http://e/s> _:p <http://e/o> .",
        "<http://e/s> <http://e/p> .",
        "<http://e/s> <http://e/p> <http://e/o>",
        "<http://e/s> <http://e/p> <http://e/o> . .",
        '<http://e/s> <http://e/p> "o" "g" .',
        '<http://e/s> <http://e/p> "o\\x" .',
        '<http://e/s> <http://e/p> "\\uD800" .',
        '<http://e/s> <http://e/p> "o"@ .',
        '<http://e/s> <http://e/p> "o"^^<integer> .',
        '<http://e/s> <http://e/p> "o"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .',
        "<http://e/\\u0020> <http://e/p> <http://e/o> .",
        "<< <http://e/s> <http://e/p> <http://e/o> <http://e/p> <http://e/o> .",
        "<<( <http://e/s> <http://e/p> <http://e/o> >> <http://e/p> <http://e/o> .",
        "@prefix : <http://e/> .",
    ],
)
def test_malformed_lines_are_refused_with_a_column(line: str) -> None:
    with pytest.raises(MalformedLineError) as error:
        parse_line(line)
    assert 1 <= error.value.column <= len(line) + 1
