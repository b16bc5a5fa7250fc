"""Random monotone continuous queries: every solution stays as long as the rows that it comes from."""

from __future__ import annotations

from random import Random

from sparkext.errors import QuerySyntaxError
from sparkext.language import parse_query
from sparkext.language.query import Query
from tests.sparkext.random_continuous import VARIABLES, Dialect, _Writer
from tests.sparkext.random_worlds import GRAPHS, PREDICATES


def monotone_query(random: Random, dialect: Dialect) -> tuple[str, Query]:
    """A query over windows that elements leave by time alone; streams are called s1 and s2."""
    # A name names one stream of answers for as long as there is the engine.
    text = (
        _MonotoneWriter(random, dialect)
        .query()
        .replace(":query", f":query{random.getrandbits(40)}")
    )
    try:
        return text, parse_query(text)
    except QuerySyntaxError as error:
        raise AssertionError(f"{error}\n{text}") from error


class _MonotoneWriter(_Writer):
    def _window(self) -> str:
        return self._random.choice(
            (
                "[NOW]",
                "[RANGE 2]",
                "[RANGE 3]",
                "[RANGE 7]",
                "[RANGE 6 STEP 2]",
                "[RANGE 2 STEP 5]",
                "[LANDMARK 5]",
                "[ALL]",
            )
        )

    def _form(self) -> tuple[str, str, str]:
        random = self._random
        pattern = self._group(2, windows=True)
        if self._chance(0.1):
            return "CONSTRUCT { ?x :p ?y . ?y :q 1 }", pattern, ""
        select = " ".join(f"?{v}" for v in random.sample(VARIABLES, random.randint(1, 3)))
        if self._fresh and self._chance(0.5):
            select += f" ?n{random.randint(1, self._fresh)}"
        return f"SELECT {self._one('', '', 'DISTINCT ')}{select}{self._one('', ' ?g')}", pattern, ""

    def _part(self, depth: int) -> str:
        random = self._random
        kind = random.random()
        if kind < 0.45 or depth == 0:
            return self._block()
        if kind < 0.65:
            sides = [self._group(depth - 1, windows=True) for _ in range(2)]
            return f"{sides[0]} UNION {sides[1]}"
        if kind < 0.72:
            return f"OPTIONAL {{ {self._static()} }}"
        if kind < 0.78:
            return f"MINUS {{ {self._static()} }}"
        if kind < 0.84:
            return f"FILTER {self._one('', 'NOT ')}EXISTS {{ {self._static()} }}"
        if kind < 0.9:
            return self._values()
        if kind < 0.93:
            return self._static_group()
        names = " ".join(f"?{v}" for v in random.sample(VARIABLES, 2))
        return f"{{ SELECT {self._one('', 'DISTINCT ')}{names} WHERE {self._group(depth - 1)} }}"

    def _static(self) -> str:
        graph = self._one(*(f":{g}" for g in GRAPHS), "?g")
        return self._one(f"{self._triples()} .", f"GRAPH {graph} {{ {self._triples()} }}")

    def _static_group(self) -> str:
        key, value = self._random.sample(VARIABLES, 2)
        made = f"{self._one('AVG', 'COUNT', 'MAX', 'SUM')}(?{value}) AS ?{self._name()}"
        numbers = f"?{key} :{self._random.choice(PREDICATES)} ?{value} FILTER(isNumeric(?{value}))"
        return f"{{ SELECT ?{key} ({made}) {{ {numbers} }} GROUP BY ?{key} }}"

    def _content(self) -> str:
        kind = self._random.random()
        if kind < 0.75:
            return self._triples()
        if kind < 0.85:
            return f"{{ {self._triples()} }} UNION {{ {self._triples()} }}"
        if kind < 0.93:
            return f"{self._triples()} FILTER({self._condition(0)})"
        return f"{{ SELECT DISTINCT ?y {{ {self._triples()} }} }}"
