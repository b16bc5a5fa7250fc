"""The parts of a canonical N-Triples term text, as the result formats need them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache

from static_data.terms import BlankNode, Iri, Literal, QuotedTriple, Term, parse_term

# A row: one canonical N-Triples text for each variable, None where it is unbound.
Row = Sequence[str | None]


@lru_cache(maxsize=65_536)
def term(text: str) -> Term:
    """The term of a canonical text; terms come back again and again, so they are remembered."""
    return parse_term(text)


@lru_cache(maxsize=65_536)
def json_of(text: str) -> str:
    """The SPARQL 1.1 JSON form of a term, as JSON text; a quoted triple as in SPARQL-star.

    >>> json_of('"chat"@fr')
    '{"type": "literal", "value": "chat", "xml:lang": "fr"}'
    """
    return json.dumps(_json_form(term(text)), ensure_ascii=False)


def sort_key(row: Row) -> tuple[str, ...]:
    """What rows are sorted by: their N-Triples texts, variable by variable, unbound first."""
    return tuple(text or "" for text in row)


def in_order(rows: Iterable[Row], ordered: bool) -> list[Row]:
    """The rows as they are when the query orders them, else sorted by `sort_key`."""
    return list(rows) if ordered else sorted(rows, key=sort_key)


def _json_form(value: Term) -> dict[str, object]:
    match value:
        case Iri():
            return {"type": "uri", "value": value.value}
        case BlankNode():
            return {"type": "bnode", "value": value.label}
        case Literal():
            form: dict[str, object] = {"type": "literal", "value": value.lexical}
            if value.language is not None:
                form["xml:lang"] = value.language
                if value.direction is not None:
                    form["its:dir"] = value.direction
            elif value.n3()[-1] != '"':  # xsd:string is not written out
                form["datatype"] = value.datatype.value
            return form
        case QuotedTriple():
            parts = (
                ("subject", value.subject),
                ("predicate", value.predicate),
                ("object", value.object),
            )
            return {"type": "triple", "value": {name: _json_form(part) for name, part in parts}}
