"""Functions that users write in Python and call in queries by an IRI."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pyspark.java_gateway import ensure_callback_server_started

from sparkext.argument_checks import described, lone_surrogate
from sparkext.errors import DuplicateNameError, FunctionError, StreamElementError
from sparkext.language.expressions import FunctionCall
from sparkext.language.uncertainty import RSPU
from sparkext.runtime.parts.engine_lock import serving
from sparkext.runtime.parts.pushed_triples import term_text
from static_data.terms import XSD, Term, parse_term
from static_data.terms import Literal as RdfLiteral

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.bridge.engine_room import EngineRoom

Returns = Literal["double", "term"]

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|^`\\]*")
_INTEGERS = (
    *("integer", "long", "int", "short", "byte"),
    *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
    *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
)
_DECIMAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_FLOATING = rf"{_DECIMAL}([Ee][+-]?[0-9]+)?|[+-]?INF|NaN"

# What is written for a value, and how it is read: Python reads more, such as 1_000 and infinity.
_VALUES: dict[str, tuple[re.Pattern[str], Callable[[str], object]]] = {
    **{XSD + name: (re.compile("[+-]?[0-9]+"), int) for name in _INTEGERS},
    XSD + "decimal": (re.compile(_DECIMAL), float),
    **{XSD + name: (re.compile(_FLOATING), float) for name in ("double", "float")},
    XSD + "boolean": (re.compile("true|false|1|0"), lambda text: text in ("true", "1")),
}
_BLANKS = " \t\r\n"  # those of XML; they may surround a value


@dataclass(frozen=True)
class UserFunction:
    """A function by its IRI: the number that the JVM knows it by, and microseconds that a call is said to cost."""

    number: int
    cost_us: float


class UserFunctions:
    """The functions that an engine's queries may call beside SPARQL's and those of `rspu:`."""

    def __init__(self, spark: SparkSession, room: EngineRoom) -> None:
        self._spark = spark
        self._room = room
        self._known: dict[str, UserFunction] = {}

    def add(self, iri: str, function: Callable[..., Any], returns: Returns, cost_us: float) -> None:
        """Take a function; see `Engine.register_function`."""
        if (
            not isinstance(iri, str)
            or not _ABSOLUTE.fullmatch(iri)
            or lone_surrogate(iri) is not None
        ):
            raise FunctionError(
                f"iri: a function is named by an absolute IRI, not by {described(iri)}"
            )
        if iri.startswith((RSPU, XSD)):
            raise FunctionError(f"<{iri}> lies in a namespace whose functions are given")
        if iri in self._known:
            raise DuplicateNameError(f"there is a function <{iri}> already")
        if not callable(function):
            raise FunctionError(f"function: <{iri}> must be called: not {described(function)}")
        if returns not in ("double", "term"):
            raise FunctionError(f"returns: a function returns 'double' or 'term', not {returns!r}")
        costs = isinstance(cost_us, int | float) and not isinstance(cost_us, bool)
        if not costs or not 0 <= cost_us < math.inf:
            raise FunctionError(
                f"cost_us: a call costs 0 microseconds or more, not infinitely many: not {cost_us!r}"
            )
        ensure_callback_server_started(self._spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
        called = _Called(iri, function, returns)
        number = self._room.add_function(called, returns == "double", iri, cost_us * 1e3)
        self._known[iri] = UserFunction(number, cost_us)

    def number(self, iri: str) -> int | None:
        """The number that the JVM knows a function by; None if there is none of that name."""
        known = self._known.get(iri)
        return None if known is None else known.number

    def said_us(self, call: FunctionCall) -> float | None:
        """Microseconds that a call is said to cost; None for the functions that are not users'."""
        known = self._known.get(call.function)
        return None if known is None else known.cost_us

    @property
    def names(self) -> frozenset[str]:
        """The IRIs of all functions."""
        return frozenset(self._known)


class _Called:
    """What the JVM calls, on a thread of py4j."""

    def __init__(self, iri: str, function: Callable[..., Any], returns: Returns) -> None:
        self._iri = iri
        self._function = function
        self._returns = returns

    def call(self, arguments: str) -> str | None:
        """The value for arguments that are a JSON array of terms; None is an error of SPARQL."""
        values = [python_value(parse_term(text)) for text in json.loads(arguments)]
        with serving(self._iri):
            value = self._function(*values)
        if value is None:
            return None
        if self._returns == "double":
            number = repr(float(value))
            return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(number, number)
        text = self._term(value)
        if lone_surrogate(text) is not None:
            raise FunctionError(f"<{self._iri}> gave a text with a lone surrogate")
        return text

    def _term(self, value: Any) -> str:
        if isinstance(value, str):
            return RdfLiteral(value).n3()
        try:
            return parse_term(term_text(value)).n3()
        except StreamElementError as error:
            raise FunctionError(f"<{self._iri}> gave a value that is no term: {error}") from None

    class Java:
        """Tells py4j which interface this is."""

        implements = ("org.apache.spark.sql.cqels.calls.UserFunction",)


def python_value(term: Term) -> object:
    """A number, string or boolean of Python for a literal that has such a value, any other term as it is.

    >>> python_value(parse_term('"0.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'))
    0.5
    >>> python_value(parse_term('"-INF"^^<http://www.w3.org/2001/XMLSchema#float>'))
    -inf
    >>> python_value(parse_term('"7"^^<http://www.w3.org/2001/XMLSchema#unsignedByte>'))
    7
    """
    if not isinstance(term, RdfLiteral):
        return term
    if term.datatype.value == XSD + "string":
        return term.lexical
    known, text = _VALUES.get(term.datatype.value), term.lexical.strip(_BLANKS)
    if known is None or not known[0].fullmatch(text):
        return term
    try:
        return known[1](text)
    except ValueError:  # an integer of more digits than Python reads
        return term
