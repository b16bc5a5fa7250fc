"""HTML for notebooks: small tables and texts of which nothing that comes from data becomes markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from sparkext.answers.term_parts import Row, term
from static_data.terms import Iri, Literal

SHOWN_ROWS = 20
"""Rows of a table that are shown; of the others it is said how many there are."""

_CELL = "text-align: left; vertical-align: top"


def shown_term(text: str | None) -> str:
    """A term as people read it: a literal without its datatype, the end of an IRI; nothing for an unbound variable.

    >>> shown_term('"21.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'), shown_term("<http://example.org/r1>")
    ('21.5', 'r1')
    """
    if text is None:
        return ""
    value = term(text)
    if isinstance(value, Literal):
        return value.lexical + (f"@{value.language}" if value.language else "")
    if isinstance(value, Iri):
        return value.value.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1] or value.value
    return text


def cell(text: str | None) -> str:
    """A term, or any other text, as the content of a cell: a literal by its text, with what it is on pointing at it.

    >>> cell('"<b>"')
    '<span title="&quot;&lt;b&gt;&quot;">&lt;b&gt;</span>'
    >>> cell("<http://example.org/city#r1>")
    '<span title="&lt;http://example.org/city#r1&gt;">r1</span>'
    >>> cell(None)
    ''
    """
    return f'<span title="{escape(text)}">{escape(shown_term(text))}</span>' if text else ""


def terms_table(columns: Sequence[str], rows: Sequence[Row], caption: str) -> str:
    """A table of terms in canonical N-Triples texts, the first rows of them."""
    shown = ([cell(text) for text in row] for row in rows[:SHOWN_ROWS])
    return _table(columns, shown, caption, len(rows) - SHOWN_ROWS)


def texts_table(columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str) -> str:
    """A table of texts and numbers, the first rows of them.

    >>> texts_table(["a"], [["<x>"]], "one").count("&lt;x&gt;")
    1
    """
    shown = ([escape(str(value)) for value in row] for row in rows[:SHOWN_ROWS])
    return _table(columns, shown, caption, len(rows) - SHOWN_ROWS)


def text_block(text: str) -> str:
    """A text as it stands, its lines and indents kept."""
    return f"<pre>{escape(text)}</pre>"


def folded(summary: str, inside: str, open: bool = False) -> str:
    """HTML that is shown on a click on its summary, which is text."""
    return (
        f"<details{' open' if open else ''}><summary>{escape(summary)}</summary>{inside}</details>"
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str, more: int) -> str:
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{content}</td>' for content in row) + "</tr>"
        for row in rows
    )
    said = f"<p>... and {more:,} more</p>" if more > 0 else ""
    return (
        f'<table><caption style="{_CELL}">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{said}"
    )
