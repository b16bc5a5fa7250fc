"""What is left out of a malformed file, and what is refused: whole statements, with their places."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from static_data.errors import MalformedRdfError
from static_data.files.on_error import OnError, Skipped, write_skipped
from static_data.files.packings import Compression, unpacked
from static_data.files.rdf_formats import FileFormat, RdfFormat
from static_data.files.rdf_reader import entries_of, read_lines
from static_data.files.rdf_xml import MOST_ENTITY_TEXT
from static_data.files.reading import Reading

MANY = settings(max_examples=100, derandomize=True, database=None, deadline=None)
NS = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'


def read(
    text: str | bytes, rdf: RdfFormat, on_error: OnError = OnError.SKIP, **contexts: str
) -> tuple[list[str], list[tuple[int | None, str]]]:
    content = text if isinstance(text, bytes) else text.encode()
    kind = FileFormat(rdf, Compression.NONE)
    reading = Reading(on_error=on_error, contexts=contexts)
    entries = list(
        entries_of("f", kind, "http://b/", lambda: unpacked(content, Compression.NONE), reading)
    )
    lines = [entry for entry in entries if isinstance(entry, str)]
    return lines, [(e.line, e.message) for e in entries if isinstance(e, MalformedRdfError)]


# Statements of one line each, with `%d` for a number that makes them differ.
GOOD = [
    "x:s%d x:p x:o .",
    "x:s%d x:p 1 , [ x:q ( 1 2 ) ] .",
    'x:s%d x:p """a. ""b""" ; x:q <http://c/y-[spn]> .',
    "x:s%d x:p 'a.{' . # }",
    "<< x:s%d x:p x:o >> x:q 1 .",
]
BAD = [
    "x:s%d x:p 1 , <http://x/a b> , 2 .",
    "x:s%d x:p [ x:q 1 ; x:r <a|b> ] .",
    'x:s%d x:p 1 ; x:q "a"@en_US .',
    'x:s%d x:p "\\uD83D\\uDE00" .',
    "x:s%d y:p 1 .",
    'x:s%d x:p "no end .',
    "x:s%d x:p .",
]
STATEMENTS = st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=12)


def numbered(choice: Sequence[tuple[bool, int]]) -> list[tuple[bool, str]]:
    return [(good, (GOOD if good else BAD)[i] % n) for n, (good, i) in enumerate(choice)]


@MANY
@given(STATEMENTS, st.booleans())
def test_turtle_without_its_malformed_statements(
    choice: Sequence[tuple[bool, int]], in_graph: bool
) -> None:
    statements = numbered(choice)
    begin, end = ("x:g {\n", "\n}") if in_graph else ("", "")
    head = "@prefix x: <http://x/> .\n" + begin
    rdf = RdfFormat.TRIG if in_graph else RdfFormat.TURTLE
    lines, skipped = read(head + "\n".join(text for _, text in statements) + end, rdf)
    sound = head + "\n".join(text if good else "" for good, text in statements) + end
    assert lines == read(sound, rdf, OnError.FAIL)[0]
    first = 2 + in_graph
    assert [line for line, _ in skipped] == [
        first + n for n, (good, _) in enumerate(statements) if not good
    ]


def test_a_directive_that_is_malformed_costs_what_needs_it() -> None:
    text = "@prefix x: <http://x/> .\n@prefix y: <http:// [> .\ny:a y:b y:c . x:a x:b x:c ."
    lines, skipped = read(text, RdfFormat.TURTLE)
    assert lines == ["<http://x/a> <http://x/b> <http://x/c> ."]
    assert [line for line, _ in skipped] == [2, 3]


def test_graphs_without_a_name_stay_graphs() -> None:
    text = """@prefix : <http://e/> .
[] { :a :b 1 . :a :b 2 } :x :y "bad" "bad" .
:x :y :z GRAPH [
  ] { :c :b 1 } [] { :d :b 1 . :d "bad" 2 . :d :b 3 } { :e :b 1 }"""
    lines, skipped = read(text, RdfFormat.TRIG)
    graphs = [line.removesuffix(" .").partition("integer>")[2].strip() for line in lines]
    assert graphs[0] == graphs[1] and graphs[3] == graphs[4] and graphs[5] == ""
    assert len({*graphs[:5]}) == 3 and all(graph.startswith("_:") for graph in graphs[:5])
    assert len(skipped) == 3


def test_bytes_that_are_not_utf_8_cost_their_statement() -> None:
    good = "<x:s> <x:p> {} .\n"
    for rdf in (RdfFormat.TURTLE, RdfFormat.N_TRIPLES):
        text = (
            good.format("<x:1>").encode()
            + b'<x:s> <x:p> "\xff" .\n'
            + good.format("<x:2>").encode()
        )
        lines, skipped = read(text, rdf)
        assert lines == ["<x:s> <x:p> <x:1> .", "<x:s> <x:p> <x:2> ."]
        assert [line for line, _ in skipped] == [2]


NODES = [
    '<rdf:Description rdf:about="http://e/{}"><e:p>1</e:p><e:q><e:A/></e:q></rdf:Description>',
    '<e:A rdf:about="http://e/{}" e:q="2"/>',
]
BAD_NODES = [
    '<rdf:Description rdf:about="http://e/a b"><e:p>{}</e:p></rdf:Description>',
    '<e:A><e:p>{}</e:p><e:p><e:A><e:p rdf:resource="a|b"/></e:A></e:p></e:A>',
    '<e:A rdf:ID="1 {}"/>',
]


@MANY
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1)), max_size=8), st.booleans())
def test_rdf_xml_without_its_malformed_nodes(
    choice: Sequence[tuple[bool, int]], breaks_off: bool
) -> None:
    nodes = [
        (good, (NODES if good else BAD_NODES)[i].format(n)) for n, (good, i) in enumerate(choice)
    ]
    root = f"<rdf:RDF {NS}>\n"
    end = "<e:A><e:p></e:q></e:A><e:lost/></rdf:RDF>" if breaks_off else "</rdf:RDF>"
    lines, skipped = read(
        root + "\n".join(text for _, text in nodes) + "\n" + end, RdfFormat.RDF_XML
    )
    sound = root + "\n".join(text if good else "" for good, text in nodes) + "</rdf:RDF>"
    assert lines == read(sound, RdfFormat.RDF_XML, OnError.FAIL)[0]
    bad = [2 + n for n, (good, _) in enumerate(nodes) if not good]
    assert [line for line, _ in skipped] == bad + [2 + max(len(nodes), 1)] * breaks_off


def test_json_that_breaks_off_is_left_out_whole() -> None:
    lines, skipped = read('[{"@id": "x:s", "x:p": 1},\n{"@id":]', RdfFormat.JSON_LD)
    assert lines == []
    assert [line for line, _ in skipped] == [2]


def test_json_without_the_triples_of_an_odd_iri() -> None:
    text = '{"@id": "x:s", "x:p": [1, {"@id": "http://a b"}]}'
    lines, skipped = read(text, RdfFormat.JSON_LD)
    assert lines == ['<x:s> <x:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .']
    assert len(skipped) == 1
    assert len(read(text, RdfFormat.JSON_LD, OnError.ACCEPT)[0]) == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"@value": "x", "@type": "http://e/d> <http://e/g"}, "not allowed in an IRI"),
        ({"@id": "http://e/o> <http://e/g"}, "not allowed in an IRI"),
        ({"@value": "x", "@language": "en us"}, "'en us' is no language tag"),
    ],
)
def test_json_without_what_would_be_another_line(value: object, message: str) -> None:
    text = json.dumps({"@id": "x:s", "x:p": ["1", value]})
    lines, skipped = read(text, RdfFormat.JSON_LD)
    assert lines == ['<x:s> <x:p> "1" .']
    assert len(skipped) == 1 and message in skipped[0][1]
    for on_error in (OnError.FAIL, OnError.ACCEPT):
        with pytest.raises(MalformedRdfError, match=message) as caught:
            read(text, RdfFormat.JSON_LD, on_error)
        assert caught.value.line == 1


def test_any_label_of_a_blank_node_in_json() -> None:
    labels = ["_:person 1", "_:a/b", "_:b <http://e/g>", "_:plain"]
    text = json.dumps({"@id": labels[0], "x:p": [{"@id": label} for label in labels]})
    lines, _ = read(text, RdfFormat.JSON_LD, OnError.FAIL)
    assert sorted(lines) == [
        *(f"_:anon-0 <x:p> _:anon-{n} ." for n in range(3)),
        "_:anon-0 <x:p> _:plain .",
    ]


def test_what_would_be_another_line_is_accepted_in_no_xml() -> None:
    text = f'<rdf:RDF {NS}><e:A e:p="1"><e:q rdf:resource="http://e/a> &lt;http://e/g"/></e:A></rdf:RDF>'
    for doctype in ("", "<!DOCTYPE rdf:RDF []>"):
        with pytest.raises(MalformedRdfError, match="not allowed in an IRI"):
            read(doctype + text, RdfFormat.RDF_XML, OnError.ACCEPT)


@pytest.mark.parametrize("iri", ["http://x/a b", "http://x/a|b", "http://x/{a}", "http://x/a^`b"])
def test_iris_are_accepted_as_they_stand(iri: str) -> None:
    texts = {
        RdfFormat.TURTLE: f"<x:s> <x:p> <{iri}> .",
        RdfFormat.RDF_XML: f'<rdf:RDF {NS} xmlns:x="x:"><rdf:Description rdf:about="x:s"><x:p rdf:resource="{iri}"/>'
        "</rdf:Description></rdf:RDF>",
        RdfFormat.JSON_LD: json.dumps({"@id": "x:s", "x:p": {"@id": iri}}),
    }
    for rdf, text in texts.items():
        assert read(text, rdf, OnError.ACCEPT)[0] == [f"<x:s> <x:p> <{iri}> ."]


def test_surrogate_pairs_are_joined() -> None:
    text = '<x:s> <x:p> "\\uD83D\\uDE00" .'
    assert read(text, RdfFormat.TURTLE, OnError.ACCEPT)[0] == ['<x:s> <x:p> "\U0001f600" .']


def test_skipped_is_written_as_json_lines(tmp_path: Path) -> None:
    entries = [Skipped("a.nt", 3, 7, "odd", "<é> ."), Skipped("b.rdf", None, None, "broken")]
    file = tmp_path / "skipped.jsonl"
    assert write_skipped(entries[:1], file) == write_skipped(entries[1:], file) == str(file)
    assert [json.loads(line) for line in file.read_text("utf-8").splitlines()] == [
        {"file": "a.nt", "line": 3, "column": 7, "reason": "odd", "text": "<é> ."},
        {"file": "b.rdf", "line": None, "column": None, "reason": "broken"},
    ]
    made = Path(write_skipped(entries, None))
    assert len(made.read_text("utf-8").splitlines()) == 2
    made.unlink()


# ---- entities --------------------------------------------------------------------------------------


def entities(document_type: str, value: str, attribute: str = "") -> str:
    return (
        f"<!DOCTYPE rdf:RDF {document_type}>\n<rdf:RDF {NS}>\n"
        f'<e:A e:q="{attribute}"><e:p>{value}</e:p></e:A></rdf:RDF>'
    )


@MANY
@given(st.integers(1, 12), st.integers(1, 10), st.booleans(), st.booleans())
def test_entities_expand_within_bounds(
    depth: int, width: int, in_attribute: bool, backwards: bool
) -> None:
    declared = ['<!ENTITY e0 "ha">']
    declared += [f'<!ENTITY e{i} "{f"&e{i - 1};" * width}">' for i in range(1, depth + 1)]
    use = f"&e{depth};"
    text = entities(
        f"[{''.join(declared[::-1] if backwards else declared)}]",
        "" if in_attribute else use,
        use if in_attribute else "",
    )
    # What the declarations say is counted, with the references in them.
    size = 2
    for _ in range(depth):
        size = width * (len(f"&e{depth};") + size)
    if 2 * width**depth > MOST_ENTITY_TEXT:
        with pytest.raises(MalformedRdfError, match="expands to more than 100,000 characters"):
            read(text, RdfFormat.RDF_XML, OnError.FAIL)
    elif size < MOST_ENTITY_TEXT:
        lines, _ = read(text, RdfFormat.RDF_XML, OnError.FAIL)
        assert sum(f'"{"ha" * width**depth}"' in line for line in lines) == 1


def test_many_uses_of_a_long_entity_are_bounded() -> None:
    long = f'[<!ENTITY e "{"x" * 90_000}">]'
    for text in (entities(long, "&e;" * 10_000), entities(long, "", "&e;" * 10_000)):
        with pytest.raises(MalformedRdfError, match=r"expand|amplification"):
            read(text, RdfFormat.RDF_XML, OnError.FAIL)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            entities('[<!ENTITY x SYSTEM "file:///etc/hostname">]', "&x;"),
            "external entity file:///etc/hostname",
        ),
        (entities('[<!ENTITY x SYSTEM "http://e/">]', "", "&x;"), "external entity"),
        (entities('SYSTEM "http://e/a.dtd"', "&x;"), "&x; is not declared in the file"),
        (entities('SYSTEM "http://e/a.dtd"', "", "&x;"), "&x; is not declared in the file"),
        (entities('[<!ENTITY % p SYSTEM "http://e/"> %p;]', "", "&x;"), "&x; is not declared"),
        (entities("[]", "&x;"), "undefined entity"),
    ],
)
def test_what_is_outside_the_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedRdfError, match=message) as caught:
        read(text, RdfFormat.RDF_XML, OnError.FAIL)
    assert caught.value.line == 3


# ---- contexts --------------------------------------------------------------------------------------


def with_context(context: object, **more: object) -> str:
    return json.dumps({"@context": context, "@id": "x:s", "a": "1", **more}, indent=1)


CONTEXTS = {
    "http://c/one": json.dumps({"@context": {"a": "http://e/a", "@base": "http://elsewhere/"}}),
    "http://c/two": json.dumps({"@context": ["one", {"b": {"@id": "http://e/b", "@type": "@id"}}]}),
    "http://c/self": json.dumps({"@context": ["self"]}),
    "http://c/none": "{}",
    "http://b/near": json.dumps({"@context": {"a": "http://e/near"}}),
}


@pytest.mark.parametrize(
    ("context", "iri"),
    [
        ("http://c/one", "http://e/a"),
        (["http://c/two", {"x2": "x:y"}], "http://e/a"),
        (["http://c/one", {"a": "http://e/own"}], "http://e/own"),
        ([{"a": "http://e/own"}, "http://c/one"], "http://e/a"),
        ({"@import": "http://c/one"}, "http://e/a"),
        ({"@import": "http://c/one", "a": "http://e/own"}, "http://e/own"),
        ("near", "http://e/near"),
    ],
)
def test_contexts_come_from_files(context: object, iri: str) -> None:
    lines, _ = read(with_context(context), RdfFormat.JSON_LD, OnError.FAIL, **CONTEXTS)
    assert lines == [f'<x:s> <{iri}> "1" .']


def test_contexts_within_a_document_and_within_terms() -> None:
    scoped = {"t": {"@id": "x:t", "@context": "http://c/two"}}
    text = with_context(
        [scoped, "http://c/one"], t={"b": "rel"}, a={"@context": "http://c/two", "b": "r"}
    )
    lines, _ = read(text, RdfFormat.JSON_LD, OnError.FAIL, **CONTEXTS)
    assert sum("<http://e/b>" in line for line in lines) == 2
    # The base is the document's own, whatever a context from elsewhere says.
    assert sum("<http://b/rel>" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (
            "http://c/other",
            r"<http://c/other> is not fetched.*contexts=.*--context http://c/other=FILE",
        ),
        ([{"x": "x:y"}, "http://c/other"], "<http://c/other> is not fetched"),
        ({"@import": "other"}, "<http://b/other> is not fetched"),
        ("http://c/self", "refers to itself"),
        ("http://c/none", "has no @context"),
    ],
)
def test_a_context_that_is_not_there_is_named(context: object, message: str) -> None:
    with pytest.raises(MalformedRdfError, match=message) as caught:
        read(with_context(context), RdfFormat.JSON_LD, OnError.FAIL, **CONTEXTS)
    assert (caught.value.line, caught.value.column) == (2, 14)
    with pytest.raises(MalformedRdfError, match="is not fetched"):
        read(with_context("http://c/one"), RdfFormat.JSON_LD, OnError.FAIL)


def test_a_file_that_is_read_wrongly_gives_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("<x:s> <x:p> 1 .\n<x:s> <x:p> <a b> .")
    with pytest.raises(MalformedRdfError, match="line 2, column 13"):
        list(read_lines(tmp_path / "a.ttl"))
