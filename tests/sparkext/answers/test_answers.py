"""Answer formats, read back by rdflib and by the standard library."""

from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree

import pytest
from rdflib import BNode, Graph, Literal, URIRef, Variable
from rdflib.query import Result

from sparkext.answers import (
    ResultFormat,
    ask_line,
    construct_line,
    select_line,
    write_ask,
    write_construct,
    write_select,
)
from sparkext.answers.result_files import AnswerFormatError

XSD = "http://www.w3.org/2001/XMLSchema#"
NAMES = ["s", "v"]
ROWS = [
    ("<http://e/b>", f'"5"^^<{XSD}integer>'),
    ("<http://e/a>", None),
    ("_:n", '"tab\there, \\"quotes\\" \\\\ and\\nlines <&> é"'),
    ("<http://e/b>", '"chat"@fr'),
    ("<http://e/b>", '"chat"@fr'),
]
RDF = [
    (URIRef("http://e/a"), None),
    (URIRef("http://e/b"), Literal("5", datatype=URIRef(XSD + "integer"))),
    (URIRef("http://e/b"), Literal("chat", lang="fr")),
    (URIRef("http://e/b"), Literal("chat", lang="fr")),
    (BNode("n"), Literal('tab\there, "quotes" \\ and\nlines <&> é')),
]
QUOTED = '<< <http://e/s> <http://e/p> << _:b <http://e/q> "x\\"y" >> >>'


def read_back(format: str, text: str) -> list[tuple[object, object]]:
    result = Result.parse(io.BytesIO(text.encode()), format=format)
    return [tuple(row.get(Variable(name)) for name in NAMES) for row in result.bindings]


@pytest.mark.parametrize("format", ["json", "xml"])
def test_json_and_xml_are_read_back_by_rdflib(format: str) -> None:
    found = read_back(format, write_select(format, NAMES, ROWS))
    # Readers give blank nodes labels of their own.
    assert isinstance(found[-1][0], BNode)
    assert [found[-1][1]] == [RDF[-1][1]]
    assert found[:-1] == RDF[:-1]


def test_csv_is_read_back() -> None:
    text = write_select(ResultFormat.CSV, NAMES, ROWS)
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["s", "v"],
        ["http://e/a", ""],
        ["http://e/b", "5"],
        ["http://e/b", "chat"],
        ["http://e/b", "chat"],
        ["_:n", 'tab\there, "quotes" \\ and\nlines <&> é'],
    ]
    assert [str(row[1] or "") for row in read_back("csv", text)] == [str(v or "") for _, v in RDF]


def test_tsv_is_read_back() -> None:
    text = write_select("tsv", NAMES, ROWS)
    lines = text.split("\n")
    assert lines[0] == "?s\t?v"
    assert lines[1] == "<http://e/a>\t"
    assert lines[5] == '_:n\t"tab\\there, \\"quotes\\" \\\\ and\\nlines <&> é"'
    # rdflib's reader takes no empty fields and keeps nothing of blank nodes' labels.
    full = write_select("tsv", NAMES, [row for row in ROWS if None not in row and row[0] != "_:n"])
    assert read_back("tsv", full) == RDF[1:4]


def test_a_single_unbound_value_is_not_a_blank_line_in_csv() -> None:
    assert write_select("csv", ["x"], [(None,), ("<http://e/a>",)]) == 'x\r\n""\r\nhttp://e/a\r\n'
    assert write_select("csv", [], [()]) == "\r\n\r\n"


def test_json_line_is_one_line_in_the_standard_form() -> None:
    line = select_line(1_769_853_600_000, NAMES, ROWS)
    assert "\n" not in line
    found = json.loads(line)
    assert list(found) == ["time", "head", "results"]
    assert found["time"] == "2026-01-31T10:00:00.000Z"
    assert found["head"] == {"vars": NAMES}
    assert found["results"]["bindings"][0] == {"s": {"type": "uri", "value": "http://e/a"}}
    assert found["results"]["bindings"][2]["v"] == {
        "type": "literal",
        "value": "chat",
        "xml:lang": "fr",
    }
    assert found["results"]["bindings"][1]["v"]["datatype"] == XSD + "integer"
    assert found["results"]["bindings"][4]["s"] == {"type": "bnode", "value": "n"}
    del found["time"]
    assert read_back("json", json.dumps(found))[:-1] == RDF[:-1]


def test_order_by_keeps_the_order_and_no_answer_is_a_line_too() -> None:
    ordered = json.loads(select_line(0, NAMES, ROWS, ordered=True))["results"]["bindings"]
    assert [b["s"]["value"] for b in ordered] == [
        "http://e/b",
        "http://e/a",
        "n",
        "http://e/b",
        "http://e/b",
    ]
    assert json.loads(select_line(0, NAMES, []))["results"] == {"bindings": []}


def test_quoted_triples_in_every_format() -> None:
    parts = {
        "subject": {"type": "uri", "value": "http://e/s"},
        "predicate": {"type": "uri", "value": "http://e/p"},
        "object": {
            "type": "triple",
            "value": {
                "subject": {"type": "bnode", "value": "b"},
                "predicate": {"type": "uri", "value": "http://e/q"},
                "object": {"type": "literal", "value": 'x"y'},
            },
        },
    }
    found = json.loads(write_select("json", ["t"], [(QUOTED,)]))
    assert found["results"]["bindings"] == [{"t": {"type": "triple", "value": parts}}]
    tree = ElementTree.fromstring(write_select("xml", ["t"], [(QUOTED,)]))
    ns = "{http://www.w3.org/2005/sparql-results#}"
    assert [e.tag for e in tree.iterfind(f".//{ns}triple/{ns}object/{ns}triple/*")] == [
        ns + "subject",
        ns + "predicate",
        ns + "object",
    ]
    assert write_select("tsv", ["t"], [(QUOTED,)]) == f"?t\n{QUOTED}\n"
    assert next(csv.reader(io.StringIO(write_select("csv", ["t"], [(QUOTED,)])[3:]))) == [QUOTED]


def test_ask() -> None:
    assert json.loads(ask_line(1, False)) == {
        "time": "1970-01-01T00:00:00.001Z",
        "head": {},
        "boolean": False,
    }
    for format in ("json", "xml"):
        assert Result.parse(io.BytesIO(write_ask(format, True).encode()), format=format).askAnswer
    assert (write_ask("csv", True), write_ask("tsv", False)) == ("true\r\n", "false\n")


def test_construct_gives_a_sorted_graph() -> None:
    triples = [
        ("<http://e/z>", "<http://e/p>", '"1"'),
        ("<http://e/a>", "<http://e/p>", '"a\\nb"@en'),
        ("<http://e/z>", "<http://e/p>", '"1"'),
    ]
    text = write_construct(triples)
    assert len(Graph().parse(data=text, format="nt")) == 2
    assert json.loads(construct_line(0, triples))["triples"] == text.splitlines()
    assert text.startswith("<http://e/a>")


def test_what_a_format_cannot_hold_is_refused() -> None:
    with pytest.raises(AnswerFormatError, match="U\\+0001"):
        write_select("xml", ["x"], [('"\x01"',)])
    with pytest.raises(AnswerFormatError, match="CONSTRUCT"):
        write_select("nt", ["x"], [])
    with pytest.raises(AnswerFormatError, match="truth value"):
        write_ask("nt", True)
    assert "&#13;" in write_select("xml", ["x"], [('"a\\rb"',)])
