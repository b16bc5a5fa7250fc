"""Small random graphs, streams and continuous queries over one narrow vocabulary, so that much of it joins."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.oracle.recorded import Element

BASE = "http://e/"
XSD_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
NODES = ("a", "b", "g1")
PREDICATES = ("p", "q")
NUMBERS = (1, 2)
STATIC_GRAPHS = (f"{BASE}g1", f"{BASE}g2")
VARIABLES = ("x", "y", "z")
LATEST = 20


def random_triples(random: Random, size: int) -> str:
    """So many N-Triples lines, some perhaps twice."""
    return "\n".join(_triple(random) for _ in range(size))


def random_stream(random: Random, size: int) -> list[Element]:
    """Elements in order of time, some of them at one time; one to three triples each."""
    times = sorted(random.randint(1, LATEST) for _ in range(size))
    return [
        Element(t, tuple(_triple(random) for _ in range(random.choice((1, 1, 2, 3)))))
        for t in times
    ]


def _triple(random: Random) -> str:
    subject, predicate = random.choice(NODES), random.choice(PREDICATES)
    if random.random() < 0.2:
        object_ = f'"{random.choice(NUMBERS)}"^^<{XSD_INTEGER}>'
    else:
        object_ = f"<{BASE}{random.choice(NODES)}>"
    return f"<{BASE}{subject}> <{BASE}{predicate}> {object_} ."


@dataclass(frozen=True)
class RandomQuery:
    """A query over windows :w1 and :w2 on streams {0} and {1}, whose IRIs are put in by `on`."""

    text: str

    def on(self, first: str, second: str) -> str:
        """The text over these streams."""
        return self.text.replace("STREAM-1", first).replace("STREAM-2", second)


_WINDOWS = (
    "[NOW]",
    "[RANGE 3]",
    "[RANGE 7]",
    "[RANGE 6 STEP 2]",
    "[RANGE 2 STEP 5]",
    "[RANGE 5 STEP 2 STARTING AT 1]",
)


def random_query(random: Random) -> RandomQuery:
    """A continuous SELECT query; every operator that is supported has its chance."""
    return RandomQuery(_QueryWriter(random).query())


class _QueryWriter:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._fresh = 0

    def query(self) -> str:
        random = self._random
        operator = random.choice(("RSTREAM", "RSTREAM", "ISTREAM", "DSTREAM"))
        second = random.choice(("STREAM-1", "STREAM-2"))
        modifier = random.choice(("", "", "", "DISTINCT "))
        every = random.choice(("",) * 5 + ("COMPUTED EVERY 3 ",))
        if random.random() < 0.25:
            select, pattern, tail = self._aggregated(2)
        else:
            pattern, tail = self._group(2, windows=True), ""
            select = " ".join(f"?{v}" for v in random.sample(VARIABLES, random.randint(1, 3)))
            if self._fresh and random.random() < 0.5:
                select += f" ?n{random.randint(1, self._fresh)}"
        return (
            f"PREFIX : <{BASE}>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
            f"REGISTER {operator} :query {every}AS SELECT {modifier}{select}\n"
            f"FROM NAMED WINDOW :w1 ON <STREAM-1> {random.choice(_WINDOWS)}\n"
            f"FROM NAMED WINDOW :w2 ON <{second}> {random.choice(_WINDOWS)}\n"
            f"WHERE {pattern} {tail}"
        )

    def _aggregated(self, depth: int) -> tuple[str, str, str]:
        random = self._random
        pattern = self._group(depth - 1, windows=True)
        function = random.choice(
            ("COUNT(*)", "COUNT(?y)", "COUNT(DISTINCT ?y)", "MIN(?y)", "MAX(?y)", "SUM(?z)")
        )
        keys = random.choice(("", "?x", "?x ?z"))
        if "?z" in keys and "?z" in function:
            keys = "?x"
        # MIN and MAX over unlike terms have no order that SPARQL fixes.
        if function[:3] in ("MIN", "MAX"):
            pattern = f"{{ {pattern} FILTER(isNumeric(?y)) }}"
        aggregate = f"({function} AS ?{self._name()})"
        return f"{keys} {aggregate}", pattern, f"GROUP BY {keys}" if keys else ""

    def _name(self) -> str:
        self._fresh += 1
        return f"n{self._fresh}"

    def _group(self, depth: int, windows: bool = False) -> str:
        random = self._random
        parts = [self._window_block() if windows else self._block()]
        for _ in range(random.choice((0, 1, 1, 2))):
            parts.append(self._part(depth))
        random.shuffle(parts)
        if random.random() < 0.3:
            parts.append(f"FILTER({self._condition()})")
        if random.random() < 0.15:
            parts.append(f"BIND({self._value()} AS ?{self._name()})")
        return "{ " + "\n  ".join(parts) + " }"

    def _part(self, depth: int) -> str:
        random = self._random
        kind = random.random()
        if kind < 0.45 or depth == 0:
            return self._block()
        if kind < 0.6:
            return f"{self._group(depth - 1)} UNION {self._group(depth - 1)}"
        if kind < 0.72:
            return f"OPTIONAL {self._group(depth - 1)}"
        if kind < 0.8:
            return f"MINUS {self._group(depth - 1)}"
        if kind < 0.87:
            return self._values()
        return self._sub_select(depth)

    def _sub_select(self, depth: int) -> str:
        random = self._random
        if random.random() < 0.5:
            select, pattern, tail = self._aggregated(depth)
            return f"{{ SELECT {select} WHERE {pattern} {tail} }}"
        names = " ".join(f"?{v}" for v in random.sample(VARIABLES, 2))
        modifier = random.choice(("", "DISTINCT "))
        tail = ""
        if random.random() < 0.3:
            # By all that is shown: solutions that are cut differ from those that stay, or equal them.
            first, second = names.split()
            tail = f"ORDER BY {random.choice((first, f'DESC({first})'))} {second} "
            tail += random.choice(("LIMIT 1", "LIMIT 3", "LIMIT 2 OFFSET 1", "OFFSET 2"))
        return f"{{ SELECT {modifier}{names} WHERE {self._group(depth - 1)} {tail} }}"

    def _values(self) -> str:
        random = self._random
        if random.random() < 0.5:
            return f"VALUES ?{random.choice(VARIABLES)} {{ {self._constant()} {self._constant()} }}"
        row = f"({self._constant()} {random.choice(('UNDEF', self._constant()))})"
        one, other = random.sample(VARIABLES, 2)
        return f"VALUES (?{one} ?{other}) {{ {row} ({self._constant()} {self._constant()}) }}"

    def _window_block(self) -> str:
        name = self._random.choice(("w1", "w2"))
        return f"WINDOW :{name} {{ {self._content()} }}"

    def _block(self) -> str:
        random = self._random
        kind = random.random()
        if kind < 0.45:
            return self._window_block()
        if kind < 0.7:
            return f"{self._triples()} ."
        graph = random.choice((":g1", ":g2", "?g", "?g", f"?{random.choice(VARIABLES)}"))
        return f"GRAPH {graph} {{ {self._content()} }}"

    def _content(self) -> str:
        """What stands inside WINDOW or GRAPH."""
        random = self._random
        kind = random.random()
        if kind < 0.58:
            return self._triples()
        if kind < 0.64:
            return f"{self._triples()} MINUS {{ {self._triples()} }}"
        if kind < 0.7:
            return f"{self._triples()} FILTER({self._exists(0)})"
        if kind < 0.78:
            return f"{{ {self._triples()} }} UNION {{ {self._triples()} }}"
        if kind < 0.86:
            return f"{self._triples()} OPTIONAL {{ {self._triples()} }}"
        if kind < 0.9:
            return f"{self._triples()} . {self._values()}"
        if kind < 0.95:
            return (
                f"{{ SELECT ?x (COUNT(*) AS ?{self._name()}) {{ {self._triples()} }} GROUP BY ?x }}"
            )
        return f"{{ SELECT DISTINCT ?y {{ {self._triples()} }} }}"

    def _triples(self) -> str:
        return " . ".join(self._pattern() for _ in range(self._random.choice((1, 1, 1, 2))))

    def _pattern(self) -> str:
        random = self._random
        subject = self._variable() if random.random() < 0.9 else f":{random.choice(NODES)}"
        predicate = f":{random.choice(PREDICATES)}" if random.random() < 0.85 else self._variable()
        if random.random() < 0.1:
            predicate = self._path()
        object_ = self._variable() if random.random() < 0.85 else self._constant()
        return f"{subject} {predicate} {object_}"

    def _path(self) -> str:
        """A property path; no bare alternatives and no paths of no steps, where Oxigraph has its own ways."""
        return self._random.choice(
            (":p+", ":q+", "(:p/:q)+", "(:p|^:q)+", ":p/:q", "^:p", "!:p", "!(:q|^:p)+")
        )

    def _exists(self, depth: int) -> str:
        random = self._random
        inner = self._triples()
        if depth and random.random() < 0.4:
            inner = self._window_block()
        if random.random() < 0.5:
            inner += f" FILTER({self._condition(0)})"
        return f"{random.choice(('', 'NOT '))}EXISTS {{ {inner} }}"

    def _variable(self) -> str:
        return f"?{self._random.choice(VARIABLES)}"

    def _constant(self) -> str:
        random = self._random
        if random.random() < 0.3:
            return str(random.choice(NUMBERS))
        return f":{random.choice(NODES)}"

    def _condition(self, depth: int = 1) -> str:
        random = self._random
        kind = random.random()
        if depth and kind < 0.15:
            sign = random.choice(("&&", "||"))
            return f"({self._condition(0)}) {sign} ({self._condition(0)})"
        if depth and kind < 0.22:
            return f"!({self._condition(0)})"
        if depth and kind < 0.32:
            return self._exists(depth)
        if kind < 0.5:
            return f"{self._variable()} {random.choice(('=', '!='))} {self._variable()}"
        if kind < 0.65:
            return f"{self._variable()} {random.choice(('=', '!='))} {self._constant()}"
        if kind < 0.8:
            sign = random.choice(("<", "<=", ">", ">="))
            return f"{self._variable()} {sign} {random.choice(NUMBERS)}"
        if kind < 0.9:
            return f"{random.choice(('isIRI', 'isLiteral', 'BOUND'))}({self._variable()})"
        return f"{self._variable()} IN ({self._constant()}, {self._constant()})"

    def _value(self) -> str:
        return self._random.choice(
            (
                self._variable(),
                f"{self._variable()} + 1",
                f"IF({self._condition(0)}, {self._variable()}, {self._constant()})",
                f"COALESCE({self._variable()}, {self._constant()})",
                f"{self._variable()} = {self._variable()}",
            )
        )
