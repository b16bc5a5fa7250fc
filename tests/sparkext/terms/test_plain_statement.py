"""The quick reader of plain lines: whatever it finds, the full reader finds as well; what it leaves, that one decides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.sparkext.terms.test_nquads_reader import Statement

XSD = "http://www.w3.org/2001/XMLSchema#"
IRIS = st.sampled_from(
    ["<http://ex.org/s>", "<a:>", "<urn:x-y+1.z:%20>", "<a>", "<>", "<1a:b>", "<a:b c>", "<a:é>"]
)
LITERALS = st.builds(
    str.__add__,
    st.sampled_from(['""', '"a b."', '"\\n"', '"é"', '"\x7f<>"', '"a\tb"', '"x', '"\\"']),
    st.sampled_from(
        ["", "@en", "@en-US", "@EN", "@en--ltr", "@", " @en", "@e1", f"^^<{XSD}string>", "^^<a>"]
        + [f"^^<{XSD}integer>", f" ^^ <{XSD}integer>", "^^ <a:b>", "^^<a:g>", "^<a:b>", "^^"]
        + ["^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>"]
    ),
)
TERMS = st.one_of(IRIS, IRIS, LITERALS, st.sampled_from(["_:b", "<< <a:b> <a:c> <a:d> >>", ".", ""]))
BLANKS = st.sampled_from([" ", " ", "", "\t", "  ", "\n", "\u00a0"])
ENDS = st.sampled_from([".", ".", ". ", " .\t", ". # a comment", "..", "", "<a:g> ."])


@st.composite
def lines(draw: st.DrawFn) -> str:
    """Lines that are statements, or nearly so."""
    parts = [draw(TERMS) + draw(BLANKS) for _ in range(draw(st.sampled_from([3, 3, 3, 4, 2])))]
    return draw(st.sampled_from(["", "", "", " ", "#"])) + "".join(parts) + draw(ENDS)


@pytest.fixture(scope="module")
def rdf(spark: Any) -> Any:
    return spark._jvm.org.apache.spark.sql.cqels.rdf


def plain(finder: Any, line: str) -> Statement | None:
    utf8 = line.encode()
    if not finder.find(bytearray(utf8), len(utf8)):
        return None
    terms = [utf8[finder.start(i) : finder.until(i)].decode() for i in range(finder.terms())]
    return terms[0], terms[1], terms[2], terms[3] if len(terms) > 3 else None


@settings(max_examples=200)
@given(line=lines(), names_graph=st.booleans())
@example("<a:s> <a:p> <a:o> .", False)
@example('<a:s> <a:p> "x"@en.', True)
@example('<a:s> <a:p> "x" @en .', False)
@example("<a:s> <a:p> <a:o> <a:g> .", True)
@example("<a:s> <a:p> <a:o> <a:g> .", False)
def test_what_is_found_is_what_the_full_reader_reads(rdf: Any, line: str, names_graph: bool) -> None:
    found = plain(rdf.PlainStatement(names_graph), line)
    if found is not None:
        reader = rdf.NQuadsReader("scope", names_graph)
        assert reader.parse(line)
        assert found == (reader.subject(), reader.predicate(), reader.obj(), reader.graph())


@pytest.mark.parametrize(
    ("obj", "rest"),
    [("<a:o>", " ."), ('"a b"', "."), ('"x"@en', "\t. "), (f'"1"^^<{XSD}integer>', " .")],
)
def test_plain_lines_are_found(rdf: Any, obj: str, rest: str) -> None:
    finder = rdf.PlainStatement(True)
    assert plain(finder, f"<a:s> <a:p> {obj}{rest}") == ("<a:s>", "<a:p>", obj, None)
    assert plain(finder, f"<a:s> <a:p>{obj} <a:g>{rest}") == ("<a:s>", "<a:p>", obj, "<a:g>")


@pytest.mark.parametrize(
    "line",
    ["", "# x", "_:a <a:p> <a:o> .", "<a:s> <a:p> <é:o> .", '<a:s> <a:p> "é" .', '<a:s> <a:p> "\\t" .']
    + ["<a:s> <a:p> <a:o> . # x", '<a:s> <a:p> "x"@EN .', f'<a:s> <a:p> "x"^^<{XSD}string> .'],
)
def test_other_lines_are_left_to_the_full_reader(rdf: Any, line: str) -> None:
    assert plain(rdf.PlainStatement(True), line) is None
