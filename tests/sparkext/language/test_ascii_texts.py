"""Texts in ASCII are read with smaller sets of characters: the same trees and the same errors come out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import UnexpectedInput

from sparkext.language.translation.parser import grammar_parser, make_parser
from sparkext.language.translation.syntax_errors import syntax_error

WORDS = """
    PREFIX BASE p: : <http://example.org/p> REGISTER RSTREAM AS SELECT DISTINCT * ?a $b ?a1 ?A_ (COUNT(?a) AS ?n) FROM
    NAMED WINDOW ON STREAM [RANGE PT10S STEP PT1S] [NOW] P1Y P1Y: PT5S:x 5 5.0 .5 5e3 +5 -5 - -- 30s 30 seconds s:
    WC NC CC: WHERE { } ( ) [ ] [] () . ; , a a: A a:b a:b.c a:b. _:x _:x.y _:a. p:%41 p:\\~x p:1 p:1. p:: _ __
    OPTIONAL MINUS UNION FILTER FILTER( EXISTS NOT IN BIND VALUES UNDEF GRAPH SERVICE SILENT GROUP BY ORDER LIMIT 7
    = != < > <= >= && || ! + * / | ^ ? << >> <<( )>> "a" 'b' \"\"\"c\"\"\" "é" "a@en @en ^^ true false # // str STR( IRI
"""
BODIES = (
    "?a p:b ?c . ?c a <x> FILTER(?a != p:c) OPTIONAL { ?a :b _:c }",
    "WINDOW :w { ?a p:b/p:c* 'x'@en } BIND(?a + 1.5e3 AS ?d) VALUES ?e { p:x UNDEF }",
    "{ SELECT (MAX(?x) AS ?y) { ?x p:q.r [] } GROUP BY ?x } << ?s ?p ?o >> :at 5",
)


def read(ascii_only: bool, text: str) -> Any:
    return outcome(grammar_parser(ascii_only), text)


def outcome(parser: Lark, text: str) -> Any:
    try:
        tree = parser.parse(text)
    except UnexpectedInput as error:
        return str(syntax_error(error, text, parser))
    return tree, [
        (token.type, token.start_pos, token.line, token.column)
        for token in tree.scan_values(lambda value: True)
    ]


pieces = st.lists(
    st.tuples(st.sampled_from(WORDS.split()), st.sampled_from((" ", "", "\n"))), max_size=12
)


@given(pieces, st.sampled_from(BODIES), st.integers(0, 60))
def test_trees_and_errors_are_those_of_the_whole_grammar(
    inserted: list[tuple[str, str]], body: str, place: int
) -> None:
    """Pieces in a query, whatever comes of it, and by themselves."""
    words = "".join(piece + space for piece, space in inserted)
    for text in (
        words,
        f"PREFIX p: <http://example.org/> SELECT * {{ {body[:place]}{words}{body[place:]} }}",
    ):
        ascii_text = text.encode("ascii", "ignore").decode()
        assert read(True, ascii_text) == read(False, ascii_text)


def test_terminals_are_tried_in_the_same_order() -> None:
    """Lark orders them by how long they and their matches may be."""
    small, whole = grammar_parser(True).terminals, grammar_parser(False).terminals
    assert [(t.name, len(t.pattern.value), t.pattern.max_width) for t in small] == [
        (t.name, len(t.pattern.value), t.pattern.max_width) for t in whole
    ]
    assert all(t.pattern.value.isascii() for t in small)
    assert not all(t.pattern.value.isascii() for t in whole)


@pytest.mark.parametrize("damage", [None, b"", b"0" * 64 + b"\nno pickle", "a folder"])
def test_a_parser_that_was_kept_is_as_one_that_is_made(
    damage: bytes | str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is damaged or cannot be written is made anew."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = make_parser(True)
    (kept,) = tmp_path.rglob("*.bin")
    if isinstance(damage, bytes):
        kept.write_bytes(damage)
    elif damage is not None:
        kept.unlink()
        kept.mkdir()
    before = kept.stat().st_mtime_ns
    loaded = make_parser(True)
    assert (kept.stat().st_mtime_ns == before) is not isinstance(damage, bytes)
    for body in (*BODIES, "{ ?a b ?c"):
        text = f"PREFIX p: <http://example.org/> SELECT * {{ {body} }}"
        assert outcome(loaded, text) == outcome(made, text)


def test_no_folder_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert make_parser(True).parse("SELECT * { ?a ?b ?c }")
