"""Terms: canonical text, the round trip through it, and what is not a term."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from static_data.terms import (
    XSD,
    XSD_STRING,
    BlankNode,
    Iri,
    Literal,
    QuotedTriple,
    Term,
    TermSyntaxError,
    parse_term,
)

_IRIS = st.text(
    st.characters(min_codepoint=0x21, exclude_categories=("Cs",), exclude_characters='<>"{}|^`\\'),
    max_size=12,
).map(Iri)
_BLANK_NODES = st.from_regex(r"[A-Za-z_0-9]([A-Za-z0-9_.·-]*[A-Za-z0-9_-])?", fullmatch=True).map(
    BlankNode
)
_LANGUAGES = st.from_regex(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8}){0,2}", fullmatch=True)
_LEXICAL = st.text(st.characters(exclude_categories=("Cs",)) | st.sampled_from('"\\\n\r\t'))
_LITERALS = (
    st.builds(Literal, _LEXICAL)
    | st.builds(lambda lexical, language: Literal(lexical, language=language), _LEXICAL, _LANGUAGES)
    | st.builds(Literal, _LEXICAL, st.sampled_from(["integer", "date"]).map(lambda n: Iri(XSD + n)))
)
_TERMS: st.SearchStrategy[Term] = st.recursive(
    _IRIS | _BLANK_NODES | _LITERALS,
    lambda inner: st.builds(
        QuotedTriple, inner.filter(lambda term: not isinstance(term, Literal)), _IRIS, inner
    ),
    max_leaves=6,
)


@settings(derandomize=True, max_examples=300)
@given(_TERMS)
def test_round_trip(term: Term) -> None:
    again = parse_term(term.n3())
    assert again == term
    assert hash(again) == hash(term)
    assert again.n3() == term.n3()


@settings(derandomize=True, max_examples=200)
@given(_TERMS, _TERMS)
def test_equal_texts_mean_equal_terms(left: Term, right: Term) -> None:
    assert (left.n3() == right.n3()) == (left == right)


@pytest.mark.parametrize("label", ["हिन", "a\u0301", "a·b", "a‿b", "\U0001f600", "٣"])
def test_labels_have_all_characters_of_the_grammar(label: str) -> None:
    assert parse_term(f"_:{label}") == BlankNode(label)


@pytest.mark.parametrize("label", ["²", "\u0301", "·a", "a.", "a\u037e", "-"])
def test_labels_have_no_others(label: str) -> None:
    with pytest.raises(TermSyntaxError):
        parse_term(f"_:{label}")


def test_only_four_characters_are_escaped() -> None:
    assert Literal('a"b\\c\nd\re\tf\u00e9').n3() == '"a\\"b\\\\c\\nd\\re\tf\u00e9"'


def test_defaults() -> None:
    assert Literal("a").datatype == XSD_STRING
    assert Literal("a", language="EN-gb") == Literal("a", language="en-GB")
    with pytest.raises(ValueError, match="has no datatype"):
        Literal("a", XSD_STRING, "en")


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("a", 1),
        ("<a\nb>", 1),
        ("<a", 1),
        ('"a', 1),
        ('"a\\tb"', 1),
        ('"a"@EN', 4),
        ('"a"^^<http://www.w3.org/2001/XMLSchema#string>', 1),
        ("_:", 1),
        ("_:a.", 4),
        ("<a><b>", 4),
        ("<< <a> <b> >>", 12),
        ("<<<a> <b> <c>>>", 1),
        ("<< <a> <b> <c>>>", 15),
        ('<< "a" <b> <c> >>', 4),
        ("<< <a> _:b <c> >>", 8),
    ],
)
def test_what_is_no_canonical_term(text: str, column: int) -> None:
    with pytest.raises(TermSyntaxError) as caught:
        parse_term(text)
    assert caught.value.column == column
