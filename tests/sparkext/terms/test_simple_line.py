"""The quick reader of simple lines: what it finds, the full reader finds as well; what it leaves, that one decides."""

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
        [
            *["", "@en", "@en-US", "@EN", "@en--ltr", "@", " @en", "@e1", "^^<a>", "^^ <a:b>"],
            *["^^<a:g>", "^<a:b>", "^^", f"^^<{XSD}integer>", f" ^^ <{XSD}integer>"],
            *[f"^^<{XSD}string>", "^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>"],
        ]
    ),
)
TERMS = st.one_of(
    IRIS, IRIS, LITERALS, st.sampled_from(["_:b", "<< <a:b> <a:c> <a:d> >>", ".", ""])
)
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


def simple(line: Any, text: str, names_graph: bool = True) -> Statement | None:
    utf8 = text.encode()
    if not line.read(bytearray(utf8), 0, len(utf8), names_graph):
        return None
    starts, ends = list(getattr(line, "from")()), list(line.until())
    s, p, o, g = (utf8[a:b].decode() for a, b in zip(starts, ends, strict=True))
    return s, p, o, g if line.hasGraph() else None


@settings(max_examples=200)
@given(line=lines(), names_graph=st.booleans())
@example("<a:s> <a:p> <a:o> .", False)
@example('<a:s> <a:p> "x"@en.', True)
@example('<a:s> <a:p> "x" @en .', False)
@example("<a:s> <a:p> <a:o> <a:g> .", True)
@example("<a:s> <a:p> <a:o> <a:g> .", False)
def test_what_is_found_is_what_the_full_reader_reads(
    rdf: Any, line: str, names_graph: bool
) -> None:
    found = simple(rdf.SimpleLine(), line, names_graph)
    if found is not None:
        reader = rdf.NQuadsReader("scope", names_graph)
        assert reader.parse(line)
        assert found == (reader.subject(), reader.predicate(), reader.obj(), reader.graph())


@pytest.mark.parametrize(
    ("obj", "rest"),
    [("<a:o>", " ."), ('"a b"', "."), ('"\u00e9\t"', "\t. "), (f'"1"^^<{XSD}integer>', " .")],
)
def test_simple_lines_are_found(rdf: Any, obj: str, rest: str) -> None:
    line = rdf.SimpleLine()
    assert simple(line, f"<a:s> <a:p> {obj}{rest}") == ("<a:s>", "<a:p>", obj, None)
    assert simple(line, f"<a:s> <a:p>{obj} <a:g>{rest}") == ("<a:s>", "<a:p>", obj, "<a:g>")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# x",
        "_:a <a:p> <a:o> .",
        "<a:s> <a:p> <\u00e9:o> .",
        '<a:s> <a:p> "\\t" .',
        "<a:s> <a:p> <a:o> . # x",
        '<a:s> <a:p> "x"@EN .',
        '<a:s> <a:p> "x" @en .',
        f'<a:s> <a:p> "x"^^<{XSD}string> .',
    ],
)
def test_other_lines_are_left_to_the_full_reader(rdf: Any, text: str) -> None:
    assert simple(rdf.SimpleLine(), text) is None
