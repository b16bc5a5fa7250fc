"""An EventMatch of the JVM beside the oracle's definitions: the same mappings of events in, the same matches out."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkext.language import event_patterns as ep
from sparkext.language.algebra import Bgp, Window
from sparkext.language.expressions import Aggregate, VariableReference
from sparkext.language.nodes import TriplePattern, Variable
from sparkext.oracle.events.mappings import (
    EventMapping,
    EventPatternEvaluation,
    Found,
    Solution,
    date_time,
)
from sparkext.oracle.events.occurrences import Occurrence
from static_data.terms import XSD, Iri, Literal, Term
from tests.sparkext.engine_room.live_room import LiveRoom

LEAST = -(1 << 63)


@dataclass(frozen=True)
class EventShape:
    """The variables that an event binds, of which those in `optional` may be unbound."""

    variables: tuple[str, ...]
    optional: tuple[str, ...] = ()


@dataclass(frozen=True)
class Arrival:
    """One mapping of an event on one element."""

    event: str
    mu: Solution
    time: int
    position: int
    occurrences: tuple[int, ...]


@dataclass
class MatchedEvents:
    """One pattern, in both; `events` are the shapes of its events by name."""

    live: LiveRoom
    pattern: ep.EventPattern
    events: Mapping[str, EventShape]
    selection: ep.Selection = "unrestricted"
    consumes: bool = False
    bag: bool = False
    lateness: int | None = None
    arrivals: list[Arrival] = field(default_factory=list)
    consumed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        names = tuple(self.events)
        windows = tuple(_window(shape) for shape in self.events.values())
        self.match = ep.Match(self.pattern, names, windows, self.selection, self.consumes)
        every: list[Variable] = []
        for part in ep.walk(self.pattern):
            every += [v for v in self.match.variables_of(part) if v not in every]
        # An event that is not in the pattern binds variables that nobody asks for.
        declared = [Variable(name) for shape in self.events.values() for name in shape.variables]
        every += [v for v in dict.fromkeys(declared) if v not in every]
        self.numbers = {variable: number for number, variable in enumerate(every)}
        self.opens = [LEAST] * len(names)
        visible = self.match.variables
        self._visible = visible
        self.jvm = self._made(names, [self.numbers[v] for v in visible])
        self._terms: dict[int, Term] = {}
        self._ids: dict[Term, int] = {}

    # ---- building

    def _made(self, names: tuple[str, ...], visible: list[int]) -> Any:
        made = self.live.room.eventMatch(
            "match", len(self.numbers), self._ints(visible), len(names), self.bag
        )
        for number, shape in enumerate(self.events.values()):
            columns = [self._number(name) for name in shape.variables]
            certain = [self._number(n) for n in shape.variables if n not in shape.optional]
            made.declare(number, self._ints(columns), self._ints(certain))
        made.root(self._part(made, self.pattern), self.selection, self.consumes)
        if self.lateness is not None:
            made.setLateness(self.lateness)
        return made

    def _number(self, name: str) -> int:
        return self.numbers[Variable(name)]

    def _part(self, made: Any, pattern: ep.EventPattern) -> int:
        parts = [self._part(made, part) for part in ep.parts_of(pattern)]
        match pattern:
            case ep.Event(name):
                number = made.event(list(self.events).index(name))
            case ep.First():
                number = made.first(*parts)
            case ep.Last():
                number = made.last(*parts)
            case ep.Sequence(_, _, None):
                number = made.sequence(*parts, -1)
            case ep.Sequence():
                left, absent, right = parts
                number = made.sequence(left, right, absent)
            case ep.Conjunction():
                number = made.conjunction(*parts)
            case ep.Disjunction():
                number = made.disjunction(*parts)
            case ep.Related(relation):
                number = made.related(relation, *parts)
            case ep.Within(_, duration):
                number = made.within(*parts, duration)
            case ep.Timed(_, start, end):
                number = made.timed(
                    *parts, *(-1 if v is None else self.numbers[v] for v in (start, end))
                )
            case ep.Repetition(_, keys, aggregates):
                number = made.repetition(*parts, self._ints([self.numbers[k] for k in keys]))
                for variable, aggregate in aggregates:
                    argument = aggregate.argument
                    read = (
                        self.numbers[argument.variable]
                        if isinstance(argument, VariableReference)
                        else -1
                    )
                    made.aggregate(
                        number,
                        self.numbers[variable],
                        aggregate.name,
                        read,
                        aggregate.distinct,
                        aggregate.separator or " ",
                    )
        return int(number)

    def _ints(self, values: Sequence[int]) -> Any:
        return self._array(self.live.jvm.int, values)

    def _array(self, kind: Any, values: Sequence[int]) -> Any:
        array = self.live.spark.sparkContext._gateway.new_array(kind, len(values))
        for at, value in enumerate(values):
            array[at] = value
        return array

    # ---- evaluation

    def id(self, term: Term) -> int:
        """The id of a term."""
        if term not in self._ids:
            self._ids[term] = self.live.id(term.n3())
            self._terms[self._ids[term]] = term
        return self._ids[term]

    def insert(self, arrivals: Sequence[Arrival]) -> None:
        """Both are given these."""
        self.arrivals += arrivals
        self._send(arrivals)

    def _send(self, arrivals: Sequence[Arrival]) -> None:
        numbers: list[int] = []
        for arrival in arrivals:
            shape, mu = self.events[arrival.event], dict(arrival.mu)
            event = list(self.events).index(arrival.event)
            numbers += [event, arrival.time, arrival.position]
            numbers += [
                self.id(mu[Variable(n)]) if Variable(n) in mu else 0 for n in shape.variables
            ]
            numbers += [len(arrival.occurrences), *arrival.occurrences]
        self.jvm.insertAll(struct.pack(f"<{len(numbers)}q", *numbers))

    def reset(self) -> None:
        """The JVM forgets all and is given what the windows show anew."""
        self.jvm.reset()
        self._send(list(self._present().elements()))

    def _present(self) -> Counter[Arrival]:
        bounds = dict(zip(self.events, self.opens, strict=True))
        return Counter(
            a
            for a in self.arrivals
            if a.position > bounds[a.event] and not self.consumed.intersection(a.occurrences)
        )

    def expected(self) -> Counter[tuple[Term | None, ...]]:
        """The solutions by the definitions; what they use is consumed."""
        basic: dict[str, dict[EventMapping, frozenset[Occurrence]]] = {n: {} for n in self.events}
        for a in self._present():
            mapping = EventMapping(a.mu, a.time, a.time)
            why = frozenset(Occurrence("", n, (Iri("x:"),) * 3) for n in a.occurrences)
            known = basic[a.event]
            known[mapping] = known.get(mapping, frozenset()) | why
        found: Found = EventPatternEvaluation(self.match, self.selection, basic, aggregated).found()
        if self.consumes:
            self.consumed |= {o.element for why in found.values() for o in why}
        rows = [tuple(dict(m.mu).get(v) for v in self._visible) for m in found]
        return Counter(rows) if self.bag else Counter(set(rows))

    def found(self) -> Counter[tuple[Term | None, ...]]:
        """The solutions of the JVM now."""
        self.jvm.evaluate(self._array(self.live.jvm.long, self.opens))
        content = self.jvm.content()
        snapshot = content.snapshot()
        times = snapshot.counts()
        rows = self.live.jvm.java.util.Arrays.toString(snapshot.table().toArray())
        cells = [int(cell) for cell in rows[1:-1].split(",") if cell]
        width, count = content.arity(), int(snapshot.table().rowCount())
        counts = [1] * count if times is None else list(times)
        found: Counter[tuple[Term | None, ...]] = Counter()
        for row in range(count):
            ids = cells[row * width : (row + 1) * width]
            found[tuple(self.term(i) if i else None for i in ids)] += counts[row]
        return found

    def term(self, number: int) -> Term:
        """The term of an id: one that was sent, a number or a time."""
        if number not in self._terms:
            text = self.live.text(number)
            lexical, _, datatype = text[1:].partition('"^^<')
            self._terms[number] = Literal(lexical, Iri(datatype[:-1]))
        return self._terms[number]


def integer(value: int) -> Literal:
    """The number as a term."""
    return Literal(str(value), Iri(f"{XSD}integer"))


def aggregated(
    run: Sequence[Solution], aggregates: Sequence[tuple[Variable, Aggregate]]
) -> dict[Variable, Term]:
    """Aggregates over integers."""
    values: dict[Variable, Term] = {}
    for variable, aggregate in aggregates:
        if not isinstance(aggregate.argument, VariableReference):
            values[variable] = integer(len(set(run)) if aggregate.distinct else len(run))
            continue
        read = [dict(mu).get(aggregate.argument.variable) for mu in run]
        terms = list(dict.fromkeys(read)) if aggregate.distinct else read
        numbers = [int(term.lexical) for term in terms if isinstance(term, Literal)]
        match aggregate.name:
            case "COUNT":
                values[variable] = integer(len(numbers))
            case _ if None in terms:
                pass
            case "SUM":
                values[variable] = integer(sum(numbers))
            case name:
                values[variable] = integer(min(numbers) if name == "MIN" else max(numbers))
    return values


def _window(shape: EventShape) -> Window:
    patterns = tuple(
        TriplePattern(Variable(name), Iri("x:p"), Iri("x:o")) for name in shape.variables
    )
    return Window(Iri("x:w"), Bgp(patterns))


def random_arrival(
    rng: random.Random, matched: MatchedEvents, newest: int, position: int, values: int
) -> Arrival:
    """A mapping of an event that is now, later, or as late as it may be."""
    name = rng.choice(list(matched.events))
    shape = matched.events[name]
    late = 6 if matched.lateness is None else matched.lateness
    time = max(0, newest + rng.choice([-rng.randint(0, late), 0, 1, 1, 2]))
    mu = frozenset(
        (Variable(variable), integer(rng.randrange(values)))
        for variable in shape.variables
        if variable not in shape.optional or rng.random() < 0.6
    )
    occurrences = tuple(rng.sample(range(3 * position, 3 * position + 3), rng.choice([1, 1, 2])))
    return Arrival(name, mu, time, position, occurrences)


def hold_to_definitions(rng: random.Random, matched: MatchedEvents, evaluations: int = 6) -> int:
    """Evaluate again and again as mappings come and windows move; the number of solutions seen."""
    newest, position, values, seen = 5, 0, rng.choice([1, 2, 3]), 0
    for evaluation in range(evaluations):
        arrivals: list[Arrival] = []
        latest = newest
        for _ in range(rng.choice([0, 1, 2, 4, 7])):
            arrivals.append(random_arrival(rng, matched, newest, position, values))
            if rng.random() < 0.15:  # the same mapping of another element
                again = arrivals[-1]
                position += 1
                arrivals.append(
                    Arrival(again.event, again.mu, again.time, position, (3 * position,))
                )
            if rng.random() < 0.8:
                position += 1
            latest = max(latest, *(a.time for a in arrivals))
        newest = latest
        rng.shuffle(arrivals)
        matched.insert(arrivals)
        for event in range(len(matched.opens)):
            if rng.random() < 0.3:
                matched.opens[event] = max(matched.opens[event], position - rng.randint(2, 14))
        if rng.random() < 0.05:
            matched.reset()
        found, expected = matched.found(), matched.expected()
        assert found == expected, f"{matched.pattern} at evaluation {evaluation}: {arrivals}"
        seen += len(expected)
    return seen


__all__ = ["Arrival", "EventShape", "MatchedEvents", "date_time", "hold_to_definitions"]
