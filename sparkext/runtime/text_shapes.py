"""Texts of queries that are like others but for some constants: read once, and known again without being parsed.

Thousands of queries come as texts that a program has put an IRI or a string into. The second text of a shape is parsed
with parameters in the places where it differs from the first; if that gives what parsing the text itself gives, the
next ones are read by their shape alone.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace

from sparkext.errors import CqelsError
from sparkext.language.algebra import Graph, Project, Window
from sparkext.language.nodes import Node, Variable
from sparkext.language.query import Query
from sparkext.r2r.patterns.inner_patterns import transform_everywhere
from sparkext.r2r.templates.filled_patterns import Terms
from sparkext.r2r.templates.parameters import ParameterisedQuery, with_terms
from sparkext.r2r.templates.skeletons import skeleton_of
from sparkext.runtime.queries.given_query import IN_THE_TEXT
from static_data.terms import Iri, Literal, Term

# Constants in a pattern that mean the same wherever they stand: absolute IRIs, prefixed names, strings that need no
# unescaping and have neither language nor datatype.
_CONSTANT = re.compile(
    r"""(?P<iri><[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]*>)"""
    r"""|(?P<string>"[^"\\\r\n]*"(?![\^@"])|'[^'\\\r\n]*'(?![\^@']))"""
    r"""|(?P<name>(?<![\w?$:.<@^-])(?P<prefix>[A-Za-z][\w-]*)?:(?P<local>[A-Za-z0-9_][\w-]*)(?![\w:.%\\-]))"""
)
_PREFIX = re.compile(r"PREFIX\s+([\w-]*):\s*<([^<>\s]*)>", re.IGNORECASE)
_MOST_SHAPES = 1000
_MOST_PLACES = 50

Read = Callable[[str], Query]
"""Parses a text and checks the query."""


@dataclass
class _Shape:
    """Texts of one shape: the constants of the first one, and queries with parameters by the places where these are.

    A place has the number of its parameter, and the prefix of the name there: what each stands for is the parser's to
    say, and held against it once.
    """

    first: tuple[str, ...]
    known: dict[tuple[tuple[int, int, str | None], ...], ParameterisedQuery | None] = field(
        default_factory=dict
    )


class TextShapes:
    """The shapes of the texts so far, the latest thousand; for several threads."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._shapes: dict[Hashable, _Shape] = {}
        self._lock = threading.Lock()

    def parameterised(self, text: str) -> tuple[ParameterisedQuery, Terms] | None:
        """The text as a query with parameters; None where it must be parsed."""
        with self._lock:
            return self._parameterised(text)

    def _parameterised(self, text: str) -> tuple[ParameterisedQuery, Terms] | None:
        head, brace, pattern = text.partition("{")
        found = list(_CONSTANT.finditer(pattern))
        tokens = tuple(match.group() for match in found)
        # Not everywhere where an IRI may stand may a string.
        strings = tuple(match["string"] is not None for match in found)
        key = (head, brace, _CONSTANT.sub("\0", pattern), strings)
        shape = self._shapes.pop(key, None) or _Shape(tokens)
        self._shapes[key] = shape
        if len(self._shapes) > _MOST_SHAPES:
            del self._shapes[next(iter(self._shapes))]
        # The same constant at several places of both texts is one parameter, numbered by the first of them.
        pairs = list(zip(shape.first, tokens, strict=True))
        places = {n: pairs.index(pair) for n, pair in enumerate(pairs) if pair[0] != pair[1]}
        if not places:
            return None
        prefixes = dict(_PREFIX.findall(head))
        terms = {_parameter(n): _term(found[n], prefixes) for n in set(places.values())}
        known = {v: term for v, term in terms.items() if term is not None}
        if len(known) < len(terms):
            return None
        which = tuple((n, m, found[n]["prefix"]) for n, m in places.items())
        if which not in shape.known:
            if len(shape.known) >= _MOST_PLACES:
                shape.known.clear()
            parameters = {found[n].start(): (found[n].end(), _parameter(m)) for n, m, _ in which}
            shape.known[which] = self._tried(text, head + brace, pattern, parameters, known)
        general = shape.known[which]
        return None if general is None else (general, known)

    def _tried(
        self,
        text: str,
        head: str,
        pattern: str,
        parameters: Mapping[int, tuple[int, Variable]],
        terms: Terms,
    ) -> ParameterisedQuery | None:
        """The text with parameters in place of what begins and ends there, if it means the same."""
        parts, at = [head], 0
        for begin, (end, parameter) in parameters.items():
            parts += [pattern[at:begin], f" {parameter} "]
            at = end
        try:
            read = _not_answered(self._read("".join((*parts, pattern[at:]))), terms)
            if not _names_of(read).isdisjoint(terms):
                return None  # which graphs and windows there are is checked where a text is parsed
            general = ParameterisedQuery(read, terms)
            wanted = skeleton_of(self._read(text))
            same = wanted == skeleton_of(with_terms(general.query, terms))
        except CqelsError:
            return None
        made = general.skeleton(terms)
        if wanted is None or made is None or not same:
            return None
        # Where whole parts could be exchanged with each other, so could their constants.
        return general if made.query == wanted.query else None


def _not_answered(query: Query, parameters: Collection[Variable]) -> Query:
    """The query without its parameters among the variables that SELECT * shows."""

    def shown(names: tuple[Variable, ...]) -> tuple[Variable, ...]:
        return tuple(name for name in names if name not in parameters)

    def change(node: Node) -> Node:
        return replace(node, names=shown(node.names)) if isinstance(node, Project) else node

    pattern = transform_everywhere(query.pattern, change)
    return replace(query, pattern=pattern, variables=shown(query.variables))


def _names_of(query: Query) -> set[Iri | Variable]:
    """What stands behind GRAPH and WINDOW."""
    names: set[Iri | Variable] = set()

    def note(node: Node) -> Node:
        if isinstance(node, Graph | Window):
            names.add(node.name)
        return node

    transform_everywhere(query.pattern, note)
    return names


def _parameter(number: int) -> Variable:
    return Variable(f"{IN_THE_TEXT}{number}")


def _term(match: re.Match[str], prefixes: Mapping[str, str]) -> Term | None:
    text = match.group()
    if match["iri"]:
        return Iri(text[1:-1])
    if match["string"]:
        return Literal(text[1:-1])
    namespace = prefixes.get(match["prefix"] or "")
    return None if namespace is None else Iri(namespace + match["local"])
