"""Pairs and groups of random queries with what must hold between their answers.

TLP: Rigger and Su, Finding Bugs in Database Systems via Query Partitioning, OOPSLA 2020. NoREC: the same, Detecting
Optimization Bugs in Database Engines via Non-Optimizing Reference Engine Construction, ESEC/FSE 2020.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random

from sparkext.oracle import Answer
from tests.sparkext.random_continuous import DIALECTS, STREAMS, _Writer
from tests.sparkext.random_worlds import E

History = dict[int, Answer]
Rows = Counter[tuple[str | None, ...]]
PLAIN = DIALECTS[0]
_INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"


@dataclass(frozen=True)
class Relation:
    """Texts of queries over streams s1 and s2; `holds` says what is wrong with answers at one instant, or nothing."""

    name: str
    texts: tuple[str, ...]
    holds: Callable[[Sequence[Answer]], str]

    def judge(self, histories: Sequence[History]) -> str:
        """The first instant at which the relation does not hold, in words; empty when it always does."""
        instants = [set(history) for history in histories]
        if any(one != instants[0] for one in instants):
            return f"{self.name}: instants differ: {[sorted(one) for one in instants]}"
        for time in sorted(instants[0]):
            if wrong := self.holds([history[time] for history in histories]):
                return f"{self.name}, at {time}: {wrong}"
        return ""


class _Parts(_Writer):
    """A pattern, a condition and what is around them."""

    def __init__(self, random: Random) -> None:
        super().__init__(random, PLAIN)
        clauses = [self._window_clause(1)]
        if self._chance(0.5):
            clauses.append(self._window_clause(2))
        else:
            self._names = self._names[:1]
        self.head = f"PREFIX : <{E}>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\nREGISTER RSTREAM :query AS "
        self.windows = "\n".join(clauses)
        self.pattern = self._group(2, windows=True)
        self.condition = (
            f"EXISTS {{ {self._exists()} }}" if self._chance(0.15) else self._condition()
        )

    def text(self, select: str, inside: str) -> str:
        """A query over the pattern with something behind it."""
        return f"{self.head}SELECT {select}\n{self.windows}\nWHERE {{ {self.pattern}\n  {inside} }}"

    def thirds(self, select: str) -> tuple[str, ...]:
        """The whole, and where the condition holds, does not, and cannot be told."""
        p = self.condition
        filters = (
            "",
            f"FILTER({p})",
            f"FILTER(!({p}))",
            f"FILTER(!COALESCE(IF({p}, true, true), false))",
        )
        return tuple(self.text(select, one) for one in filters)


def rows_of(answer: Answer) -> Rows:
    """The rows as a bag, columns in order of their names."""
    order = sorted(range(len(answer.variables)), key=lambda place: answer.variables[place])
    return Counter(tuple(row[place] for place in order) for row in answer.rows)


def tlp(random: Random) -> Relation:
    """Three queries by what a condition comes to have together the rows of the query without it."""
    parts = _Parts(random)
    names = " ".join(f"?{v}" for v in ("x", "y", "z")[: random.randint(1, 3)])

    def holds(answers: Sequence[Answer]) -> str:
        whole, *thirds = (rows_of(answer) for answer in answers)
        return _differ(whole, sum(thirds, Counter()))

    return Relation("TLP", parts.thirds(names), holds)


def tlp_distinct(random: Random) -> Relation:
    """The same of distinct rows, some of which several thirds may have."""
    parts = _Parts(random)
    names = " ".join(f"?{v}" for v in ("x", "y")[: random.randint(1, 2)])

    def holds(answers: Sequence[Answer]) -> str:
        whole, *thirds = (rows_of(answer) for answer in answers)
        if any(count > 1 for rows in (whole, *thirds) for count in rows.values()):
            return "a distinct row comes twice"
        return _differ(whole, Counter(set().union(*thirds)))

    return Relation("TLP DISTINCT", parts.thirds(f"DISTINCT {names}"), holds)


def tlp_aggregate(random: Random) -> Relation:
    """The same of counts, sums and extremes of numbers, by group or of all."""
    parts = _Parts(random)
    key = random.choice(("", "?x "))
    argument = "?y"
    parts.pattern = f"{{ {parts.pattern} BIND(STRLEN(STR(?y)) AS ?number) }}"
    counts = f"(COUNT(*) AS ?n) (COUNT({argument}) AS ?some)"
    length = "COALESCE(?number, 0)"
    select = f"{key}{counts} (SUM({length}) AS ?sum) (MAX({length}) AS ?top)"
    tail = " GROUP BY ?x" if key else ""
    texts = tuple(text + tail for text in parts.thirds(select))

    def holds(answers: Sequence[Answer]) -> str:
        whole, *thirds = (_by_key(answer, bool(key)) for answer in answers)
        added: dict[str | None, tuple[Decimal, ...]] = {}
        for third in thirds:
            for group, (n, some, total, top) in third.items():
                before = added.get(group, (Decimal(0), Decimal(0), Decimal(0), Decimal(0)))
                added[group] = (
                    before[0] + n,
                    before[1] + some,
                    before[2] + total,
                    max(before[3], top),
                )
        return "" if whole == added else f"{whole} in place of {added}"

    return Relation("TLP aggregates", texts, holds)


def _by_key(answer: Answer, keyed: bool) -> dict[str | None, tuple[Decimal, ...]]:
    places = [answer.variables.index(name) for name in ("n", "some", "sum", "top")]
    key = answer.variables.index("x") if keyed else None
    return {
        None if key is None else row[key]: tuple(number(row[place]) for place in places)
        for row in answer.rows
    }


def number(text: str | None) -> Decimal:
    """A number by its text; nothing, which an extreme of nothing is, as zero.

    >>> number('"5"^^<http://www.w3.org/2001/XMLSchema#integer>')
    Decimal('5')
    """
    return Decimal(0) if text is None else Decimal(text[1:].partition('"')[0])


def norec(random: Random) -> Relation:
    """As many rows pass a filter as there are rows of which the condition, computed for each, is true."""
    parts = _Parts(random)
    p = parts.condition
    filtered = parts.text("(COUNT(*) AS ?n)", f"FILTER({p})")
    computed = parts.text("?hit", f"BIND(COALESCE(IF({p}, 1, 0), 0) AS ?hit)")

    def holds(answers: Sequence[Answer]) -> str:
        counted = number(answers[0].rows[0][0])
        hits = rows_of(answers[1])[(f'"1"{_INTEGER}',)]
        return "" if counted == hits else f"{counted} pass, {hits} hold"

    return Relation("NoREC", (filtered, computed), holds)


def _differ(one: Rows, other: Rows) -> str:
    missing, extra = other - one, one - other
    return f"without {dict(missing)}, with {dict(extra)}" if missing or extra else ""


KINDS = (tlp, tlp_distinct, tlp_aggregate, norec)


def relations(random: Random, count: int) -> Iterator[Relation]:
    """So many relations, of all kinds by turns."""
    for place in range(count):
        yield KINDS[place % len(KINDS)](random)


__all__ = ["STREAMS", "History", "Relation", "number", "relations", "rows_of"]
