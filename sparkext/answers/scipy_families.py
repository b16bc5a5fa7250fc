"""Parameters of distribution literals and those of `scipy.stats`: decimal numbers in, doubles out, and back.

Where a literal's number follows from scipy's (a variance, a rate, an end), it has as many digits as it takes to get
scipy's back. Decimal numbers stand for what is written, so that U(0.1, 0.3) is 0.2 wide.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException
from fractions import Fraction
from itertools import pairwise
from typing import Final

Parameters = dict[str, float]
"""A distribution's parameters by the names that scipy gives them."""

Derived = Callable[[Context, Mapping[str, Decimal]], list[Decimal]]

_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_DIGITS: Final = (25, 40, 80, 400, 1600)
_MOST_DIGITS: Final = 4000
_EXACT: Final = Context(prec=60, Emin=-9999, Emax=9999)


@dataclass(frozen=True)
class Family:
    """A family: its names here, how many parameters its literals have, and what scipy calls them."""

    names: tuple[str, str]
    lengths: tuple[int, ...]
    shapes: tuple[str, ...]
    read: Callable[[Sequence[Decimal]], Parameters]
    written: Derived

    def parameters(self, numbers: Sequence[Decimal]) -> Parameters | None:
        """What scipy takes; None where that is beyond doubles, or no distribution of the family."""
        try:
            found = self.read(numbers)
        except (DecimalException, OverflowError, ZeroDivisionError):
            return None
        return found if _sound(found, self.shapes) else None

    def numbers(self, parameters: Parameters) -> list[str] | None:
        """The parameters of the literal from which exactly these come back; None where doubles hold none."""
        if not _sound(parameters, self.shapes):
            return None
        exact = {name: Decimal(repr(value)) for name, value in parameters.items()}
        for digits in (None, *_DIGITS):
            try:
                made = self.written(Context(digits or 40, Emin=-9999, Emax=9999), exact)
            except DecimalException:
                return None
            if not all(math.isfinite(float(one)) for one in made):
                return None
            texts = [_text(one, digits) for one in made]
            read = self.parameters([decimal_of(text) for text in texts])
            if read is not None and _same(read, parameters):
                return texts
        return None


def _sound(parameters: Parameters, shapes: Iterable[str]) -> bool:
    finite = all(map(math.isfinite, parameters.values()))
    least_mode = parameters.get("c", 0.0)
    positive = (parameters[name] > 0 for name in ("scale", *shapes) if name != "c")
    return finite and all(positive) and 0 <= least_mode <= 1


def _same(one: Parameters, other: Parameters) -> bool:
    return all(one[name].hex() == other[name].hex() for name in other)


def decimal_of(text: str) -> Decimal:
    """The number of a decimal text that `numbers_of` took; of very many digits, the nearest double."""
    value = Decimal(text)
    nearest = float(value)
    return Decimal(repr(nearest)) if not nearest or len(text) > _MOST_DIGITS else value


def numbers_of(text: str) -> list[Decimal] | None:
    """The numbers between the brackets of a literal, as the engine reads them; None where one is none.

    >>> numbers_of("1, .5e0"), numbers_of("1, 1_0"), numbers_of("1e999")
    ([Decimal('1'), Decimal('0.5')], None, None)
    """
    parts = [part.strip(_BLANKS) for part in text.split(",")]
    if not all(map(_NUMBER.fullmatch, parts)) or any(math.isinf(float(part)) for part in parts):
        return None
    return [decimal_of(part) for part in parts]


_BLANKS: Final = "".join(map(chr, range(33)))


def number_text(value: float) -> str:
    """A double as literals have it, without needless digits.

    >>> number_text(3.0), number_text(0.1), number_text(-0.0), number_text(1e300)
    ('3', '0.1', '-0.0', '1e+300')
    """
    if not value:
        return "-0.0" if math.copysign(1, value) < 0 else "0"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _text(value: Decimal, digits: int | None) -> str:
    nearest = float(value)
    exact = digits is not None and Decimal(repr(nearest)) != value
    return str(value) if exact else number_text(nearest)


def _float(value: Fraction) -> float:
    return value.numerator / value.denominator


def _width(low: Decimal, high: Decimal) -> float:
    # An end that doubles cannot tell from the other makes no width for the engine.
    return _float(Fraction(high) - Fraction(low)) if float(high) > float(low) else 0.0


def _tail(location: Decimal) -> list[Decimal]:
    """The location that stands last, and is left out where it is 0."""
    return [] if location == 0 and not location.is_signed() else [location]


def _at(numbers: Sequence[Decimal], place: int) -> float:
    return float(numbers[place]) if len(numbers) > place else 0.0


def _deviation(variance: Decimal) -> float:
    return float(_EXACT.sqrt(variance)) if float(variance) > 0 else 0.0


def _normal(n: Sequence[Decimal]) -> Parameters:
    return {"loc": float(n[0]), "scale": _deviation(n[1])}


def _uniform(n: Sequence[Decimal]) -> Parameters:
    return {"loc": float(n[0]), "scale": _width(*n)}


def _triangular(n: Sequence[Decimal]) -> Parameters:
    low, high, mode = map(Fraction, n)
    return {"c": _float((mode - low) / (high - low)), **_uniform(n[:2])}


def _exponential(n: Sequence[Decimal]) -> Parameters:
    return {"loc": _at(n, 1), "scale": _float(1 / Fraction(n[0])) if float(n[0]) > 0 else 0.0}


def _log_normal(n: Sequence[Decimal]) -> Parameters:
    return {"s": _deviation(n[1]), "loc": _at(n, 2), "scale": float(_EXACT.exp(n[0]))}


def _gamma(n: Sequence[Decimal]) -> Parameters:
    return {"a": float(n[0]), "loc": _at(n, 2), "scale": float(n[1])}


def _beta(n: Sequence[Decimal]) -> Parameters:
    place = _uniform(n[2:]) if len(n) == 4 else {"loc": 0.0, "scale": 1.0}
    return {"a": float(n[0]), "b": float(n[1]), **place}


def _beta_numbers(c: Context, p: Mapping[str, Decimal]) -> list[Decimal]:
    usual = not _tail(p["loc"]) and p["scale"] == 1
    return [p["a"], p["b"], *([] if usual else [p["loc"], c.add(p["loc"], p["scale"])])]


FAMILIES: Final[Mapping[str, Family]] = {
    "norm": Family(("N", "Normal"), (2,), (), _normal,
                   lambda c, p: [p["loc"], c.multiply(p["scale"], p["scale"])]),
    "uniform": Family(("U", "Uniform"), (2,), (), _uniform,
                      lambda c, p: [p["loc"], c.add(p["loc"], p["scale"])]),
    "triang": Family(("T", "Triangular"), (3,), ("c",), _triangular,
                     lambda c, p: [p["loc"], c.add(p["loc"], p["scale"]), c.fma(p["c"], p["scale"], p["loc"])]),
    "expon": Family(("Exp", "Exponential"), (1, 2), (), _exponential,
                    lambda c, p: [c.divide(Decimal(1), p["scale"]), *_tail(p["loc"])]),
    "lognorm": Family(("LN", "LogNormal"), (2, 3), ("s",), _log_normal,
                      lambda c, p: [c.ln(p["scale"]), c.multiply(p["s"], p["s"]), *_tail(p["loc"])]),
    "gamma": Family(("G", "Gamma"), (2, 3), ("a",), _gamma,
                    lambda c, p: [p["a"], p["scale"], *_tail(p["loc"])]),
    "beta": Family(("B", "Beta"), (2, 4), ("a", "b"), _beta, _beta_numbers),
}  # fmt: skip
"""The families that both have, by scipy's names."""


def by_name(name: str, length: int) -> tuple[str, Family] | None:
    """The family of a literal with a name, short or long, and so many parameters; None where it is none of these.

    >>> by_name("Normal", 2)[0], by_name("N", 3), by_name("Sum", 2)
    ('norm', None, None)
    """
    for scipy_name, family in FAMILIES.items():
        if name in family.names and length in family.lengths:
            return scipy_name, family
    return None


def single_value(name: str, n: Sequence[Decimal]) -> float | None:
    """The value of a distribution without width, such as N(5, 0); None for any other."""
    values = list(map(float, n))
    match name, values:
        case ("C" | "Constant", [value]):
            return value
        case ("N" | "Normal", [mean, 0.0]):
            return mean
        case ("U" | "Uniform", [low, high]) if low == high:
            return low
        case ("T" | "Triangular", [low, high, mode]) if low == high == mode:
            return low
        case ("LN" | "LogNormal", [mean, 0.0, *location]) if mean < 709:
            return math.exp(mean) + sum(location)
    return None


def weighted_values(name: str, n: Sequence[Decimal]) -> tuple[list[float], list[float]] | None:
    """Values in order and their probabilities, of observations or weighted points; None for what is neither.

    >>> weighted_values("E", [Decimal(2), Decimal(1), Decimal(2), Decimal(2)])
    ([1.0, 2.0], [0.25, 0.75])
    """
    numbers = list(map(float, n))
    if name in ("E", "Empirical"):
        values = sorted(set(numbers))
        return values, [numbers.count(value) / len(numbers) for value in values]
    if name not in ("P", "Points") or len(numbers) % 2 or min(numbers[1::2], default=-1) < 0:
        return None
    together: dict[float, float] = {}
    for value, weight in zip(numbers[::2], numbers[1::2], strict=True):
        together[value] = together.get(value, 0.0) + weight
    total = math.fsum(together.values())
    if not 0 < total < math.inf:
        return None
    # Probabilities that scipy would take are left as they are written.
    unit = 1.0 if abs(total - 1) < 1e-8 else total
    values = sorted(together)
    return values, [together[value] / unit for value in values]


def histogram(name: str, n: Sequence[Decimal]) -> tuple[list[float], list[float]] | None:
    """The weights and the edges of a histogram; None for what is none."""
    numbers = list(map(float, n))
    weights, edges = numbers[1::2], numbers[::2]
    if name not in ("H", "Histogram") or len(numbers) < 3 or not len(numbers) % 2:
        return None
    rising = all(low < high for low, high in pairwise(edges))
    return (
        (weights, edges) if rising and min(weights) >= 0 and 0 < sum(weights) < math.inf else None
    )
