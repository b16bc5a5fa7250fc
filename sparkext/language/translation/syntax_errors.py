"""From the parser's complaint to a message for people.

It says the place, what stood there, and what could have stood there.
"""

from __future__ import annotations

import re
from typing import Final

from lark import Lark
from lark.exceptions import UnexpectedInput, UnexpectedToken

from sparkext.errors import QuerySyntaxError

_MOST_NAMES: Final = 6

_IRI: Final = frozenset({"IRIREF", "PNAME_LN", "PNAME_NS"})
_STRING: Final = frozenset({"STRING1", "STRING2", "STRING_LONG1", "STRING_LONG2"})
_LITERAL: Final = _STRING | {"NUMBER", "SIGNED_NUMBER", "BOOLEAN"}
_BLANK: Final = frozenset({"BLANK_NODE_LABEL", "ANON"})
_CALL: Final = frozenset({"FUNCTION", "AGGREGATE", "NOT", "_EXISTS"})
_QUOTED: Final = frozenset({"_QUOTE_OPEN", "_TERM_OPEN"})
_OPENING: Final = frozenset({"'('", "'['", "NIL"})

# (terminals that must all be possible, terminals that the name then covers, the name); the first
# that fits wins, so the wider comes first. Terminals written as plain text in the grammar go by
# that text in quotes.
_GROUPS: Final[tuple[tuple[frozenset[str], frozenset[str], str], ...]] = (
    (
        frozenset({"VAR", "NUMBER", "FUNCTION"}),
        _IRI | _LITERAL | _CALL | _QUOTED | {"VAR", "'('", "'!'", "PLUS", "MINUS"},
        "an expression",
    ),
    (
        frozenset({"FUNCTION", "'('"}),
        _IRI | _CALL | {"'('"},
        "a condition in parentheses or a function call",
    ),
    (
        frozenset({"VAR", "BLANK_NODE_LABEL", "_OPTIONAL"}),
        _IRI | _LITERAL | _BLANK | _QUOTED | _OPENING | {"VAR"},
        "a triple pattern",
    ),
    (
        frozenset({"_OPTIONAL", "_FILTER", "_BIND"}),
        frozenset(
            {
                "_OPTIONAL",
                "_MINUS",
                "_GRAPH",
                "_WINDOW",
                "_STREAM",
                "_MATCH",
                "_SERVICE",
                "_FILTER",
                "_BIND",
                "_VALUES",
                "'{'",
            }
        ),
        "a graph pattern such as FILTER, OPTIONAL or GRAPH",
    ),
    (
        frozenset({"VAR", "BLANK_NODE_LABEL", "NUMBER"}),
        _IRI | _LITERAL | _BLANK | _QUOTED | _OPENING | {"VAR"},
        "a term or a variable",
    ),
    (
        frozenset({"VAR", "A", "'^'"}),
        _IRI | {"VAR", "A", "'^'", "'!'", "'('"},
        "a predicate or a property path",
    ),
    (frozenset({"A", "'^'"}), _IRI | {"A", "'^'", "'!'", "'('"}, "a property path"),
    (frozenset({"VAR", "A"}), _IRI | {"VAR", "A"}, "a predicate"),
    (
        frozenset({"COMPARISON", "PLUS"}),
        frozenset(
            {
                "COMPARISON",
                "PLUS",
                "MINUS",
                "STAR",
                "SLASH",
                "'&&'",
                "'||'",
                "_IN",
                "NOT",
                "SIGNED_NUMBER",
            }
        ),
        "an operator",
    ),
    (
        frozenset({"'|'", "SLASH"}),
        frozenset({"'|'", "SLASH", "STAR", "PLUS", "PATH_OPTIONAL"}),
        "a path operator",
    ),
    (
        frozenset({"EVENT_NAME", "_FIRST"}),
        frozenset({"EVENT_NAME", "_FIRST", "_LAST", "'('"}),
        "an event",
    ),
    (
        frozenset({"_SEQ", "EVENT_RELATION"}),
        frozenset({"_SEQ", "EVENT_RELATION", "_AND", "_OR"}),
        "an operator such as SEQ",
    ),
    (frozenset({"NUMBER", "STRING1"}), _LITERAL, "a literal"),
    (frozenset({"DURATION"}), _STRING | {"DURATION"}, "a duration such as PT30S or 30 seconds"),
    (frozenset({"DATETIME"}), _STRING | {"DATETIME", "INTEGER"}, "an xsd:dateTime or milliseconds"),
    (_IRI, _IRI, "an IRI"),
    (_STRING, _STRING, "a string"),
    (_BLANK, _BLANK, "a blank node"),
    (
        frozenset({"_SELECT", "_ASK"}),
        frozenset({"_SELECT", "_ASK", "_CONSTRUCT", "_DESCRIBE"}),
        "a query (SELECT, ...)",
    ),
    (
        frozenset({"_ORDER", "_LIMIT"}),
        frozenset({"_GROUP", "_HAVING", "_ORDER", "_LIMIT", "_OFFSET"}),
        "a solution modifier such as ORDER BY or LIMIT",
    ),
)

_NAMES: Final = {
    "$END": "the end of the query",
    "VAR": "a variable",
    "INTEGER": "a whole number",
    "NUMBER": "a number",
    "IRIREF": "an IRI in angle brackets",
    "PNAME_NS": "a prefix such as foaf:",
    "NIL": "'()'",
    "ANON": "'[]'",
    "LANGTAG": "a language tag",
    "BOOLEAN": "true or false",
    "COMPARISON": "a comparison",
    "SIGNED_NUMBER": "a number",
    "_DASH": "'-'",
    "BARE_NAME": "a name",
    "EVENT_NAME": "the name of an event",
    "EVENT_SELECTION": "a selection such as RECENT",
    "WITHOUT_CONSUMPTION": "WITHOUT CONSUMPTION",
    "R2S_OPERATOR": "RSTREAM, ISTREAM or DSTREAM",
    "STREAM_OPERATOR": "RSTREAM, ISTREAM or DSTREAM",
    "REPORT_STRATEGY": "a report strategy such as WINDOW CLOSE",
    "SELECT_MODIFIER": "DISTINCT or REDUCED",
    "ORDER_DIRECTION": "ASC or DESC",
    "AGGREGATE": "an aggregate",
    "FUNCTION": "a function call",
    "A": "'a'",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*'",
    "SLASH": "'/'",
    "PATH_OPTIONAL": "'?'",
    "_QUOTE_OPEN": "'<<'",
    "_QUOTE_CLOSE": "'>>'",
    "_TERM_OPEN": "'<<('",
    "_TERM_CLOSE": "')>>'",
}

_FOUND: Final = re.compile(r"<[^<>\s]*>|[?$]?[\w:][\w:.-]*|[<>=!|&{}^]{2}|\S")


def syntax_error(error: UnexpectedInput, text: str, parser: Lark) -> QuerySyntaxError:
    """Return the error to raise for a complaint of the parser about `text`."""
    expected = expected_names(_acceptable(error), parser)
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        end = len(text.rstrip())
        line = text.count("\n", 0, end) + 1
        column = end - text.rfind("\n", 0, end)
        return QuerySyntaxError("unexpected end of the query", line, column, expected)
    start = error.pos_in_stream or 0
    if text[start] in "\"'":
        message = "this string is not closed or has an unknown escape"
        if not (isinstance(error, UnexpectedToken) and error.token.type in _STRING):
            return QuerySyntaxError(message, error.line, error.column)
    match = _FOUND.match(text, start)
    found = match.group().rstrip(".") or "." if match else text[start]
    if len(found) > 40:
        found = found[:37] + "..."
    return QuerySyntaxError(f"unexpected {found!r}", error.line, error.column, expected)


def _acceptable(error: UnexpectedInput) -> set[str]:
    interactive = getattr(error, "interactive_parser", None)
    if interactive is not None:
        # Exact: what the automaton would shift here, not what its state lists before reducing.
        return set(interactive.accepts())
    return set(getattr(error, "expected", None) or getattr(error, "allowed", None) or ())


def expected_names(terminals: set[str], parser: Lark) -> list[str]:
    """Return at most six readable names for a set of grammar terminals, the most telling ones
    first.
    """
    plain = {t.name: f"'{t.pattern.value}'" for t in parser.terminals if t.pattern.type == "str"}
    left = {name if name in _NAMES else plain.get(name, name) for name in terminals}
    names = []
    for required, covered, name in _GROUPS:
        if required <= left:
            names.append(name)
            left -= covered
    names += sorted((_NAMES.get(name, name.lstrip("_")) for name in left), key=_rank)
    return list(dict.fromkeys(names))[:_MOST_NAMES]


def _rank(name: str) -> tuple[int, str]:
    """Sort descriptions first, then keywords, then punctuation."""
    return (2 if name.startswith("'") else 0 if name[0].islower() else 1, name)
