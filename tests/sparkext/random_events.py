"""Random continuous queries with MATCH: events, expressions of all operators, selections and consumption, and what is
around them.

What would be left open is not written: aggregates whose value depends on an order, limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from sparkext.errors import QuerySyntaxError, UnsupportedFeatureError
from sparkext.language import check_supported, parse_query
from sparkext.language.query import Query
from tests.sparkext.random_continuous import Dialect, _Writer
from tests.sparkext.random_worlds import TIME, E

STREAMS = ("s1", "s2", "s3")
RELATIONS = (
    *("MEETS", "MET BY", "OVERLAPS", "OVERLAPPED BY", "DURING", "CONTAINS"),
    *("STARTS", "STARTED BY", "FINISHES", "FINISHED BY", "EQUALS"),
)
OPERATORS = ("SEQ", "NOT", "AND", "OR", "ALLEN", "WITHIN", "RUN", "FIRST", "AT")
WORDS = (
    *("", "", "UNRESTRICTED", "NAIVE"),
    *("CHRONOLOGICAL", "RECENT", "CHRONOLOGICAL WITHOUT CONSUMPTION"),
    *("RECENT WITHOUT CONSUMPTION", "WITHOUT CONSUMPTION"),
)
_KEEPING = [word for word in WORDS if "WITHOUT" in word or word in ("UNRESTRICTED", "NAIVE")]
LANDMARKS = ("[LANDMARK 0]", "[LANDMARK 3]")
TIMES = ("[RANGE 3]", "[RANGE 7]", "[RANGE 6 STEP 2]", "[RANGE 4 STEP 4]", "[NOW]")


@dataclass(frozen=True)
class Shape:
    """What the queries of a test are made of.

    An expression has one of the operators in `first` at its top, and others below it. Without `windows` these are of
    all kinds. A `plain` query is its MATCH, perhaps with a pattern of static data.
    """

    dialect: Dialect
    first: tuple[str, ...] = OPERATORS
    words: tuple[str, ...] = WORDS
    windows: tuple[str, ...] = ()
    plain: bool = True
    matches: bool = True
    operators: tuple[str, ...] = OPERATORS


def random_event_query(random: Random, shape: Shape) -> tuple[str, Query]:
    """A query that the engine supports; streams are called s1, s2 and s3."""
    for _ in range(200):
        text = _EventWriter(random, shape).query()
        try:
            query = parse_query(text)
            check_supported(query)
        except UnsupportedFeatureError:
            continue
        except QuerySyntaxError as error:
            if "is not bound by what is repeated" in str(error):
                continue  # the writer does not look what a part binds
            raise AssertionError(f"{error}\n{text}") from error
        return text, query
    raise AssertionError("nothing that the writer writes is supported")


class _EventWriter(_Writer):
    def __init__(self, random: Random, shape: Shape) -> None:
        super().__init__(random, shape.dialect)
        self._shape = shape
        self._events: list[str] = []
        self._times: list[str] = []
        self._in_event = False
        self._left = random.choice((1, 1, 1, 2))
        self._matched = False

    # ---- the query

    def query(self) -> str:
        random = self._random
        windows = ["w1", "w2", "w3"][: random.choice((1, 2, 2, 3))]
        # Where windows are merged, only events name them.
        self._names = [] if self._dialect.merged else windows
        clauses = [self._window_clause(place) for place in range(1, len(windows) + 1)]
        if self._shape.matches:
            self._events = ["E0", "E1", "E2"][: random.choice((1, 2, 2, 3))]
            clauses += [
                f"EVENT ON :{random.choice(windows)} {{ {self._body()} }} AS {name}"
                for name in self._events
            ]
        head, pattern, tail = self._plain() if self._shape.plain else self._form()
        operator = random.choice(self._dialect.operators)
        every = f"COMPUTED EVERY {random.choice((1, 2, 3))} " if self._chance(0.15) else ""
        if every or not self._dialect.policies:
            every = every if self._dialect.policies else ""
            clauses = [clause.split(" REPORT ")[0] for clause in clauses]
        return (
            f"PREFIX : <{E}>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
            f"REGISTER {operator} :query {every}AS {head}\n"
            + "\n".join(clauses)
            + f"\nWHERE {pattern} {tail}"
        )

    def _window_clause(self, place: int) -> str:
        stream = self._random.choice(STREAMS)
        return f"FROM NAMED WINDOW :w{place} ON <{stream}> {self._window()}{self._report()}"

    def _window(self) -> str:
        windows = self._shape.windows
        return self._random.choice(windows) if windows else super()._window()

    def _plain(self) -> tuple[str, str, str]:
        parts = [self._match() if self._shape.matches else self._window_block()]
        if self._chance(0.3):
            parts.insert(self._random.choice((0, 1)), f"{self._triples()} .")
        if len(self._times) > 1 and self._chance(0.3):
            parts.append(self._of_times())
        shown = [*self._some("xyz"), *(self._times if self._chance(0.8) else [])]
        select = " ".join(f"?{v}" for v in shown)
        return f"SELECT {select}", "{ " + "\n  ".join(parts) + " }", ""

    def _some(self, names: str) -> list[str]:
        return sorted(self._random.sample(names, self._random.randint(1, len(names))))

    def _of_times(self) -> str:
        one, other = self._random.sample(self._times, 2)
        return f"FILTER(?{one} {self._one('<', '<=', '=', '!=')} ?{other})"

    # ---- where a MATCH stands

    def _group(self, depth: int, windows: bool = False) -> str:
        group = super()._group(depth, windows)
        if not windows or not self._left:
            return group
        first = f"{{ {self._match()} {group[2:-2]}"
        return f"{first} {self._of_times()} }}" if len(self._times) > 1 else f"{first} }}"

    def _block(self) -> str:
        if self._left and self._chance(0.15):
            return self._match()
        return super()._block()

    def _match(self) -> str:
        self._left -= 1
        # Two that consume are refused; one without a word may.
        words = (
            [w for w in self._shape.words if w in _KEEPING] if self._matched else self._shape.words
        )
        self._matched = True
        word = self._random.choice(words or ("UNRESTRICTED",))
        expression = self._expression(2, self._random.choice(self._shape.first))
        return f"MATCH {word} {{ {expression} }}"

    # ---- expressions

    def _expression(self, depth: int, kind: str | None = None) -> str:
        """An expression; brackets are written wherever they could be wanted."""
        if kind is None:
            if depth <= 0 or self._chance(0.35):
                return self._random.choice(self._events)
            kind = self._random.choice(self._shape.operators)
        one = self._part_of(depth)
        match kind:
            case "SEQ":
                word = self._one("SEQ", "SEQ", "BEFORE", "AFTER")
                text = f"{one} {word} {self._part_of(depth)}"
                if depth > 1 and self._chance(0.3):
                    text += f" SEQ {self._part_of(depth - 1)}"
            case "NOT":
                text = f"{one} SEQ NOT {self._part_of(depth)} SEQ {self._part_of(depth)}"
            case "AND" | "OR":
                text = f"{one} {kind} {self._part_of(depth)}"
            case "ALLEN":
                text = f"{one} {self._random.choice(RELATIONS)} {self._part_of(depth)}"
            case "WITHIN":
                sort = self._one("SEQ", "AND", "SEQ")
                text = f"{one} {sort} {self._part_of(depth)} WITHIN {self._random.choice((0, 1, 2, 4))}"
            case "RUN":
                text = self._run(one)
                if self._chance(0.5):
                    other = self._part_of(depth)
                    text = f"{other} SEQ {text}" if self._chance(0.5) else f"{text} SEQ {other}"
            case "FIRST":
                text = f"{self._one('FIRST', 'LAST')} {one}"
                if self._chance(0.5):
                    text += f" SEQ {self._one('FIRST', 'LAST', '')} {self._part_of(depth)}"
            case _:
                text = f"{one} AT ?{self._time()}"
        if self._chance(0.3):
            text += f" FROM ?{self._time()} TO ?{self._time()}"
        return text

    def _part_of(self, depth: int) -> str:
        inner = self._expression(depth - 1)
        return inner if inner in self._events else f"({inner})"

    def _run(self, inner: str) -> str:
        keys = "".join(f" ?{v}" for v in self._some("xyz")) if self._chance(0.7) else ""
        counted = self._one("COUNT(*)", "COUNT(?x)", "COUNT(DISTINCT ?y)", "COUNT(DISTINCT *)")
        aggregate = f" ({counted} AS ?{self._name()})" if self._chance(0.8) else ""
        return f"{inner}+{' BY' + keys if keys else ''}{aggregate}"

    def _time(self) -> str:
        name = self._name()
        self._times.append(name)
        return name

    # ---- events

    def _body(self) -> str:
        self._in_event = True
        random = self._random
        patterns = [self._pattern() for _ in range(random.choice((1, 1, 1, 1, 2, 2, 3)))]
        if self._chance(0.6):
            patterns[1:] = patterns[1:2] if self._chance(0.3) else []
            patterns[0] = f"{self._variable()} :{self._one('p', 'q')} {self._variable()}"
        triples = " . ".join(patterns)
        kind = random.random()
        if kind < 0.15:
            graph = self._one("?g", "?g", "?x", f":{random.choice(STREAMS)}{random.randint(0, 6)}")
            triples = f"GRAPH {graph} {{ {triples} }}"
            if graph == "?g" and self._chance(0.3):
                triples += f" ?g <{TIME}> ?{self._name()}"
        elif kind < 0.21:
            triples = f"{{ {triples} }} UNION {{ {self._pattern()} }}"
        more = random.random()
        if more < 0.1:
            triples += f" GRAPH :{self._one('g1', 'g2')} {{ {self._pattern()} }}"
        elif more < 0.17:
            triples += f" OPTIONAL {{ {self._pattern()} }}"
        elif more < 0.2:
            triples += f" OPTIONAL {{ GRAPH :{self._one('g1', 'g2')} {{ {self._pattern()} }} }}"
        elif more < 0.26:
            inner = self._one(self._pattern(), f"GRAPH :g1 {{ {self._pattern()} }}")
            triples += f" FILTER {self._one('', 'NOT ')}EXISTS {{ {inner} }}"
        elif more < 0.3:
            triples += f" {self._values()}"
        if self._chance(0.2):
            triples += f" FILTER({self._condition()})"
        if self._chance(0.1):
            triples += f" BIND({self._value()} AS ?{self._name()})"
        self._in_event = False
        return triples

    def _path(self) -> str:
        return self._one(":p/:q", "^:p", ":p|:q", "!:p") if self._in_event else super()._path()
