"""Whether two answers are the same: as bags, up to the names of blank nodes and the spelling of values."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final, TypeAlias

import pyoxigraph as ox

from sparkext.oracle.evaluation import Row
from static_data.terms import XSD, BlankNode, Iri, Literal, QuotedTriple, Term, parse_term

_INTEGERS: Final = {
    XSD + name
    for name in (
        "integer",
        "long",
        "int",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
    )
}
# What engines compute differs in the last places: of 18 digits of a decimal, 17 of a double, 9 of a float.
_DIGITS: Final = {XSD + "decimal": 12, XSD + "double": 12, XSD + "float": 6}
_FRACTION: Final = re.compile(r"(:\d\d)(?:\.(\d*?)0*)?(Z|[+-]\d\d:\d\d)?$")

_Colours: TypeAlias = dict[str, int]


@dataclass(frozen=True)
class RowDifference:
    """Rows that should be there and are not, and rows that are there and should not, so often as they are."""

    missing: tuple[Row, ...] = ()
    extra: tuple[Row, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)


NO_DIFFERENCE: Final = RowDifference()


def compare_rows(expected: Sequence[Row], given: Sequence[Row]) -> RowDifference:
    """Compare two bags of rows up to a renaming of blank nodes.

    >>> bool(compare_rows([("_:a", "_:b"), ("_:b", None)], [("_:y", None), ("_:x", "_:y")]))
    False
    >>> compare_rows([("_:a", "_:a")], [("_:x", "_:y")]).missing
    (('_:a', '_:a'),)
    """
    ours, theirs = _refined(expected, {}), _refined(given, {})
    left, right = _keys(expected, ours), _keys(given, theirs)
    if left != right:
        missing = list(_surplus(expected, _row_keys(expected, ours), right))
        extra = list(_surplus(given, _row_keys(given, theirs), left))
        if not _all_close(missing, extra):
            return RowDifference(tuple(missing), tuple(extra))
        return compare_rows(_without(expected, missing), _without(given, extra))
    if _renaming_exists(expected, given, ours, theirs):
        return NO_DIFFERENCE
    return RowDifference(tuple(expected), tuple(given))


def _surplus(rows: Sequence[Row], keys: Sequence[object], others: Counter[object]) -> Iterator[Row]:
    left = Counter(others)
    for row, key in zip(rows, keys, strict=True):
        if left[key] > 0:
            left[key] -= 1
        else:
            yield row


def _without(rows: Sequence[Row], others: Sequence[Row]) -> list[Row]:
    return list(_surplus(rows, rows, Counter(others)))


def _all_close(rows: Sequence[Row], others: Sequence[Row]) -> bool:
    """Whether rows are the same, in pairs, but for numbers that lie close together where rounding changes.

    Rows with blank nodes are not.
    """
    ours, theirs = _by_exact_part(rows), _by_exact_part(others)
    if ours is None or theirs is None or ours.keys() != theirs.keys():
        return False
    return all(
        len(numbers) == len(theirs[part])
        and all(map(_are_close, sorted(numbers), sorted(theirs[part])))
        for part, numbers in ours.items()
    )


_Numbers: TypeAlias = tuple[tuple[float, float], ...]
"""Numbers of a row with how far another one may be from each, in parts of it."""


def _by_exact_part(rows: Sequence[Row]) -> dict[object, list[_Numbers]] | None:
    """The numbers of rows that engines compute with rounding, by all else; None where a row has a blank node."""
    found: dict[object, list[_Numbers]] = {}
    for row in rows:
        if next(_blanks(_plain(row)), None) is not None:
            return None
        exact: list[object] = []
        numbers = []
        for text in row:
            rounded = None if text is None else _rounded_number(parse_term(text))
            if rounded is None:
                exact.append(text and comparable(text))
            else:
                datatype, number = rounded
                exact.append(datatype)
                numbers.append((number, 10.0 ** (1 - _DIGITS[datatype])))
        found.setdefault(tuple(exact), []).append(tuple(numbers))
    return found


def _rounded_number(term: Term) -> tuple[str, float] | None:
    if not isinstance(term, Literal) or term.datatype.value not in _DIGITS:
        return None
    try:
        number = float(term.lexical)
    except ValueError:
        return None
    return (term.datatype.value, number) if math.isfinite(number) else None


def _are_close(ours: _Numbers, theirs: _Numbers) -> bool:
    return all(
        math.isclose(one, other, rel_tol=most)
        for (one, most), (other, _) in zip(ours, theirs, strict=True)
    )


# ---- terms


@lru_cache(maxsize=65_536)
def comparable(text: str) -> object:
    """A value that equal terms share: numbers by value (in their datatype), times without idle zeros.

    >>> comparable('"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>') == comparable(
    ...     '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>')
    True
    >>> comparable('"1"^^<http://www.w3.org/2001/XMLSchema#integer>') == comparable('"1"')
    False
    """
    return _comparable(parse_term(text))


def _comparable(term: Term) -> object:
    match term:
        case Literal():
            term = _kept(term)
            return (_value(term), term.datatype.value, term.language, term.direction)
        case BlankNode():
            return _Blank(term.label)
        case QuotedTriple():
            parts = (term.subject, term.predicate, term.object)
            return ("quoted", *map(_comparable, parts))
    return term.value


@dataclass(frozen=True)
class _Blank:
    label: str


_STORE: Final = ox.Store()
_ANY: Final = ox.NamedNode("urn:cqels:oracle:any")


def _kept(literal: Literal) -> Literal:
    """The literal as Oxigraph's store gives it back: by value, of a derived type of integer as an integer."""
    datatype = literal.datatype.value
    if not datatype.startswith(XSD) or datatype == XSD + "string":
        return literal
    quad = ox.Quad(_ANY, _ANY, ox.Literal(literal.lexical, datatype=ox.NamedNode(datatype)))
    _STORE.add(quad)
    (stored,) = _STORE
    _STORE.remove(quad)
    assert isinstance(stored.object, ox.Literal)
    return Literal(stored.object.value, Iri(stored.object.datatype.value))


def _value(literal: Literal) -> object:
    datatype, lexical = literal.datatype.value, literal.lexical
    try:
        if datatype in _INTEGERS:
            return int(lexical)
        if datatype in _DIGITS:
            if datatype == XSD + "decimal":
                number = Decimal(lexical)
            else:
                number = Decimal(repr(float(lexical.replace("INF", "inf"))))
            return _rounded(number, _DIGITS[datatype])
    except (ValueError, InvalidOperation):
        return lexical
    if datatype == XSD + "boolean":
        return {"1": "true", "0": "false"}.get(lexical, lexical)
    if datatype in (XSD + "dateTime", XSD + "time"):
        return _FRACTION.sub(_plain_fraction, lexical)
    return lexical


def _rounded(number: Decimal, digits: int) -> str:
    if not number.is_finite():
        return str(number)
    return str(f"{number:.{digits - 1}e}") if number else "0"


def _plain_fraction(match: re.Match[str]) -> str:
    seconds, fraction, zone = match.groups()
    zone = "Z" if zone in ("+00:00", "-00:00") else zone or ""
    return f"{seconds}{'.' + fraction if fraction else ''}{zone}"


# ---- blank nodes: colours by what stands around them, then trial


def _blanks(key: object) -> Iterator[str]:
    if isinstance(key, _Blank):
        yield key.label
    elif isinstance(key, tuple):
        for part in key:
            yield from _blanks(part)


def _coloured(key: object, colours: _Colours, own: str | None = None) -> object:
    if isinstance(key, _Blank):
        return ("blank", "own" if key.label == own else colours[key.label])
    if isinstance(key, tuple):
        return tuple(_coloured(part, colours, own) for part in key)
    return key


def _plain(row: Row) -> tuple[object, ...]:
    return tuple(None if text is None else comparable(text) for text in row)


def _refined(rows: Iterable[Row], start: _Colours) -> _Colours:
    """Colours of blank nodes, equal only where what stands around them is."""
    plain = [_plain(row) for row in rows]
    places: dict[str, list[tuple[object, ...]]] = {}
    for row in plain:
        for label in set(_blanks(row)):
            places.setdefault(label, []).append(row)
    colours = {label: start.get(label, 0) for label in places}
    classes = len(set(colours.values()))
    while places:
        colours = {
            label: hash(
                (
                    colours[label],
                    frozenset(Counter(_coloured(row, colours, label) for row in around).items()),
                )
            )
            for label, around in places.items()
        }
        if len(set(colours.values())) == classes:
            break
        classes = len(set(colours.values()))
    return colours


def _row_keys(rows: Iterable[Row], colours: _Colours) -> list[object]:
    return [_coloured(_plain(row), colours) for row in rows]


def _keys(rows: Iterable[Row], colours: _Colours) -> Counter[object]:
    return Counter(_row_keys(rows, colours))


def _renaming_exists(
    expected: Sequence[Row], given: Sequence[Row], ours: _Colours, theirs: _Colours
) -> bool:
    """Whether one of the ways to tell apart nodes of a colour, one after the other, leads to equal rows."""
    # Those that stand in rows with no other are alike where their colours are: which is which makes no difference.
    linked = {
        label
        for row in expected
        if len(blanks := set(_blanks(_plain(row)))) > 1
        for label in blanks
    }
    trials = [iter([(ours, theirs)])]
    while trials:
        colours = next(trials[-1], None)
        if colours is None:
            trials.pop()
            continue
        left, right = colours
        if _keys(expected, left) != _keys(given, right):
            continue
        known = Counter(left.values())
        one = next((label for label in left if label in linked and known[left[label]] > 1), None)
        if one is None:
            return True
        trials.append(_told_apart(expected, given, left, right, one))
    return False


def _told_apart(
    expected: Sequence[Row], given: Sequence[Row], ours: _Colours, theirs: _Colours, one: str
) -> Iterator[tuple[_Colours, _Colours]]:
    mark = hash(("chosen", ours[one]))
    for other in [label for label, colour in theirs.items() if colour == ours[one]]:
        yield _refined(expected, {**ours, one: mark}), _refined(given, {**theirs, other: mark})
