"""Columns of N-Triples texts as columns of values, where all of a column has one datatype."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation
from typing import Any

import pyarrow as pa

from sparkext.answers.term_parts import term
from static_data.terms import XSD, XSD_STRING, Literal

_INTEGERS = {
    XSD + name: range(least, end)
    for name, least, end in (
        ("integer", -(2**63), 2**63),
        ("long", -(2**63), 2**63),
        ("int", -(2**31), 2**31),
        ("short", -(2**15), 2**15),
        ("byte", -(2**7), 2**7),
        ("nonNegativeInteger", 0, 2**63),
        ("positiveInteger", 1, 2**63),
        ("nonPositiveInteger", -(2**63), 1),
        ("negativeInteger", -(2**63), 0),
        ("unsignedLong", 0, 2**63),
        ("unsignedInt", 0, 2**32),
        ("unsignedShort", 0, 2**16),
        ("unsignedByte", 0, 2**8),
    )
}
"""The values of each type, as far as a BIGINT has them."""
_DECIMAL_DIGITS, _DECIMAL_SCALE = 38, 18
_DECIMALS = Context(prec=_DECIMAL_DIGITS, traps=[InvalidOperation, Inexact])
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
# Python reads more: underscores, digits of other scripts, "infinity", other forms of ISO 8601.
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(_DECIMAL.pattern + r"(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# No more digits of a second than a timestamp keeps.
_MOMENT = re.compile(
    _DATE.pattern + r"T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6}0*)?"
    r"(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
)
_FLOATS = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}


def typed_table(table: pa.Table) -> pa.Table:
    """The table with each column that has one datatype throughout as a column of that type.

    Typed are xsd:boolean, the integer types (BIGINT), xsd:decimal (38 digits, 18 of them fractional), xsd:float,
    xsd:double, xsd:date, xsd:dateTime (with a zone throughout, a moment in UTC; without one throughout, a local time)
    and xsd:string. A column of other terms or of several datatypes, and one with a value that is ill-formed or does
    not fit, stays as it is: N-Triples texts. Null is unbound.

    >>> text = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'.format
    >>> typed_table(pa.table({"n": [text(5), None], "x": ['"a"', '<http://e/>']})).to_pylist()
    [{'n': 5, 'x': '"a"'}, {'n': None, 'x': '<http://e/>'}]
    """
    return pa.table({name: typed_column(table.column(name)) for name in table.column_names})


def typed_column(column: pa.ChunkedArray) -> pa.Array:
    """One column, see `typed_table`; each different text is read once."""
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):  # no chunk at all
        encoded = pa.array([], pa.string()).dictionary_encode()
    terms = [term(text) for text in encoded.dictionary.to_pylist()]
    literals = [t for t in terms if isinstance(t, Literal)]
    datatypes = {literal.datatype.value for literal in literals}
    if len(literals) < len(terms) or len(datatypes) != 1:
        return encoded.dictionary.take(encoded.indices)
    (datatype,) = datatypes
    try:
        values = _typed(datatype, [literal.lexical for literal in literals])
    except (ValueError, OverflowError, KeyError, DecimalException, pa.ArrowInvalid):
        values = None  # a value out of range or ill-formed: the texts say what it is
    return (encoded.dictionary if values is None else values).take(encoded.indices)


def _typed(datatype: str, lexicals: list[str]) -> pa.Array | None:
    if datatype == XSD_STRING.value:
        return pa.array(lexicals, pa.string())
    if datatype in _INTEGERS:
        return pa.array([_integer(text, _INTEGERS[datatype]) for text in lexicals], pa.int64())
    if datatype == XSD + "dateTime":
        return _moments(lexicals)
    if datatype not in _READERS:
        return None
    read, kind = _READERS[datatype]
    return pa.array([read(text) for text in lexicals], kind)


def _checked(kind: re.Pattern[str], text: str) -> str:
    if kind.fullmatch(text) is None:
        raise ValueError(f"{text!r} is ill-formed")
    return text


def _integer(text: str, values: range) -> int:
    value = int(_checked(_INTEGER, text))
    if value not in values:
        raise ValueError(f"{value} is out of range")
    return value


def _float(text: str) -> float:
    return _FLOATS[text] if text in _FLOATS else float(_checked(_DOUBLE, text))


def _decimal(text: str) -> Decimal:
    return _DECIMALS.quantize(Decimal(_checked(_DECIMAL, text)), Decimal(1).scaleb(-_DECIMAL_SCALE))


def _moments(lexicals: list[str]) -> pa.Array | None:
    times = [datetime.fromisoformat(_checked(_MOMENT, text)) for text in lexicals]
    zoned = {time.tzinfo is not None for time in times}
    if zoned == {True}:
        return pa.array([time.astimezone(UTC) for time in times], pa.timestamp("us", tz="UTC"))
    return pa.array(times, pa.timestamp("us")) if zoned == {False} else None


_READERS: dict[str, tuple[Callable[[str], Any], pa.DataType]] = {
    XSD + "boolean": (lambda text: _BOOLEANS[text], pa.bool_()),
    XSD + "decimal": (_decimal, pa.decimal128(_DECIMAL_DIGITS, _DECIMAL_SCALE)),
    XSD + "double": (_float, pa.float64()),
    XSD + "float": (_float, pa.float32()),
    XSD + "date": (lambda text: date.fromisoformat(_checked(_DATE, text)), pa.date32()),
}
