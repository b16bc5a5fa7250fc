"""Parse tree of EVENT and MATCH to event patterns (RSEP-QL, section 3.3), and which variables they may bind."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, cast

from lark import Token, Tree

from sparkext.errors import UnknownWindowError
from sparkext.language.algebra import Window
from sparkext.language.event_patterns import (
    CONSUMING,
    Conjunction,
    Disjunction,
    Event,
    EventPattern,
    First,
    Last,
    Match,
    Related,
    Relation,
    Repetition,
    Selection,
    Sequence,
    Timed,
    Within,
    walk,
)
from sparkext.language.expressions import Aggregate, Exists
from sparkext.language.nodes import Node, Variable
from sparkext.language.translation.iris import Prologue
from sparkext.language.translation.translate_expressions import ExpressionTranslation
from sparkext.language.translation.translate_streams import duration_ms
from sparkext.language.translation.translate_terms import (
    ParseNode,
    fail,
    kind_of,
    position_of,
    trees,
    variable,
)
from static_data.files.rdf_version import RdfVersion
from static_data.terms import Iri

_OPERATORS: Final = ("FIRST", "LAST", "NOT")


@dataclass(frozen=True)
class _Part:
    """A translated part of an event pattern: the variables in scope outside it, and of these the ones that it makes
    itself (times and aggregates), each with its place and the word that makes it."""

    pattern: EventPattern
    bound: frozenset[Variable]
    made: Mapping[Variable, tuple[ParseNode, str]] = field(default_factory=dict)


class EventTranslation(ExpressionTranslation):
    """Events and MATCH; the groups of events call back into the layer of graph patterns above."""

    def __init__(self, prologue: Prologue, rdf: RdfVersion) -> None:
        super().__init__(prologue, rdf)
        self.window_names: tuple[Iri, ...] = ()
        self.events: dict[str, Window] = {}
        self._unmatched: dict[str, ParseNode] = {}

    @abstractmethod
    def event_group(self, tree: ParseNode) -> Node:
        """Translate the group of an event."""

    def check_window(self, tree: ParseNode, name: Iri) -> None:
        """Raise UnknownWindowError at `tree` for a name that no window has."""
        if name not in self.window_names:
            line, column = position_of(tree)
            known = [window.value for window in self.window_names]
            raise UnknownWindowError(name.value, line, column, known)

    def declare_events(self, clauses: list[Tree[Token]]) -> None:
        """Translate the EVENT clauses in order; a name declared twice is an error."""
        for clause in clauses:
            window, group, token = clause.children
            name = str(token)
            if name in self.events:
                line, column = self.events[name].position or (1, 1)
                fail(token, f"event {name} is already declared at line {line}, column {column}")
            if name.upper() in _OPERATORS:
                fail(token, f"{name.upper()} is an operator of MATCH and cannot name an event")
            iri = self.iri(window)
            self.check_window(window, iri)
            self.events[name] = Window(iri, self.event_group(group), position=position_of(clause))
            self._unmatched[name] = token

    @property
    def unmatched_events(self) -> tuple[tuple[str, ParseNode], ...]:
        """The events that no MATCH has named so far, with their places."""
        return tuple(self._unmatched.items())

    def match(self, before: Node, tree: Tree[Token]) -> Match:
        """Translate a MATCH; `before` is what precedes it in its group."""
        words = [str(child).lower() for child in tree.children if isinstance(child, Token)]
        keeps = any(word.startswith("without") for word in words)
        chosen = [cast(Selection, word) for word in words if not word.startswith("without")]
        part = self._event_part(next(trees(tree)))
        for name, (place, word) in part.made.items():
            if name in before.variables:
                fail(place, f"{name} is already used in this group and cannot be bound by {word}")
        names = tuple(dict.fromkeys(e.name for e in walk(part.pattern) if isinstance(e, Event)))
        for name_ in names:
            self._unmatched.pop(name_, None)
        return Match(
            part.pattern,
            names,
            tuple(self.events[name] for name in names),
            chosen[0] if chosen else None,
            consumes=bool(chosen) and chosen[0] in CONSUMING and not keeps,
            keeps=not chosen and keeps,
            position=position_of(tree),
        )

    def _event_part(self, tree: ParseNode) -> _Part:
        assert isinstance(tree, Tree)
        kind = kind_of(tree)
        match kind:
            case "event_name":
                return self._event_name(tree)
            case "event_repetition":
                return self._repetition(tree)
            case "event_absence":
                fail(
                    tree.children[1], "what is absent stands between two events: A SEQ NOT B SEQ C"
                )
            case "event_without":
                absence, last = trees(tree)
                first, absent = map(self._event_part, trees(absence))
                return _sequence(first, self._event_part(last), absent)
            case "event_relation":
                left, right = map(self._event_part, trees(tree))
                return _related(str(tree.children[1]), left, right)
        parts = [self._event_part(child) for child in trees(tree) if kind_of(child) != "duration"]
        match kind:
            case "event_sequence":
                return _sequence(*parts)
            case "event_conjunction":
                left, right = parts
                return _joined(Conjunction(left.pattern, right.pattern), parts)
            case "event_disjunction":
                left, right = parts
                pattern = Disjunction(left.pattern, right.pattern)
                return _Part(pattern, left.bound | right.bound, {**left.made, **right.made})
        (part,) = parts
        match kind:
            case "event_first":
                return _Part(First(part.pattern), part.bound, part.made)
            case "event_last":
                return _Part(Last(part.pattern), part.bound, part.made)
            case "event_within":
                most = duration_ms(self, tree.children[1], least=0)
                return _Part(Within(part.pattern, most), part.bound, part.made)
            case "event_at":
                return _timed(part, tree.children[1:], ("AT",))
        return _timed(part, tree.children[1:], ("FROM", "TO"))

    def _event_name(self, tree: Tree[Token]) -> _Part:
        name = str(tree.children[0])
        if name not in self.events:
            known = ", ".join(self.events) or "none"
            fail(tree, f"no event is declared as {name}; declared: {known}")
        shown = (v for v in self.events[name].variables if not v.hidden)
        return _Part(Event(name, position_of(tree)), frozenset(shown))

    def _repetition(self, tree: Tree[Token]) -> _Part:
        repeated, *clauses = trees(tree)
        part = self._event_part(repeated)
        keys: dict[Variable, None] = {}
        aggregates: list[tuple[Variable, Aggregate]] = []
        made: dict[Variable, tuple[ParseNode, str]] = {}
        for clause in clauses:
            if kind_of(clause) == "event_keys":
                for token in clause.children:
                    if variable(token) not in part.bound:
                        fail(token, f"{token} is not bound by what is repeated")
                    keys[variable(token)] = None
                continue
            written, token = clause.children
            name = variable(token)
            if name in part.bound or name in made:
                fail(token, f"{name} is already used in this MATCH and cannot be bound by AS")
            aggregates.append((name, self._event_aggregate(written)))
            made[name] = (token, "AS")
        pattern = Repetition(part.pattern, tuple(keys), tuple(aggregates))
        outer = {name: part.made[name] for name in keys if name in part.made}
        return _Part(pattern, frozenset(keys) | frozenset(made), {**outer, **made})

    def _event_aggregate(self, tree: ParseNode) -> Aggregate:
        with self.aggregates_allowed():
            aggregate = self.expression(tree)
        assert isinstance(aggregate, Aggregate)
        if any(isinstance(inner, Exists) for inner in aggregate.walk()):
            fail(tree, "an aggregate over events cannot hold EXISTS")
        return aggregate


def _sequence(first: _Part, last: _Part, absent: _Part | None = None) -> _Part:
    if absent is None:
        return _joined(Sequence(first.pattern, last.pattern), [first, last])
    _check_together([first, absent, last])
    pattern = Sequence(first.pattern, last.pattern, absent.pattern)
    return _joined(pattern, [first, last])


def _related(word: str, left: _Part, right: _Part) -> _Part:
    relation = " ".join(word.lower().split())
    match relation:
        case "before":
            return _sequence(left, right)
        case "after":
            _check_together([left, right])
            return _sequence(right, left)
    pattern = Related(cast(Relation, relation), left.pattern, right.pattern)
    return _joined(pattern, [left, right])


def _timed(part: _Part, tokens: list[ParseNode], words: tuple[str, ...]) -> _Part:
    made = dict(part.made)
    bound = set(part.bound)
    for token, word in zip(tokens, words, strict=True):
        name = variable(token)
        if name in bound:
            fail(token, f"{name} is already used in this MATCH and cannot be bound by {word}")
        made[name] = (token, word)
        bound.add(name)
    start, end = (*map(variable, tokens), None)[:2]
    return _Part(Timed(part.pattern, start, end), frozenset(bound), made)


def _joined(pattern: EventPattern, parts: list[_Part]) -> _Part:
    """The part that all these make together."""
    _check_together(parts)
    made = {name: place for part in parts for name, place in part.made.items()}
    return _Part(pattern, frozenset().union(*(part.bound for part in parts)), made)


def _check_together(parts: list[_Part]) -> None:
    """Raise QuerySyntaxError where one part makes a variable that another one binds."""
    for name, place, word in _made_twice(parts):
        fail(place, f"{name} is already used in this MATCH and cannot be bound by {word}")


def _made_twice(parts: list[_Part]) -> Iterator[tuple[Variable, ParseNode, str]]:
    for left, right in combinations(parts, 2):
        for name, (place, word) in right.made.items():
            if name in left.bound:
                yield name, place, word
        for name, (place, word) in left.made.items():
            if name in right.bound:
                yield name, place, word
