"""What C-SPARQL, CQELS and SPARQLstream write in their own way, as names and clauses of RSP-QL.

The grammar reads their clauses beside RSP-QL's own; here they get what RSP-QL would have written: the names of windows,
and the streaming operator. A dialect is only syntax, and says nothing of when a query is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from lark import Token, Tree

from sparkext.language.nodes import Variable
from sparkext.language.query import Registration, StreamOperator, WindowDeclaration
from sparkext.language.translation.translate_terms import (
    fail,
    kind_of,
    position_of,
    trees,
    variable,
)
from static_data.terms import Iri

WINDOW_CLAUSES: Final = {
    "from_window",
    "from_windowed",
    "from_unnamed_window",
    "from_stream",
    "from_named_stream",
    "from_stream_as",
}
_WINDOW_NAMES: Final = "urn:cqels:window:"
_STREAM_WINDOW_NAMES: Final = "urn:cqels:stream-window:"
_OPERATORS: Final[dict[str, StreamOperator]] = {
    "RSTREAM": "RSTREAM",
    "ISTREAM": "ISTREAM",
    "DSTREAM": "DSTREAM",
}


def window_name(clause: Tree[Token], stream: Iri) -> Iri | None:
    """Return the name that a window clause of another dialect gives its window.

    `AS ?w` (CQELS report) is a name made of the variable. `FROM STREAM` (C-SPARQL) merges the window into the default
    graph, as `FROM NAMED STREAM <s> [NOW - ..]` (SPARQLstream) does; `FROM NAMED STREAM <s> [RANGE ..]` (C-SPARQL) is
    named by its stream.
    """
    match kind_of(clause):
        case "from_stream_as":
            token = clause.children[-1]
            return Iri(_WINDOW_NAMES + variable(token).name)
        case "from_named_stream":
            kinds = {kind_of(part) for part in trees(clause)}
            return None if kinds & {"past_window", "now_window"} else stream
    return None


def stream_window_name(number: int) -> Iri:
    """Return the name of the n-th different window that CQELS-QL's STREAM patterns declare."""
    return Iri(f"{_STREAM_WINDOW_NAMES}{number}")


def windows_as_graphs(
    clauses: Sequence[Tree[Token]], windows: Sequence[WindowDeclaration]
) -> dict[Iri | Variable, Iri]:
    """Return the windows that the query reads with GRAPH, by what it writes there."""
    found: dict[Iri | Variable, Iri] = {}
    for clause, window in zip(clauses, windows, strict=True):
        if window.name is None:
            continue
        if kind_of(clause) == "from_stream_as":
            found[variable(clause.children[-1])] = window.name
        elif kind_of(clause) == "from_named_stream":
            found[window.name] = window.name
    return found


def check_window_variables(body: Tree[Token], named: Mapping[Iri | Variable, Iri]) -> None:
    """Raise QuerySyntaxError where the variable of `AS ?w` stands as if it had a value."""
    for tree in _rules(body):
        if kind_of(tree) in ("graph", "from_stream_as"):
            continue
        for token in tree.children:
            if kind_of(token) == "VAR" and variable(token) in named:
                fail(token, f"{token} names a window and has no value: it stands after GRAPH")


def _rules(tree: Tree[Token]) -> Iterator[Tree[Token]]:
    """This part of the text and all parts of it, outer ones first."""
    yield tree
    for part in trees(tree):
        yield from _rules(part)


def with_operator(registration: Registration | None, body: Tree[Token]) -> Registration | None:
    """Return the registration with the streaming operator of `SELECT ISTREAM ..` (SPARQLstream)."""
    outermost = [body, *(child for child in trees(body) if kind_of(child) == "select_clause")]
    for tree in _rules(body):
        for child in tree.children:
            if not (isinstance(child, Token) and child.type == "R2S_OPERATOR"):
                continue
            if not any(tree is part for part in outermost):
                fail(child, "a streaming operator is for the whole query, not for a sub-select")
            operator = _OPERATORS[child.upper()]
            if registration is not None and registration.operator not in (None, operator):
                fail(child, f"the query is registered with {registration.operator}")
            if registration is None:
                registration = Registration(operator, None, position=position_of(child))
            else:
                registration = replace(registration, operator=operator)
    return registration
