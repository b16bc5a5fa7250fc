"""Values of rows as lexical forms with their natural datatypes (R2RML, section 10.2; XSD 1.1's canonical forms)."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from static_data.argument_checks import described, lone_surrogate
from static_data.terms import (
    XSD,
    XSD_BOOLEAN,
    XSD_DATETIME,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_INTEGER,
    XSD_INTEGERS,
    Iri,
)

XSD_DATE: Final = Iri(XSD + "date")
XSD_TIME: Final = Iri(XSD + "time")
XSD_HEX_BINARY: Final = Iri(XSD + "hexBinary")
_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DAY: Final = 86_400
TOO_LONG: Final = f"an integer of more than {sys.get_int_max_str_digits()} digits"


class NaturalValue(NamedTuple):
    """The natural lexical form of a value, and its datatype; None for a text."""

    lexical: str
    datatype: Iri | None = None

    def as_datatype(self, datatype: Iri) -> str:
        """The lexical form with another datatype: numbers with a fraction are written without an exponent
        where the datatype has none; everything else stays as it is."""
        if self.datatype != XSD_DOUBLE or datatype == XSD_DOUBLE:
            return self.lexical
        if datatype != XSD_DECIMAL and datatype not in XSD_INTEGERS:
            return self.lexical
        return plain_number(self.lexical)


class NoLexicalFormError(ValueError):
    """A value that no literal can hold."""


def plain_number(lexical: str) -> str:
    """A canonical double without its exponent; INF and NaN stay as they are.

    >>> plain_number("2.15E1"), plain_number("3.0E0"), plain_number("1.0E-3"), plain_number("INF")
    ('21.5', '3', '0.001', 'INF')
    """
    if "E" not in lexical:
        return lexical
    return decimal_lexical(Decimal(lexical))


def decimal_lexical(value: Decimal) -> str:
    """Digits without trailing zeros, and without a point when whole.

    >>> decimal_lexical(Decimal("80.250")), decimal_lexical(Decimal("-5.00")), decimal_lexical(Decimal("1E+3"))
    ('80.25', '-5', '1000')
    """
    if value == 0:
        return "0"
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def double_lexical(value: float, single: bool = False) -> str:
    """The canonical form of a double; with `single`, the shortest that gives the single-precision value back.

    >>> double_lexical(21.5), double_lexical(0.0), double_lexical(-1e-7), double_lexical(1e21), double_lexical(100)
    ('2.15E1', '0.0E0', '-1.0E-7', '1.0E21', '1.0E2')
    >>> double_lexical(float("-inf")), double_lexical(21.1, single=True)
    ('-INF', '2.11E1')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    if value == 0:
        return "-0.0E0" if math.copysign(1, value) < 0 else "0.0E0"
    shortest = str(np.float32(value)) if single else repr(float(value))
    sign, digits, exponent = Decimal(shortest).as_tuple()
    assert isinstance(exponent, int)
    figures = "".join(map(str, digits)).lstrip("0")
    exponent += len(figures) - 1
    figures = figures.rstrip("0")
    return f"{'-' if sign else ''}{figures[0]}.{figures[1:] or '0'}E{exponent}"


def date_time_lexical(ticks: int, per_second: int, zone: str) -> str:
    """An xsd:dateTime of ticks since 1970, no more digits of a second than it needs.

    >>> date_time_lexical(1500, 1000, "Z"), date_time_lexical(-1, 1, "")
    ('1970-01-01T00:00:01.5Z', '1969-12-31T23:59:59')
    """
    seconds, fraction = divmod(ticks, per_second)
    days, rest = divmod(seconds, _DAY)
    hours, minutes = divmod(rest // 60, 60)
    clock = f"{hours:02d}:{minutes:02d}:{rest % 60:02d}"
    if fraction:
        clock += f".{fraction:0{len(str(per_second)) - 1}d}".rstrip("0")
    return f"{_date_lexical(days)}T{clock}{zone}"


def _date_lexical(days: int) -> str:
    text = str(np.datetime64(days, "D"))
    # NumPy writes years beyond 9999 with a plus.
    return text.removeprefix("+")


def natural_value(value: Any) -> NaturalValue:
    """The natural value of a Python value, of JSON for instance; raises NoLexicalFormError.

    >>> natural_value(True), natural_value(7).lexical, natural_value("x").datatype
    (NaturalValue(lexical='true', datatype=Iri(value='http://www.w3.org/2001/XMLSchema#boolean')), '7', None)
    """
    if isinstance(value, str):
        if lone_surrogate(value) is not None:
            raise NoLexicalFormError(f"{described(value)} holds a lone surrogate")
        return NaturalValue(value)
    if isinstance(value, bool):
        return NaturalValue("true" if value else "false", XSD_BOOLEAN)
    if isinstance(value, int):
        return NaturalValue(_digits(value), XSD_INTEGER)
    if isinstance(value, float):
        return NaturalValue(double_lexical(value), XSD_DOUBLE)
    if isinstance(value, Decimal):
        return NaturalValue(decimal_lexical(value), XSD_DECIMAL)
    if isinstance(value, datetime):
        return NaturalValue(_of_datetime(value), XSD_DATETIME)
    if isinstance(value, date):
        return NaturalValue(value.isoformat(), XSD_DATE)
    if isinstance(value, time):
        text = value.isoformat()
        return NaturalValue(text.rstrip("0") if "." in text else text, XSD_TIME)
    if isinstance(value, bytes):
        return NaturalValue(value.hex().upper(), XSD_HEX_BINARY)
    raise NoLexicalFormError(f"a {_called(value)} has no lexical form")


def _digits(value: int) -> str:
    # Python writes no longer ones: that takes time by the square of their length.
    try:
        return str(value)
    except ValueError:
        raise NoLexicalFormError(TOO_LONG) from None


def _called(value: Any) -> str:
    if isinstance(value, dict):
        return "JSON object"
    return "list" if isinstance(value, list) else type(value).__name__


def _of_datetime(value: datetime) -> str:
    text = value.replace(tzinfo=None).isoformat()
    text = text.rstrip("0") if "." in text else text
    offset = value.utcoffset()
    if offset is None:
        return text
    utc = (value - offset).replace(tzinfo=None).isoformat()
    return (utc.rstrip("0") if "." in utc else utc) + "Z"


def natural_values(column: pa.ChunkedArray) -> list[NaturalValue | None]:
    """The natural values of an Arrow column, None for null; raises NoLexicalFormError.

    >>> natural_values(pa.chunked_array([[1, None]]))[1] is None
    True
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    convert: Callable[[Any], NaturalValue] = natural_value
    if pa.types.is_timestamp(kind):
        per_second, zone = _PER_SECOND[kind.unit], "" if kind.tz is None else "Z"
        column = column.cast(pa.int64())

        def convert(ticks: int) -> NaturalValue:
            return NaturalValue(date_time_lexical(ticks, per_second, zone), XSD_DATETIME)

    elif pa.types.is_float16(kind) or pa.types.is_float32(kind):
        column = column.cast(pa.float32())

        def convert(value: float) -> NaturalValue:
            return NaturalValue(double_lexical(value, single=True), XSD_DOUBLE)

    return [None if value is None else convert(value) for value in column.to_pylist()]
