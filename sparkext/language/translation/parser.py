"""The entry of the query language: text in, `Query` out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from threading import Lock

from lark import Lark
from lark.exceptions import UnexpectedInput

from sparkext.argument_checks import check, lone_surrogate
from sparkext.errors import QuerySyntaxError
from sparkext.jar import cache_folder
from sparkext.language.query import Query
from sparkext.language.translation.syntax_errors import syntax_error
from sparkext.language.translation.translate_query import translate_query
from static_data.files.rdf_version import RdfVersion

_BUILDING = Lock()
_BEYOND_ASCII = re.compile(r"\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")


def parse_query(
    text: str,
    base_iri: str | None = None,
    prefixes: Mapping[str, str] | None = None,
    rdf: RdfVersion = RdfVersion.STAR,
) -> Query:
    """Parse an RSP-QL* or SPARQL query and translate it to algebra.

    `base_iri` and `prefixes` (without colons) hold where the text does not declare its own; `rdf` tells what
    ``<< s p o >>`` means. Reads
    the whole language, also what the engine does not run (see `check_supported`). Raises
    `QuerySyntaxError`, `UnknownWindowError`, and `ArgumentError` for what is no text.

    >>> query = parse_query("SELECT ?s { ?s a <http://example.org/Room> }")
    >>> query.form, [str(variable) for variable in query.variables]
    ('SELECT', ['?s'])
    """
    check.text("base_iri", "" if base_iri is None else base_iri)
    if not isinstance(text, str):
        raise check.wrong("text", "the text of a query", text)
    place = lone_surrogate(text)
    if place is not None:
        line, column = text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
        raise QuerySyntaxError("a lone surrogate", line, column)
    if prefixes is not None and not isinstance(prefixes, Mapping):
        raise check.wrong("prefixes", "a dictionary of IRIs by prefix", prefixes)
    for prefix, iri in (prefixes or {}).items():
        check.text("prefixes", prefix)
        check.text("prefixes", iri)
    parser = grammar_parser(text.isascii())
    try:
        tree = parser.parse(text)
    except UnexpectedInput as error:
        raise syntax_error(error, text, parser) from None
    try:
        return translate_query(tree, text, base_iri, prefixes, rdf)
    except RecursionError:
        raise QuerySyntaxError("the query is nested too deeply", 1, 1) from None


def grammar_parser(ascii_only: bool) -> Lark:
    """The parser of the whole grammar, or of its texts in ASCII, built on first use and shared by all threads."""
    with _BUILDING:  # two threads would otherwise both build it
        return _build_parser(ascii_only)


@cache
def _build_parser(ascii_only: bool) -> Lark:
    return make_parser(ascii_only)


def make_parser(ascii_only: bool) -> Lark:
    """Build a parser, or load it as it was built last; it is stateless between parses.

    To compile a set of characters from all over Unicode takes half a millisecond, and the lexer of each of the
    parser's states has twenty: half the time of a first query, whose names are ASCII as a rule. In the sets "A", which
    they all have, stands for each other character then: of terminals that begin alike lark tries the longer first.
    """
    grammar = (
        files("sparkext.language.translation").joinpath("rspql.lark").read_text(encoding="utf-8")
    )
    if ascii_only:
        grammar = _BEYOND_ASCII.sub("A", grammar)
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        maybe_placeholders=False,
        # Lark checks that what it kept was made by itself of this very grammar, and makes it anew otherwise.
        cache=_kept_as("query-grammar-ascii.bin" if ascii_only else "query-grammar.bin"),
    )


def _kept_as(name: str) -> str | bool:
    """The file in the user's cache in which a parser's tables are kept, False where there can be none."""
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home, or one that is read only
        return False
    return str(folder / name)
