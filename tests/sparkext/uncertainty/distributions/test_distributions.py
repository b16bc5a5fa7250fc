"""Distributions and the probabilities that compare them, against SciPy."""

from __future__ import annotations

import math
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import special

from tests.sparkext.uncertainty.distributions.distribution_classes import Jvm
from tests.sparkext.uncertainty.distributions.scipy_families import FAMILIES, Family

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATED_ERROR = 1e-6
NAMES = [family.literal for family in FAMILIES]


@pytest.fixture(scope="module")
def jvm(spark: SparkSession) -> Jvm:
    return Jvm(spark)


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
def test_a_literal_has_scipy_s_moments_cdf_and_quantiles(jvm: Jvm, family: Family) -> None:
    made = jvm.parse(family.literal)
    assert made.literal() == family.literal
    assert made.mean() == pytest.approx(family.mean, abs=1e-9)
    assert made.variance() == pytest.approx(family.variance, abs=1e-9)
    for k in range(-30, 41):
        x = k / 10
        assert made.cdf(x) == pytest.approx(family.cdf(x), abs=1e-9), x
        assert made.below(x) == pytest.approx(family.below(x), abs=1e-9), x
    if not family.points:
        for p in (1e-6, 0.001, 0.1, 0.5, 0.9, 0.999, 1 - 1e-6):
            assert made.quantile(p) == pytest.approx(float(family.frozen.ppf(p)), abs=1e-7), p
    shifted = jvm.parse(made.shifted(0.75).literal())
    assert shifted.cdf(0.9) == pytest.approx(family.cdf(0.15), abs=1e-9)
    if (negated := made.negated()) is not None:
        assert jvm.parse(negated.literal()).cdf(-0.35) == pytest.approx(
            1 - family.below(0.35), abs=1e-9
        )


@pytest.mark.parametrize("left", FAMILIES, ids=NAMES)
def test_which_of_two_is_less(jvm: Jvm, left: Family) -> None:
    x = jvm.parse(left.literal)
    for right in FAMILIES:
        y = jvm.parse(right.literal)
        less = right.expectation(left.below, left.kinks)
        not_greater = right.expectation(left.cdf, left.kinks)
        assert jvm.probabilities.less(x, y) == pytest.approx(less, abs=STATED_ERROR)
        assert jvm.probabilities.lessOrEqual(x, y) == pytest.approx(not_greater, abs=STATED_ERROR)
        assert jvm.probabilities.less(y, x) == pytest.approx(1 - not_greater, abs=STATED_ERROR)


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
def test_between_all_pairs_of_others(jvm: Jvm, family: Family) -> None:
    kinks = tuple(kink for other in FAMILIES for kink in other.kinks)
    values, weights = family.values(kinks)
    below = [other.below(values) for other in FAMILIES]
    above = [1 - other.cdf(values) for other in FAMILIES]
    x, made = jvm.parse(family.literal), [jvm.parse(name) for name in NAMES]
    for i, low in enumerate(made):
        for j, high in enumerate(made):
            found = jvm.probabilities.between(x, low, high)
            expected = float(np.sum(weights * below[i] * above[j]))
            assert found == pytest.approx(expected, abs=STATED_ERROR), (NAMES[i], NAMES[j])


def summed(left: Family, right: Family, sign: int, z: float) -> float:
    """P(X + Y <= z), or P(X - Y <= z)."""
    if left.points and right.points:
        pairs = product(left.points, right.points)
        return sum(v * w for (a, v), (b, w) in pairs if a + sign * b <= z)
    if left.points:
        beyond = right.cdf if sign > 0 else lambda v: 1 - right.below(v)
        return sum(w * float(beyond(sign * (z - v))) for v, w in left.points)
    kinks = tuple(sign * (z - kink) for kink in left.kinks)
    return right.expectation(lambda v: left.cdf(z - sign * v), kinks)


@pytest.mark.parametrize("left", FAMILIES, ids=NAMES)
def test_sums_and_differences_of_all_pairs(jvm: Jvm, left: Family) -> None:
    random = Random(left.literal)
    x = jvm.parse(left.literal)
    for right, sign in product(FAMILIES, (1, -1)):
        y = jvm.parse(right.literal)
        made = jvm.sums.add(x, y) if sign > 0 else jvm.sums.subtract(x, y)
        read = jvm.parse(made.literal())
        mean, deviation = left.mean + sign * right.mean, math.sqrt(left.variance + right.variance)
        assert made.mean() == pytest.approx(mean, abs=1e-9)
        assert made.variance() == pytest.approx(deviation**2, abs=1e-9)
        # A body, its flanks, a tail, and a value that points may have.
        for z in (*(mean + random.uniform(k - 1, k + 1) * deviation for k in (-2, 0, 1, 3)), 0.4):
            expected = pytest.approx(summed(left, right, sign, z), abs=STATED_ERROR)
            assert read.cdf(z) == expected, (made.literal(), z)
        p = random.choice((0.02, 0.3, 0.9))
        found = read.quantile(p)
        assert read.below(found) <= p + STATED_ERROR, made.literal()
        assert read.cdf(found) >= p - STATED_ERROR, made.literal()


def test_sums_of_many(jvm: Jvm) -> None:
    """Twelve uniforms (Irwin and Hall's distribution), and exponentials of unlike rates, which have closed forms."""
    total = "T(0, 2, 1)"
    for _ in range(5):
        total = f"Sum({total}, T(0, 2, 1))"
    made = jvm.parse(total)
    for x in (3.0, 5.2, 6.0, 7.5, 9.9):
        terms = ((-1) ** k * math.comb(12, k) * (x - k) ** 12 for k in range(int(x) + 1))
        assert made.cdf(x) == pytest.approx(sum(terms) / math.factorial(12), abs=STATED_ERROR), x
    assert made.quantile(0.5) == pytest.approx(6, abs=STATED_ERROR)
    rates = (1.0, 2.5, 4.0, 0.5)
    made = jvm.parse("Sum(Sum(Exp(1), Exp(2.5)), Sum(Exp(4), Exp(0.5)))")
    for x in (0.1, 1.0, 2.5, 6.0, 15.0):
        above = 0.0
        for rate in rates:
            others = [other / (other - rate) for other in rates if other != rate]
            above += math.prod(others) * math.exp(-rate * x)
        assert made.cdf(x) == pytest.approx(1 - above, abs=STATED_ERROR), x
        moved = jvm.probabilities.greater(made.shifted(3.0), x + 3)
        assert moved == pytest.approx(above, abs=STATED_ERROR)
    assert jvm.probabilities.less(jvm.parse("N(-40, 1)"), made) == pytest.approx(1)


@pytest.mark.parametrize("shapes", [(0.2, 0.2), (0.05, 1.5), (0.3, 0.02), (40.0, 60.0)])
@pytest.mark.parametrize("scales", [(1.0, 1.0), (1e-12, 3e-12), (5e9, 1e9)])
def test_gammas_of_all_shapes_and_scales(
    jvm: Jvm, shapes: tuple[float, float], scales: tuple[float, float]
) -> None:
    """Of two gammas over a common scale, the part of the sum that is the first is a beta."""
    x, y = (jvm.parse(f"G({shape}, {scale})") for shape, scale in zip(shapes, scales, strict=True))
    expected = special.betainc(*shapes, scales[1] / sum(scales))
    assert jvm.probabilities.less(x, y) == pytest.approx(expected, abs=STATED_ERROR)
    assert jvm.probabilities.less(y, x) == pytest.approx(1 - expected, abs=STATED_ERROR)


@pytest.mark.parametrize(("a", "b"), [(0.2, 0.2), (0.2, 3.0), (2.0, 0.3), (1.0, 3000.0)])
def test_betas_of_all_shapes(jvm: Jvm, a: float, b: float) -> None:
    x, uniform = jvm.parse(f"B({a}, {b})"), jvm.parse("U(0, 1)")
    assert jvm.probabilities.less(uniform, x) == pytest.approx(a / (a + b), abs=STATED_ERROR)
    assert jvm.probabilities.less(x, x) == 0.5
    for p in (1e-9, 1e-4, 0.02, 0.6, 0.97):
        assert x.cdf(x.quantile(p)) == pytest.approx(p, abs=1e-8)


def test_sums_beyond_the_range_of_numbers_are_none(jvm: Jvm) -> None:
    huge = jvm.parse("N(1e308, 1)")
    assert jvm.sums.add(huge, huge) is None
    assert jvm.sums.subtract(jvm.parse("C(-1e308)"), jvm.parse("C(1e308)")) is None


# The values of the uncertainty paper's definitions, six digits each.
@pytest.mark.parametrize(
    ("function", "arguments", "value"),
    [
        ("less", ("N(19.7, 1)", 19.5), 0.420740),
        ("greater", ("N(19.7, 1)", 19.5), 0.579260),
        ("less", ("U(18.7, 20.7)", 19.5), 0.4),
        ("greater", ("U(5, 5)", 5.0), 0.0),
        ("less", ("U(5, 5)", 5.0), 0.0),
        ("greater", ("N(5, 0)", 5.0), 0.0),
        ("less", ("N(5, 0)", 5.0), 0.0),
        ("less", ("N(0, 1)", "N(1, 1)"), 0.760250),
        ("less", ("N(3, 5)", "N(5, 4)"), 0.747507),
        ("less", ("U(0, 1)", "U(0, 2)"), 0.75),
        ("between", ("N(19.7, 1)", "C(18.7)", "C(20.7)"), 0.682689),
        ("between", ("U(18.7, 20.7)", "C(19)", "C(20)"), 0.5),
        ("between", ("N(0, 1)", "C(2)", "C(1)"), 0.0),
        ("between", ("N(0, 1)", "C(1)", "C(1)"), 0.0),
        ("between", ("N(0, 1)", "N(0, 1)", "N(0, 1)"), 1 / 6),
        ("between", ("N(0, 1)", "N(-1, 0.25)", "N(1, 0.25)"), 0.629089),
    ],
)
def test_values_of_the_paper(
    jvm: Jvm, function: str, arguments: tuple[Any, ...], value: float
) -> None:
    made = [jvm.parse(a) if isinstance(a, str) else a for a in arguments]
    found = getattr(jvm.probabilities, function)(*made)
    assert found == pytest.approx(value, abs=STATED_ERROR)


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("N(1, 2)", "N(3, 4)", "N(4, 6)", "N(-2, 6)"),
        ("N(19.7, 1)", "C(0.3)", "N(20, 1)", "N(19.4, 1)"),
        ("U(-1, 1)", "C(5)", "U(4, 6)", "U(-6, -4)"),
        ("U(0, 1)", "U(0, 1)", "T(0, 2, 1)", "T(-1, 1, 0)"),
        ("G(1, 2)", "G(3, 2)", "G(4, 2)", "Difference(G(1, 2), G(3, 2))"),
        ("Exp(2)", "Exp(2)", "G(2, 0.5)", "Difference(Exp(2), Exp(2))"),
        ("E(1, 2)", "E(10, 20)", "E(11, 12, 21, 22)", "E(-19, -18, -9, -8)"),
        ("N(0, 1)", "U(0, 1)", "Sum(N(0, 1), U(0, 1))", "Sum(N(0, 1), U(-1, 0))"),
    ],
)
def test_closed_forms_stay_in_their_families(
    jvm: Jvm, left: str, right: str, total: str, difference: str
) -> None:
    x, y = jvm.parse(left), jvm.parse(right)
    assert jvm.sums.add(x, y).literal() == total
    assert jvm.sums.subtract(x, y).literal() == difference


@pytest.mark.parametrize(
    "text",
    [
        "N(1)",
        "N(1, 2, 3)",
        "N(0, -1)",
        "U(2, 1)",
        "T(0, 1, 2)",
        "Exp(0)",
        "G(1, 0)",
        "B(1, 1, 2, 1)",
        "H(0, 1, 0)",
        "H(0, -1, 1)",
        "P(1)",
        "C()",
        "N(a, 1)",
        "N(NaN, 1)",
        "N(0x1p3, 1)",
        "N(1d, 1)",
        "N(1e999, 1)",
        "Q(1, 2)",
        "N",
        "",
        "N(1, 2",
        "(1, 2)",
        "Sum(N(0, 1))",
        "Sum(N(0, 1), U(0, 1), U(0, 1))",
    ],
)
def test_what_is_no_distribution(jvm: Jvm, text: str) -> None:
    assert jvm.parse(text) is None


def test_long_malformed_numbers_are_read_once(jvm: Jvm) -> None:
    """Not once for each of their digits."""
    for text in (f"C({'1' * 60_000}x)", f"C(1e{'1' * 60_000}x)", f"C(1.{'1' * 60_000}x)"):
        found: list[object] = []
        assert jvm.cpu_seconds(lambda text=text, found=found: found.append(jvm.parse(text))) < 2
        assert found == [None]
    for text in ("C(1.)", "C(.5)", "C(-0.5e-3)", "C(+12)"):
        assert jvm.parse(text).mean() == float(text[2:-1])


LONG = {
    "N(1,2)": " Normal( 1 , 2.0 )",
    "U(1,2)": "Uniform(1, 2)",
    "T(0,2,1)": "Triangular(0,2,1)",
    "Exp(1)": "Exponential(1e0)",
    "LN(0,1)": "LogNormal(0,1)",
    "G(1,2)": "Gamma(1,2)",
    "B(1,2)": "Beta(+1,2)",
    "C(3)": "Constant(3)",
    "E(1,2)": "Empirical(2,1)",
    "H(0,1,2)": "Histogram(0,1,2)",
    "P(1,1,2,3)": "Points(1,.25,2,.75)",
}


def test_long_names_and_blanks(jvm: Jvm) -> None:
    for short, long in LONG.items():
        assert jvm.parse(long).literal() == jvm.parse(short).literal()


def test_properties(jvm: Jvm) -> None:
    random = Random(7)
    for family in FAMILIES:
        x = jvm.parse(family.literal)
        previous = 1.0
        for k in sorted(random.uniform(-2, 3) for _ in range(12)):
            less, greater = jvm.probabilities.less(x, k), jvm.probabilities.greater(x, k)
            if not family.points:
                assert less + greater == pytest.approx(1, abs=1e-12)
            assert greater <= previous + 1e-12
            previous = greater
            moved = jvm.probabilities.greater(x.shifted(0.7), k)
            assert moved == pytest.approx(jvm.probabilities.greater(x, k - 0.7), abs=1e-9)
