"""Terms of all kinds, and functions over their ids evaluated in prepared plans."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.sparkext.engine_room.live_room import LiveRoom

XSD = "http://www.w3.org/2001/XMLSchema#"


def typed(lexical: str, datatype: str) -> str:
    """A literal of an XSD datatype in N-Triples form."""
    return f'"{lexical}"^^<{XSD}{datatype}>'


def integer(lexical: str | int) -> str:
    return typed(str(lexical), "integer")


TRUE, FALSE = typed("true", "boolean"), typed("false", "boolean")
MYSTERY = '"a"^^<http://example.org/type>'

NUMBERS = [
    *[integer(n) for n in ("0", "1", "2", "-5", "7", "+7", "007", 2**56, 2**57, -(2**57), 2**62)],
    *[typed(n, "decimal") for n in ("0.0", "1.0", "1.5", "1.50", "-2.25", "7", "0.1", ".5", "3.")],
    *[typed(n, "double") for n in ("0.0E0", "-0.0E0", "1.0E0", "1e0", "1.5", "NaN", "INF", "-INF")],
    *[typed(n, "float") for n in ("1.0E0", "0.1", "0.10", "1.5E0", "NaN", "-INF")],
    *[
        typed(n, t)
        for n, t in (("7", "int"), ("07", "byte"), ("-5", "long"), ("2", "unsignedByte"))
    ],
]
BOOLEANS = [TRUE, FALSE, typed("1", "boolean"), typed("0", "boolean")]
STRINGS = ['""', '"a"', '"b"', '"B"', '"é"', '"\uff5e"', '"\U0001f600"', '"a\\"\\n"', '"007"']
TAGGED = ['"a"@en', '"a"@fr', '""@en', '"b"@en']
TIMES = [
    typed(t, "dateTime")
    for t in (
        "2026-01-31T10:00:00Z",
        "2026-01-31T10:00:00.000Z",
        "2026-01-31T12:00:00+02:00",
        "2026-01-31T10:00:00.0000001Z",
        "2026-01-31T09:59:59.9-00:01",
        "2026-01-30T24:00:00Z",
        "2026-01-31T00:00:00Z",
        "1066-10-14T09:00:00Z",
        "12026-01-01T00:00:00Z",
    )
]
ILL_TYPED = [typed("abc", "integer"), typed("1.2.3", "decimal"), typed("maybe", "boolean")]
UNKNOWN = [MYSTERY, '"b"^^<http://example.org/type>', typed("2026-13-45T99:00:00Z", "dateTime")]
NO_LITERALS = ["<http://example.org/a>", "<http://example.org/b>"]
BLANK = "_:node"
QUOTED = "<< <http://example.org/a> <http://example.org/p> <http://example.org/b> >>"

TERMS = [
    *NUMBERS, *BOOLEANS, *STRINGS, *TAGGED, *TIMES, *ILL_TYPED, *UNKNOWN, *NO_LITERALS, BLANK, QUOTED
]  # fmt: skip


class Terms:
    """Evaluates functions over rows of terms in one prepared plan a call."""

    def __init__(self, live: LiveRoom) -> None:
        self.live = live

    def evaluate(self, function: str, rows: list[tuple[str, ...]], boolean: bool) -> list[Any]:
        """The value of `function` over its arguments $a, $b for each row: text, bool or None (error)."""
        live = self.live
        width = len(rows[0])
        ids = [(number, *(live.id(t) for t in row)) for number, row in enumerate(rows)]
        content = live.static("terms", ids, width + 1)
        names = ["a", "b", "c"][:width]
        frame = live.frame(content, "row", *names)
        call = function.replace("$room", f"{live.number}L")
        if boolean:
            call = f"case {call} when true then 1L when false then 2L else 0L end"
        found = dict(live.on_driver(live.prepare(frame.selectExpr("row", f"{call} as x"))))
        if boolean:
            return [(None, True, False)[found[number]] for number in range(len(rows))]
        return [live.text(found[n]) if found[n] else None for n in range(len(rows))]

    def test(self, function: str, *arguments: str) -> bool | None:
        """A function that gives a truth value, over one row."""
        (value,) = self.evaluate(function, [arguments], True)
        return value  # type: ignore[no-any-return]

    def term(self, function: str, *arguments: str) -> str | None:
        """A function that gives a term, over one row."""
        (value,) = self.evaluate(function, [arguments], False)
        return value  # type: ignore[no-any-return]


EQUAL = "cqels_equal($room, a, b)"
LESS = "cqels_less($room, a, b)"
LESS_OR_EQUAL = "cqels_less_or_equal($room, a, b)"


def number(text: str | None) -> tuple[str, Decimal] | None:
    """Datatype and value of a numeric term, None for an error."""
    if text is None:
        return None
    lexical, datatype = text[1:].split('"^^<' + XSD)
    return datatype[:-1], Decimal(lexical.replace("INF", "Infinity"))
