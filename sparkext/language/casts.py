"""Casts: the functions that are named by the IRI of a datatype (SPARQL 1.1, section 17.5)."""

from __future__ import annotations

from typing import Final

from sparkext.language.expressions import FunctionCall
from static_data.terms import XSD

CASTS: Final = {
    *("string", "boolean", "decimal", "float", "double", "integer", "long", "int", "short", "byte"),
    *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
    *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte", "dateTime", "date", "time"),
    *("gYearMonth", "gYear", "gMonthDay", "gDay", "gMonth"),
    *("duration", "yearMonthDuration", "dayTimeDuration"),
}
"""Local names of the XSD datatypes that can be cast to."""


def cast_of(function: FunctionCall) -> str | None:
    """The local name of the XSD datatype that a function casts to, None for any other function.

    >>> cast_of(FunctionCall(XSD + "integer", ())), cast_of(FunctionCall("http://example.org/f", ()))
    ('integer', None)
    """
    name = function.function.removeprefix(XSD)
    return name if name != function.function and name in CASTS else None
