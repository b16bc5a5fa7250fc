"""Random continuous queries over the whole language: every operator, kind of window, report policy and form.

What the answer would be left open by a standard is not written: which rows a LIMIT keeps among equals, MIN and MAX of
unlike terms, the order in which GROUP_CONCAT meets its rows, SAMPLE.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from sparkext.errors import QuerySyntaxError, UnsupportedFeatureError
from sparkext.language import check_supported, parse_query
from sparkext.language.query import Query
from tests.sparkext.random_expressions import VARIABLES, ExpressionWriter
from tests.sparkext.random_worlds import GRAPHS, NODES, PREDICATES, E

STREAMS = ("s1", "s2")


@dataclass(frozen=True)
class Dialect:
    """What a profile lets a query write."""

    profile: str
    merged: bool = False
    unnamed: bool = False
    operators: tuple[str, ...] = ("RSTREAM", "RSTREAM", "ISTREAM", "DSTREAM")
    hidden_start: bool = False
    policies: bool = True
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return " ".join([self.profile, *(f"{k}={v}" for k, v in self.settings.items())])


DIALECTS = (
    Dialect("rspql", unnamed=True),
    Dialect("rspql", unnamed=True, settings={"windowBounds": "closed-open", "startingAt": "3"}),
    Dialect("rspql", unnamed=True, settings={"duplicates": "bag"}),
    Dialect("rspqlstar", unnamed=True),
    Dialect("csparql", merged=True, operators=("RSTREAM",), hidden_start=True, policies=False),
    Dialect("cqels", operators=("ISTREAM",), hidden_start=True, policies=False),
    Dialect("sparqlstream", merged=True, hidden_start=True, policies=False),
)


def random_query(random: Random, dialect: Dialect) -> tuple[str, Query]:
    """A query that the engine supports; streams are called s1 and s2."""
    for _ in range(200):
        text = _Writer(random, dialect).query()
        try:
            query = parse_query(text)
            check_supported(query)
        except UnsupportedFeatureError:
            continue
        except QuerySyntaxError as error:
            raise AssertionError(f"{error}\n{text}") from error
        return text, query
    raise AssertionError("nothing that the writer writes is supported")


class _Writer(ExpressionWriter):
    def __init__(self, random: Random, dialect: Dialect) -> None:
        super().__init__(random)
        self._dialect = dialect
        self._names = ["w1", "w2"] if not dialect.merged else []
        self._in_exists = False

    # ---- the query and its windows

    def query(self) -> str:
        random = self._random
        clauses = [self._window_clause(place) for place in (1, 2)]
        if self._chance(0.25):
            clauses.pop()
            self._names = self._names[:1]
        if self._chance(0.2) and self._dialect.unnamed:
            stream = random.choice(STREAMS)
            clauses.append(f"FROM WINDOW ON <{stream}> {self._window()}{self._report()}")
        head, pattern, tail = self._form()
        operator = random.choice(self._dialect.operators)
        every = f"COMPUTED EVERY {random.choice((2, 3, 5))} " if self._chance(0.15) else ""
        if every:  # two periods would exclude each other
            clauses = [clause.replace(" AND EVERY 3", "") for clause in clauses]
        report = ""
        if self._dialect.policies and self._names and self._chance(0.1):
            parts = " AND ".join(
                f"{random.choice(('CC', 'STRICT CC', 'WC', 'NC'))} OF :{random.choice(self._names)}"
                for _ in range(random.choice((1, 2)))
            )
            report = f"REPORT ON {parts} "
        return (
            f"PREFIX : <{E}>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
            f"REGISTER {operator} :query {every}{report}AS {head}\n"
            + "\n".join(clauses)
            + f"\nWHERE {pattern} {tail}"
        )

    def _window_clause(self, place: int) -> str:
        stream = STREAMS[0] if place == 1 else self._random.choice(STREAMS)
        if self._dialect.merged:
            return f"FROM WINDOW ON <{stream}> {self._window()}"
        return f"FROM NAMED WINDOW :w{place} ON <{stream}> {self._window()}{self._report()}"

    def _window(self) -> str:
        random = self._random
        start = "" if self._dialect.hidden_start else random.choice(("", "", " STARTING AT 1"))
        plain = (
            "[NOW]",
            "[RANGE 3]",
            "[RANGE 7]",
            f"[RANGE 6 STEP 2{start}]",
            f"[RANGE 5 STEP 2{start}]",
            f"[RANGE 2 STEP 5{start}]",
            f"[RANGE 4 STEP 4{start}]",
        )
        if self._chance(0.7):
            return random.choice(plain)
        timed = (
            "[LANDMARK 5]",
            "[INTERVAL 3 9]",
            "[NOW-8 TO NOW-3]",
            f"[RANGE 4 STEP 3 DELAY 2{start}]",
            "[ALL]",
        )
        if self._chance(0.3):
            return f"{random.choice(plain + timed)} . {random.choice(timed)}"
        return random.choice((*timed, "[ELEMENTS 3]", "[ELEMENTS 4 STEP 3]"))

    def _report(self) -> str:
        if not self._dialect.policies or not self._chance(0.1):
            return ""
        return " REPORT ON " + self._one(
            "CC", "STRICT CC", "WC", "WC AND NC", "NC AND EVERY 3", "STRICT CC AND NC"
        )

    def _form(self) -> tuple[str, str, str]:
        random = self._random
        kind = random.random()
        if kind < 0.08:
            return "ASK", self._group(2, windows=True), ""
        if kind < 0.2:
            pattern = self._group(2, windows=True)
            triples = [
                f"{self._one('?x', '?y', ':a', '_:b', '[]')} {self._one(':p', ':p', '?z')} "
                f"{self._one('?y', '?z', '_:b', '1', '<< ?x :q ?y >>')} ."
                for _ in range(random.choice((1, 2)))
            ]
            return f"CONSTRUCT {{ {' '.join(triples)} }}", pattern, ""
        modifier = random.choice(("", "", "", "DISTINCT "))
        if kind < 0.42:
            select, pattern, tail = self._aggregated(2, windows=True)
            return f"SELECT {modifier}{select}", pattern, tail
        pattern = self._group(2, windows=True)
        select = " ".join(f"?{v}" for v in random.sample(VARIABLES, random.randint(1, 3)))
        select += self._one("", "", " ?g")
        if self._fresh and self._chance(0.5):
            select += f" ?n{random.randint(1, self._fresh)}"
        if self._chance(0.15):
            select += f" ({self._value()} AS ?{self._name()})"
        return f"SELECT {modifier}{select}", pattern, ""

    def _aggregated(self, depth: int, windows: bool = False) -> tuple[str, str, str]:
        random = self._random
        pattern = self._group(depth - 1, windows)
        argument = random.choice(VARIABLES)
        function = random.choice(
            (
                "COUNT(*)",
                "COUNT(DISTINCT *)",
                "COUNT(?{0})",
                "COUNT(DISTINCT ?{0})",
                "MIN(?{0})",
                "MAX(?{0})",
                "SUM(?{0})",
                "AVG(?{0})",
                "SUM(DISTINCT ?{0})",
                'STRLEN(GROUP_CONCAT(STR(?{0}); SEPARATOR="--"))',
                "STRLEN(GROUP_CONCAT(DISTINCT STR(?{0})))",
            )
        ).format(argument)
        names = [v for v in VARIABLES if v != argument]
        keys = " ".join(f"?{v}" for v in random.sample(names, random.choice((0, 1, 1, 2))))
        # MIN and MAX over unlike terms have no order that SPARQL fixes; a sum with an error is one.
        if function[:3] in ("MIN", "MAX", "SUM", "AVG") and self._chance(
            0.9 if function[0] in "SA" else 1
        ):
            pattern = f"{{ {pattern} FILTER(isNumeric(?{argument})) }}"
        having = self._one("", "", "", f" HAVING({function} > 1)", " HAVING(COUNT(*) < 4)")
        tail = (f"GROUP BY {keys}" if keys else "") + having
        shown = " ".join(key for key in keys.split() if self._chance(0.85))
        return f"{shown} ({function} AS ?{self._name()})", pattern, tail

    # ---- groups

    def _group(self, depth: int, windows: bool = False) -> str:
        random = self._random
        parts = [self._window_block() if windows else self._block()]
        for _ in range(random.choice((0, 1, 1, 2))):
            parts.append(self._part(depth))
        random.shuffle(parts)
        if self._chance(0.3):
            parts.append(f"FILTER({self._condition()})")
        if self._chance(0.12):
            parts.append(f"BIND({self._value()} AS ?{self._name()})")
        return "{ " + "\n  ".join(parts) + " }"

    def _part(self, depth: int) -> str:
        kind = self._random.random()
        if kind < 0.42 or depth == 0:
            return self._block()
        if kind < 0.55:
            return f"{self._group(depth - 1)} UNION {self._group(depth - 1)}"
        if kind < 0.72:
            return f"OPTIONAL {self._group(depth - 1)}"
        if kind < 0.79:
            return f"MINUS {self._group(depth - 1)}"
        if kind < 0.86:
            return f"FILTER {self._one('', 'NOT ')}EXISTS {{ {self._exists()} }}"
        if kind < 0.91:
            return self._values()
        return self._sub_select(depth)

    def _exists(self) -> str:
        self._in_exists = True
        content = self._block()
        self._in_exists = False
        return f"{content} FILTER({self._condition(0)})" if self._chance(0.3) else content

    def _sub_select(self, depth: int) -> str:
        random = self._random
        kind = random.random()
        if kind < 0.4:
            select, pattern, tail = self._aggregated(depth)
            return f"{{ SELECT {select} WHERE {pattern} {tail} }}"
        if kind < 0.55:
            v = random.choice(VARIABLES)
            order = f"ORDER BY {self._one('', 'DESC')}(?{v}) LIMIT {random.choice((1, 2))}"
            return f"{{ SELECT DISTINCT ?{v} WHERE {{ {self._group(depth - 1)} FILTER(isIRI(?{v})) }} {order} }}"
        names = " ".join(f"?{v}" for v in random.sample(VARIABLES, 2))
        return f"{{ SELECT {self._one('', 'DISTINCT ')}{names} WHERE {self._group(depth - 1)} }}"

    def _values(self) -> str:
        random = self._random
        if self._chance(0.5):
            return f"VALUES ?{random.choice(VARIABLES)} {{ {self._constant()} {self._constant()} }}"
        row = f"({self._constant()} {random.choice(('UNDEF', self._constant()))})"
        one, other = random.sample(VARIABLES, 2)
        return f"VALUES (?{one} ?{other}) {{ {row} ({self._constant()} {self._constant()}) }}"

    def _window_block(self) -> str:
        if not self._names:
            return f"{self._triples()} ."
        name = (
            f":{self._random.choice(self._names)}" if self._chance(0.93) else self._one("?w", "?x")
        )
        content = self._content()
        if self._chance(0.35):
            graph = self._one(
                "?g",
                "?g",
                "?g",
                "?x",
                f":{self._random.choice(STREAMS)}{self._random.randint(0, 6)}",
            )
            inner = f"GRAPH {graph} {{ {self._content()} }}"
            content = inner if self._chance(0.7) else f"{inner} {content}"
        return f"WINDOW {name} {{ {content} }}"

    def _block(self) -> str:
        kind = self._random.random()
        if kind < 0.45:
            return self._window_block()
        if kind < 0.7:
            return f"{self._triples()} ."
        graph = self._one(
            *(f":{g}" for g in GRAPHS), "?g", "?g", f"?{self._random.choice(VARIABLES)}"
        )
        if kind < 0.74 and self._names:
            return f"GRAPH {graph} {{ {self._window_block()} {self._triples()} }}"
        return f"GRAPH {graph} {{ {self._content()} }}"

    def _content(self) -> str:
        """What stands inside WINDOW or GRAPH."""
        kind = self._random.random()
        if kind < 0.66:
            return self._triples()
        if kind < 0.73:
            return f"{{ {self._triples()} }} UNION {{ {self._triples()} }}"
        if kind < 0.8:
            return f"{self._triples()} OPTIONAL {{ {self._triples()} }}"
        if kind < 0.84:
            return f"{self._triples()} . {self._values()}"
        if kind < 0.88:
            return (
                f"{{ SELECT ?x (COUNT(*) AS ?{self._name()}) {{ {self._triples()} }} GROUP BY ?x }}"
            )
        if kind < 0.91:
            return f"{{ SELECT DISTINCT ?y {{ {self._triples()} }} }}"
        if kind < 0.94:
            return f"{self._triples()} MINUS {{ {self._triples()} }}"
        if kind < 0.97:
            return f"{self._triples()} FILTER({self._condition()})"
        return f"{self._triples()} FILTER EXISTS {{ {self._triples()} }}"

    # ---- triples

    def _triples(self) -> str:
        return " . ".join(self._pattern() for _ in range(self._random.choice((1, 1, 1, 2))))

    def _pattern(self) -> str:
        random = self._random
        subject = self._variable() if self._chance(0.85) else f":{random.choice(NODES)}"
        if self._chance(0.12):
            subject = self._quoted(1)
        elif self._chance(0.03):
            subject = "[]"
        if self._chance(0.08):
            return f"{subject if subject != '[]' else '?x'} {self._path()} {self._object()}"
        predicate = f":{random.choice(PREDICATES)}" if self._chance(0.85) else self._variable()
        return f"{subject} {predicate} {self._object()}"

    def _object(self) -> str:
        if self._chance(0.06):
            return self._quoted(1)
        return self._variable() if self._chance(0.85) else self._constant()

    def _quoted(self, depth: int) -> str:
        subject = self._quoted(depth - 1) if depth and self._chance(0.2) else self._variable()
        predicate = f":{self._random.choice(PREDICATES)}" if self._chance(0.8) else self._variable()
        object_ = (
            self._quoted(depth - 1)
            if depth and self._chance(0.15)
            else self._one(self._variable, self._variable, self._constant)
        )
        return f"<< {subject} {predicate} {object_} >>"

    def _path(self) -> str:
        if self._in_exists:
            # What EXISTS substitutes may be outside the graph, and Oxigraph then walks no zero steps from it.
            return self._one(":p/:q", ":q+", "^:p", ":p|:q", "!:p")
        return self._one(
            ":p/:q",
            ":p*",
            ":q+",
            ":p?",
            "^:p",
            ":p|:q",
            "!:p",
            "(:p/:q)*",
            "(:p|^:q)+",
            ":p/:q*",
            "!(:p|^:q)",
            "^(:p/:q)",
        )
