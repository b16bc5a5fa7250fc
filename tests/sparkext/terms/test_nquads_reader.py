"""The reader of N-Triples and N-Quads: canonical texts, exact error columns, W3C conformance."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError

XSD = "http://www.w3.org/2001/XMLSchema#"
S, P, O = "<http://ex.org/s>", "<http://ex.org/p>", "<http://ex.org/o>"  # noqa: E741

Statement = tuple[str, str, str, str | None]


@pytest.fixture(scope="module")
def readers(spark: Any) -> Any:
    return spark._jvm.org.apache.spark.sql.cqels.rdf.NQuadsReader


@pytest.fixture(scope="module")
def reader(readers: Any) -> Any:
    return readers("")


def read(reader: Any, line: str) -> Statement | None:
    if not reader.parse(line):
        return None
    return reader.subject(), reader.predicate(), reader.obj(), reader.graph()


def error(reader: Any, line: str) -> tuple[int, str]:
    with pytest.raises(Py4JJavaError) as caught:
        reader.parse(line)
    malformed = caught.value.java_exception
    assert malformed.getClass().getSimpleName() == "MalformedLine"
    return malformed.column(), malformed.message()


@pytest.mark.parametrize(
    ("line", "statement"),
    [
        (f"{S} {P} {O} .", (S, P, O, None)),
        (f"{S}{P}{O}.", (S, P, O, None)),
        (f"\t {S}\t{P}  {O} .\t# {O}", (S, P, O, None)),
        (f"{S} {P} {O} <http://ex.org/g> .\r\n", (S, P, O, "<http://ex.org/g>")),
        (f"_:a {P} _:b.c _:g .", ("_:a", P, "_:b.c", "_:g")),
        (f"_:a {P} _:b.", ("_:a", P, "_:b", None)),
        (f"_:0é-· {P} _:\U00010400.", ("_:0é-·", P, "_:\U00010400", None)),
        (f'{S} {P} "" .', (S, P, '""', None)),
        (f'{S} {P} "a\\tb\\u0022\\\\\\\'\\b" .', (S, P, '"a\tb\\"\\\\\'\b"', None)),
        (f'{S} {P} "\\n\\r\\u000a\\U0000000D" .', (S, P, '"\\n\\r\\n\\r"', None)),
        (f'{S} {P} "\\U0001F600é" .', (S, P, '"\U0001f600é"', None)),
        (f'{S} {P} "x"@EN-Latn-1 .', (S, P, '"x"@en-latn-1', None)),
        (f'{S} {P} "x"@En--rtl .', (S, P, '"x"@en--rtl', None)),
        (f'{S} {P} "x" @en .', (S, P, '"x"@en', None)),
        (f'{S} {P} "x"^^<{XSD}string> .', (S, P, '"x"', None)),
        (f'{S} {P} "\\u0031" ^^ <{XSD}integer>.', (S, P, f'"1"^^<{XSD}integer>', None)),
        (f'{S} {P} "1"^^<{XSD}\\u0069nteger> .', (S, P, f'"1"^^<{XSD}integer>', None)),
        (
            f"<http://ex.org/\\u00e9\\U0001F600> {P} {O} .",
            ("<http://ex.org/é\U0001f600>", P, O, None),
        ),
        (f"<a+b-c.1:> {P} {O} .", ("<a+b-c.1:>", P, O, None)),
    ],
)
def test_statements(reader: Any, line: str, statement: Statement) -> None:
    assert read(reader, line) == statement


@pytest.mark.parametrize(
    "line", ["", "  \t", "# <", " # x", "\r\n", 'VERSION "1.2"', "VERSION '1.2' # x"]
)
def test_lines_without_a_statement(reader: Any, line: str) -> None:
    assert read(reader, line) is None


@pytest.mark.parametrize(
    ("line", "statement"),
    [
        (f"<< {S} {P} {O} >> {P} {O} .", (f"<< {S} {P} {O} >>", P, O, None)),
        (f"<<{S}{P}{O}>>{P}{O}.", (f"<< {S} {P} {O} >>", P, O, None)),
        (f"<<( {S} {P} {O} )>> {P} {O} .", (f"<< {S} {P} {O} >>", P, O, None)),
        (
            f'{S} {P} <<(<< _:x {P} "a"@EN >> {P} <<{S} {P} "\\u0061">>)>> <http://ex.org/g> .',
            (S, P, f'<< << _:x {P} "a"@en >> {P} << {S} {P} "a" >> >>', "<http://ex.org/g>"),
        ),
    ],
)
def test_quoted_triples_in_both_spellings(reader: Any, line: str, statement: Statement) -> None:
    assert read(reader, line) == statement


def test_blank_nodes_get_the_scope(readers: Any) -> None:
    scoped = readers("f1_")
    assert read(scoped, f"_:a {P} << _:b {P} _:c >> _:g .") == (
        "_:f1_a",
        P,
        f"<< _:f1_b {P} _:f1_c >>",
        "_:f1_g",
    )
    with pytest.raises(Exception, match="not usable in a blank node label"):
        readers("a b")


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ("x", 1, "subject: an IRI, blank node or quoted triple, found 'x'"),
        (f'"a" {P} {O} .', 1, "subject"),
        (f"{S} _:p {O} .", 19, "predicate: an IRI"),
        (f'{S} "p" {O} .', 19, "predicate: an IRI"),
        (f"{S} << {S} {P} {O} >> {O} .", 19, "predicate: an IRI"),
        (f"{S} {P} x .", 37, "object: an IRI, blank node, literal or quoted triple"),
        (f"{S} {P} .", 37, "object"),
        (f"{S} {P}", 36, "object"),
        (f"{S} {P} {O}", 54, "a graph name or the closing '.', found the end of the line"),
        (f'{S} {P} {O} "g" .', 55, "a graph name or the closing '.'"),
        (f"{S} {P} {O} _:g", 58, "expected the closing '.'"),
        (f"{S} {P} {O} . {S}", 57, "the end of the line or a comment"),
        (f"<http://a b> {P} {O} .", 10, "a character that is allowed in an IRI"),
        (f"<http://\U0001f600 b> {P} {O} .", 10, "a character that is allowed in an IRI"),
        (f"<http://a{{> {P} {O} .", 10, "a character that is allowed in an IRI"),
        (f"<http://a\\n> {P} {O} .", 11, "'u' or 'U'"),
        (f"<http://a\\u0020> {P} {O} .", 10, "a character that is allowed in an IRI"),
        (f"<http://a\\u00g0> {P} {O} .", 14, "4 hexadecimal digits"),
        (f"<http://a\\U0000000> {P} {O} .", 19, "8 hexadecimal digits"),
        (f"<http://a\\uD83D\\uDE00> {P} {O} .", 10, "a Unicode character"),
        (f"<a> {P} {O} .", 2, "an absolute IRI"),
        (f"<> {P} {O} .", 2, "an absolute IRI"),
        (f"<//a/b> {P} {O} .", 2, "an absolute IRI"),
        (f"<1a:b> {P} {O} .", 2, "an absolute IRI"),
        ("<http://a", 10, "the closing '>'"),
        (f"_a {P} {O} .", 2, "':' after '_'"),
        (f"_: {P} {O} .", 3, "a blank node label"),
        (f"_:-a {P} {O} .", 3, "a blank node label"),
        (f"_:a:b {P} {O} .", 4, "predicate"),
        (f'{S} {P} "a .', 41, "the closing '\"'"),
        (f'{S} {P} "a\\', 40, "the closing '\"'"),
        (f'{S} {P} "a\\x" .', 40, "after the backslash"),
        (f'{S} {P} "\U0001f600\\x" .', 40, "after the backslash"),
        (f'{S} {P} "\\u12" .', 42, "4 hexadecimal digits"),
        (f'{S} {P} "\\uD800" .', 38, "a Unicode character"),
        (f'{S} {P} "\\U00110000" .', 38, "a Unicode character"),
        (f'{S} {P} "a\nb" .', 39, "no line break"),
        (f'{S} {P} "a"@1 .', 41, "a language tag"),
        (f'{S} {P} "a"@en- .', 44, "a letter or digit"),
        (f'{S} {P} "a"@en--LTR .', 45, "direction 'ltr' or 'rtl'"),
        (f'{S} {P} "a"@en%GB .', 43, "the closing '.'"),
        (f'{S} {P} "a"^^x .', 42, "datatype"),
        (f'{S} {P} "a"^^<x> .', 43, "an absolute IRI"),
        (f'{S} {P} "a"^{O} .', 40, "the closing '.'"),
        (
            f'{S} {P} "a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .',
            42,
            "a language tag",
        ),
        (f"<< {S} {P} >> {P} {O} .", 40, "object"),
        (f'<< "a" {P} {O} >> {P} {O} .', 4, "subject of the quoted triple"),
        (f"<< {S} _:p {O} >> {P} {O} .", 22, "predicate"),
        (f"<<( {S} {P} {O} >> {P} {O} .", 59, "the closing ')>>'"),
        (f"<< {S} {P} {O} {P} >> {P} {O} .", 58, "the closing '>>'"),
        ("VERSION 1.2", 9, "a version in quotation marks"),
    ],
)
def test_errors_tell_column_and_expectation(
    reader: Any, line: str, column: int, expected: str
) -> None:
    found_column, message = error(reader, line)
    assert expected in message
    assert found_column == column


def test_triples_only(readers: Any) -> None:
    triples = readers("", False)
    assert read(triples, f"{S} {P} {O} .") == (S, P, O, None)
    assert error(triples, f"{S} {P} {O} <http://ex.org/g> .")[0] == 55


def test_an_error_does_not_spoil_the_next_line(reader: Any) -> None:
    error(reader, f"<< << << {S}")
    assert read(reader, f"{S} {P} {O} .") == (S, P, O, None)


def test_nesting_has_a_limit_that_is_named(reader: Any) -> None:
    deep = f"{'<< ' * 400}{S}{f' {P} {O} >>' * 400}"
    assert read(reader, f"{deep} {P} {O} .") == (deep, P, O, None)
    assert "500 quoted triples in one another" in error(reader, "<<" * 100_000)[1]


def test_single_terms(reader: Any) -> None:
    assert reader.parseTerm(' "a\\u0062"@EN ') == '"ab"@en'
    assert reader.parseTerm(f"<<{S}{P}{O}>>") == f"<< {S} {P} {O} >>"
    with pytest.raises(Py4JJavaError, match="nothing after the term"):
        reader.parseTerm(f"{S} {P}")


def escaped(text: str) -> str:
    replaced = text.replace("\\", "\\\\").replace('"', '\\"')
    return replaced.replace("\n", "\\n").replace("\r", "\\r")


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.data())
def test_any_spelling_of_a_literal_has_one_canonical_text(
    reader: Any, text: str, data: st.DataObject
) -> None:
    spelled = "".join(
        data.draw(st.sampled_from([escaped(c), f"\\U{ord(c):08X}", f"\\U{ord(c):08x}"]))
        for c in text
    )
    assert read(reader, f'{S} {P} "{spelled}" .') == (S, P, f'"{escaped(text)}"', None)


# ---- W3C ---------------------------------------------------------------------------------------


def w3c_tests(folder: Path) -> list[dict[str, Any]]:
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return [test for test in index["rdf"] if test["format"] in ("nt", "nq")]


def statements(readers: Any, path: Path, rdf12: bool) -> list[Statement]:
    reader = readers("", path.suffix == ".nq", rdf12)
    text = path.read_bytes().decode("utf-8")
    found = [read(reader, line) for line in re.split("\r\n|\n|\r", text)]
    return [statement for statement in found if statement is not None]


def test_w3c_conformance(readers: Any, shared: Path) -> None:
    folder = shared / "w3c" / "dev"
    if not (folder / "index.json").is_file():
        pytest.skip(f"no W3C tests in {folder}")
    tests = w3c_tests(folder)
    wrong = []
    for test in tests:
        # RDF 1.2 knows only `<<( )>>`, and only as object.
        rdf12 = test["id"].startswith("rdf12/")
        try:
            got = statements(readers, folder / test["input"], rdf12)
        except Py4JJavaError as refused:
            assert refused.java_exception.getClass().getSimpleName() == "MalformedLine"
            accepted = False
        else:
            accepted = True
            if test["expect"] == "c14n" and got != statements(
                readers, folder / test["expected"], rdf12
            ):
                wrong.append(f"{test['id']}: other statements than expected")
        if accepted != (test["expect"] != "negative"):
            wrong.append(f"{test['id']}: {'accepted' if accepted else 'refused'}")
    assert wrong == []
    assert len(tests) > 150
