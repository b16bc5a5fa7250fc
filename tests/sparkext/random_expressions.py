"""Random conditions and values over the variables of random queries."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.sparkext.random_worlds import NODES, NUMBERS, E

VARIABLES = ("x", "y", "z")


class ExpressionWriter:
    """Writes expressions; numbers the names that a query makes up."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._fresh = 0

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _one(self, *choices: Callable[[], str] | str) -> str:
        chosen = self._random.choice(choices)
        return chosen if isinstance(chosen, str) else chosen()

    def _name(self) -> str:
        self._fresh += 1
        return f"n{self._fresh}"

    def _variable(self) -> str:
        return f"?{self._random.choice(VARIABLES)}"

    def _constant(self) -> str:
        kind = self._random.random()
        if kind < 0.3:
            return str(self._random.choice(NUMBERS))
        return '"a"' if kind < 0.36 else f":{self._random.choice(NODES)}"

    def _condition(self, depth: int = 1) -> str:
        random = self._random
        kind = random.random()
        v, w = self._variable(), self._variable()
        if depth and kind < 0.15:
            return f"({self._condition(0)}) {self._one('&&', '||')} ({self._condition(0)})"
        if depth and kind < 0.22:
            return f"!({self._condition(0)})"
        if kind < 0.4:
            return f"{v} {self._one('=', '!=')} {w}"
        if kind < 0.5:
            return f"{v} {self._one('=', '!=')} {self._constant()}"
        if kind < 0.62:
            return f"{v} {self._one('<', '<=', '>', '>=')} {random.choice(NUMBERS)}"
        return self._one(
            f"isIRI({v})",
            f"isLiteral({v})",
            f"isBlank({v})",
            f"BOUND({v})",
            f"isNumeric({v})",
            f"isTRIPLE({v})",
            f"{v} IN ({self._constant()}, {self._constant()})",
            f"{v} NOT IN ({self._constant()}, {w})",
            f"sameTerm({v}, {w})",
            f'CONTAINS(STR({v}), "a")',
            f'REGEX(STR({v}), "[bc]$")',
            f'STRSTARTS(STR({v}), "{E}")',
            f'LANG({v}) = "en"',
            f'LANGMATCHES(LANG({v}), "*")',
            f"DATATYPE({v}) = xsd:integer",
            f"{self._number()} > 2",
        )

    def _number(self) -> str:
        v = self._variable()
        return self._one(
            f"{v} + 1",
            f"{v} * {self._random.choice(NUMBERS)}",
            f"{v} - {self._variable()}",
            f"{v} / 2",
            f"STRLEN(STR({v}))",
            f"ABS(1 - {v})",
            f"CEIL({v} / 2)",
            f"FLOOR({v} / 2)",
            f"ROUND({v} / 4)",
            f"xsd:integer(STR({v}))",
            f"-{v}",
        )

    def _value(self) -> str:
        v = self._variable()
        return self._one(
            v,
            self._number,
            f"IF({self._condition(0)}, {v}, {self._constant()})",
            f"COALESCE({v}, {self._constant()})",
            f"COALESCE({self._number()}, 0)",
            f"{v} = {self._variable()}",
            f"STR({v})",
            f"UCASE(STR({v}))",
            f'CONCAT(STR({v}), "-", STR({self._variable()}))',
            f"SUBSTR(STR({v}), 10)",
            f'REPLACE(STR({v}), "e", "_")',
            f'STRAFTER(STR({v}), "/e/")',
            f'STRBEFORE(STR({v}), "/e/")',
            f"ENCODE_FOR_URI(STR({v}))",
            f'STRLANG(STR({v}), "fr")',
            f"STRDT(STR({v}), xsd:string)",
            f'IRI(CONCAT("{E}", SUBSTR(STR({v}), 10, 1)))',
            f"DATATYPE({v})",
            f"LANG({v})",
            f"MD5(STR({v}))",
            f"xsd:string({v})",
            f"xsd:decimal({v})",
            f"xsd:boolean({v})",
            f"SUBJECT({v})",
            f"OBJECT({v})",
            f"TRIPLE({v}, :p, {self._variable()})",
        )
