"""What a mapping asks for and is not supported, or what is wrong in it, is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from static_data.errors import MalformedRdfError, MappedRowError, MappingError
from static_data.mappings.materialise import Materialiser
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.rows import ArrowRows, JsonRows
from static_data.mappings.source_rows import rows_of_source
from tests.static_data.mappings.mapping_cases import TURTLE_PREFIXES

_SOURCE = 'rml:logicalSource [ rml:source "r.csv"; rml:referenceFormulation ql:CSV ];'
_SUBJECT = 'rr:subjectMap [ rr:template "http://example.com/{id}" ];'


def _refusal(folder: Path, body: str, ending: str = "ttl") -> MappingError:
    file = folder / f"m.{ending}"
    file.write_text(body if ending == "yml" else TURTLE_PREFIXES + body, "utf-8")
    with pytest.raises(MappingError) as caught:
        read_mapping(file)
    assert caught.value.file == str(file)
    assert str(file) in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("line", "body", "property", "message"),
    [
        (
            8,
            f"<#T> {_SOURCE}\n {_SUBJECT}\n rr:predicateObjectMap [ rr:predicate ex:p;"
            ' rr:objectMap [ rr:colum "a" ] ] .',
            "rr:colum",
            "not a property of an object map",
        ),
        (
            6,
            f'<#T> rr:logicalTable [ rr:sqlQuery "SELECT 1" ]; {_SUBJECT} rr:predicateObjectMap [] .',
            "rr:sqlQuery",
            "SQL queries are not supported",
        ),
        (
            8,
            f"@prefix fnml: <http://semweb.mmlab.be/ns/fnml#> .\n<#T> {_SOURCE} {_SUBJECT}\n"
            "rr:predicateObjectMap [ rr:predicate ex:p; rr:objectMap [ fnml:functionValue [] ] ] .",
            "fnml:functionValue",
            "functions are not supported",
        ),
        (6, f"<#T> {_SUBJECT} rr:predicateObjectMap [] .", None, "has one logical source"),
        (
            6,
            f'<#T> {_SOURCE} rr:subjectMap [ rr:template "http://example.com/{{id" ] .',
            "rr:template",
            "column 20: a { that is not closed",
        ),
        (
            6,
            f'<#T> {_SOURCE} rr:subjectMap [ rr:template "http://example.com/a b/{{id}}" ] .',
            "rr:template",
            "' ' cannot be part of an IRI",
        ),
        (
            6,
            f'<#T> {_SOURCE} rr:subjectMap [ rml:reference "id"; rr:termType rr:Literal ] .',
            "rr:termType",
            "a subject cannot be a Literal",
        ),
        (
            6,
            f"<#T> {_SOURCE} {_SUBJECT} rr:predicateObjectMap [ rr:predicate ex:p;"
            ' rr:objectMap [ rml:reference "a"; rr:language "not a tag" ] ] .',
            "rr:language",
            "is not a language tag",
        ),
        (
            6,
            f"<#T> {_SOURCE} {_SUBJECT} rr:predicateObjectMap [ rr:predicate ex:p;"
            ' rr:objectMap [ rml:reference "a"; rr:language "en"; rr:datatype xsd:date ] ] .',
            None,
            "a datatype or a language, not both",
        ),
        (
            6,
            f"<#T> {_SOURCE} {_SUBJECT} rr:predicateObjectMap [ rr:predicate ex:p;"
            ' rr:objectMap [ rml:reference "a"; rr:template "{b}" ] ] .',
            None,
            "has one of rml:constant",
        ),
        (
            6,
            "<#T> rml:logicalSource [ rml:source 'r.xml'; rml:referenceFormulation ql:XPath; rml:iterator '/a' ];"
            f"{_SUBJECT} rr:predicateObjectMap [ rr:predicate ex:p; rr:object ex:o ] .",
            "rml:referenceFormulation",
            "ql:XPath is not supported",
        ),
        (
            6,
            f"<#T> {_SOURCE} {_SUBJECT} rr:predicateObjectMap [ rr:predicate ex:p;"
            " rr:objectMap [ rr:parentTriplesMap <#U> ] ] .\n"
            f"<#U> rr:logicalTable [ rr:tableName 'u' ]; {_SUBJECT} rr:predicateObjectMap"
            " [ rr:predicate ex:p; rr:object ex:o ] .",
            "rr:parentTriplesMap",
            "has another source: a join condition is needed",
        ),
        (
            6,
            "<#T> rml:logicalSource [ rml:source 'r.json'; rml:referenceFormulation ql:JSONPath; rml:iterator '$..a' ];"
            f"{_SUBJECT} rr:predicateObjectMap [ rr:predicate ex:p; rr:object ex:o ] .",
            "rml:iterator",
            "is not supported: a path is made of",
        ),
        *(
            (
                8,
                "@prefix csvw: <http://www.w3.org/ns/csvw#> .\n<#T> rml:logicalSource [\n rml:source"
                f' [ csvw:url "r.csv"; csvw:dialect [ csvw:delimiter ";"; {said} ] ];'
                f" rml:referenceFormulation ql:CSV ]; {_SUBJECT} .",
                said.split()[0],
                f"{said.split(maxsplit=1)[1]} is not supported",
            )
            for said in ('csvw:quoteChar "|"', 'csvw:skipRows "1"', 'csvw:commentPrefix "#"')
        ),
        (
            6,
            f"<#T> {_SOURCE} rr:subjectMap [ rml:quotedTriplesMap <#T> ];"
            " rr:predicateObjectMap [ rr:predicate ex:p; rr:object ex:o ] .",
            None,
            "would quote themselves",
        ),
    ],
)
def test_with_its_place(
    tmp_path: Path, line: int, body: str, property: str | None, message: str
) -> None:
    error = _refusal(tmp_path, body)
    assert message in str(error)
    assert error.property == property
    assert error.line == line
    assert error.triples_map is not None and error.triples_map.endswith("#T>")


def test_nothing_in_it(tmp_path: Path) -> None:
    assert "no triples map" in str(_refusal(tmp_path, "ex:a ex:b ex:c ."))


def test_no_turtle(tmp_path: Path) -> None:
    file = tmp_path / "m.ttl"
    file.write_text("<#a> <#b\n", "utf-8")
    with pytest.raises(MalformedRdfError, match="line 1"):
        read_mapping(file)


@pytest.mark.parametrize(
    ("line", "body", "message"),
    [
        (
            6,
            "mappings:\n  m:\n    source: [r.csv~csv]\n    s: http://e/$(id)\n    po:\n      - [http://e/p]\n",
            "a pair",
        ),
        (
            7,
            "mappings:\n  m:\n    source:\n      - [r.csv~csv]\n    s: http://e/$(id)\n    po:\n"
            "      - {p: http://e/p, o: {function: ex:up}}\n",
            "functions are not supported",
        ),
        (
            3,
            "mappings:\n  m:\n    source: readings\n    s: http://e/$(id)\n",
            "no source is called readings",
        ),
        (
            6,
            "mappings:\n  m:\n    source: [r.csv~csv]\n    s: http://e/$(id)\n    po:\n"
            "      - [http://e/p, $(v)~lang]\n",
            "a language stands before ~lang",
        ),
        (
            3,
            "mappings:\n  m:\n    source: {access: r.csv, delimiter: ''}\n    s: http://e/$(id)\n",
            "a delimiter is one ASCII character, not ''",
        ),
        (
            3,
            "mappings:\n  m:\n    condition: {}\n    sources: []\n",
            "conditions are not supported",
        ),
        *(
            (
                7,
                "mappings:\n  m:\n    source: [r.csv~csv]\n    s: http://e/$(id)\n    po:\n      - p: http://e/p\n"
                f"        o: {{mapping: m, condition: {{function: equal, parameters: {parameters}}}}}\n",
                message,
            )
            for parameters, message in (
                ("[[str1, $(a), s], [str2, $(b), subject]]", "both parameters of a join are of"),
                ("[[str1, $(a)], [str1, $(b)]]", "both parameters of a join are of the same side"),
                ("[[str1, $(a), x], [str2, $(b)]]", "of s, the subject, or o, the object, not 'x'"),
            )
        ),
        (
            4,
            "mappings:\n  m:\n    source: [r.csv~csv]\n    s: e:$(id) x\n    po:\n      - [http://e/p, x]\n",
            "' ' cannot be part of an IRI",
        ),
    ],
)
def test_yarrrml(tmp_path: Path, line: int, body: str, message: str) -> None:
    error = _refusal(tmp_path, body, "yml")
    assert message in str(error)
    assert error.line == line


def test_several_sources_of_which_none_is_named(tmp_path: Path) -> None:
    file = tmp_path / "m.yml"
    maps = (f"  {n}: {{sources: [[{n}.csv~csv]], s: $(id), po: [[a, $(k)]]}}\n" for n in "rs")
    file.write_text("mappings:\n" + "".join(maps), "utf-8")
    with pytest.raises(
        MappingError, match=r"\(r\.csv, s\.csv\): name one by MappingOptions\(logic"
    ):
        read_mapping(file).of_source()


def test_no_yaml(tmp_path: Path) -> None:
    file = tmp_path / "m.yml"
    file.write_text("mappings: [\n", "utf-8")
    with pytest.raises(MalformedRdfError, match="line 2"):
        read_mapping(file)


# ---- rows ----------------------------------------------------------------------------------------

_ONE = TURTLE_PREFIXES + (
    f'<#T> {_SOURCE} rr:subjectMap [ rml:reference "id" ];'
    ' rr:predicateObjectMap [ rr:predicate ex:p; rr:objectMap [ rml:reference "v" ] ] .'
)


def test_a_row_without_an_iri_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.ttl").write_text(_ONE, "utf-8")
    (tmp_path / "r.csv").write_text("id,v\nhttp://e/1,a\nno iri,b\n", "utf-8")
    mapped = read_mapping(tmp_path / "m.ttl").of_source()
    rows = rows_of_source(mapped.source, str(tmp_path / "m.ttl"), {}.get)
    with pytest.raises(MappedRowError, match=r"r\.csv, row 2: 'no iri' is a relative IRI"):
        Materialiser(mapped, {}).quads(rows)
    with_base = read_mapping(tmp_path / "m.ttl", "http://b/").of_source()
    with pytest.raises(MappedRowError, match="'http://b/no iri' is not an IRI"):
        Materialiser(with_base, {}).quads(rows)


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "m.ttl").write_text(_ONE, "utf-8")
    (tmp_path / "r.csv").write_text("id,w\nhttp://e/1,a\n", "utf-8")
    mapped = read_mapping(tmp_path / "m.ttl").of_source()
    rows = rows_of_source(mapped.source, str(tmp_path / "m.ttl"), {}.get)
    assert isinstance(rows, ArrowRows)
    with pytest.raises(MappingError, match=r"no column v; they have id, w"):
        Materialiser(mapped, {}).quads(rows)


def test_values_that_no_literal_holds(tmp_path: Path) -> None:
    body = _ONE.replace("ql:CSV", "ql:JSONPath")
    (tmp_path / "m.ttl").write_text(body, "utf-8")
    mapped = read_mapping(tmp_path / "m.ttl").of_source()
    rows = JsonRows([{"id": "http://e/1", "v": {"a": 1}}], mapped.source)
    with pytest.raises(
        MappedRowError, match=r"r\.csv, row 1: a JSON object has no lexical form: v"
    ):
        Materialiser(mapped, {}).quads(rows)
    with pytest.raises(MappingError, match="a JSON object has no lexical form: v"):
        rows.values(mapped.references()[1])


def test_json_lines_with_a_flaw_name_the_line(tmp_path: Path) -> None:
    body = _ONE.replace("ql:CSV", "ql:JSONPath").replace("r.csv", "r.jsonl")
    (tmp_path / "m.ttl").write_text(body, "utf-8")
    (tmp_path / "r.jsonl").write_text('{"id": "http://e/1"}\n{"id": \n', "utf-8")
    mapped = read_mapping(tmp_path / "m.ttl").of_source()
    with pytest.raises(MappingError, match=r"r\.jsonl, line 2: column 7: no JSON"):
        rows_of_source(mapped.source, str(tmp_path / "m.ttl"), {}.get)


def test_literals_that_look_like_iris_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By YARRRML objects are literals unless they say otherwise, which joins with IRIs never find."""
    file = tmp_path / "m.yml"
    file.write_text(
        "prefixes:\n  ex: http://e/\nmappings:\n  seen:\n    sources:\n      - ['r.csv~csv']\n"
        "    s: ex:$(id)\n    po:\n      - [ex:by, ex:$(camera)]\n      - [ex:at, 'http://e/$(room)']\n"
        "      - [ex:by, ex:$(camera)~iri]\n      - [ex:name, ex:$(name)~literal]\n"
        "      - [ex:note, 'room: $(room)']\n      - [ex:n, ex:$(n), xsd:string]\n"
        "      - [a, ex:$(kind)]\n      - [ex:plain, $(room)]\n",
        "utf-8",
    )
    read_mapping(file)
    assert caplog.messages == [
        f"{file}, line {line}: triples map seen: {text} makes literals: {text}~iri makes IRIs, ~literal says that they"
        " are meant"
        for line, text in ((9, "ex:$(camera)"), (10, "http://e/$(room)"))
    ]
