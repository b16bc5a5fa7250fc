"""Distributions that are narrow, wide, heavy, far away or near the range of numbers, against SciPy and exact values."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from scipy import integrate, special, stats

from tests.sparkext.uncertainty.distributions.distribution_classes import Jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATED_ERROR = 1e-6
TABULATED = 1e-8


@pytest.fixture(scope="module")
def jvm(spark: SparkSession) -> Jvm:
    return Jvm(spark)


def test_a_literal_without_end_is_no_distribution(jvm: Jvm) -> None:
    assert jvm.parse(f"E({', '.join(['1'] * 20_000)})").mean() == 1
    assert jvm.parse(f"E({', '.join(['1'] * 400_000)})") is None


@pytest.mark.parametrize("scale", [1e-200, 1e-13, 1.0, 1e12, 1e200])
def test_quantiles_of_sums_of_all_scales(jvm: Jvm, scale: float) -> None:
    total = jvm.sums.add(jvm.parse(f"U(0, {scale})"), jvm.parse(f"U(0, {3 * scale})"))
    assert total.quantile(0.5) == pytest.approx(2 * scale, rel=1e-12)
    assert total.quantile(1 / 6) == pytest.approx(scale, rel=1e-6)
    assert total.quantile(1e-6) == pytest.approx(math.sqrt(6e-6) * scale, rel=1e-3)
    more = jvm.sums.add(total, jvm.parse(f"U(0, {5 * scale})"))
    assert more.quantile(0.5) == pytest.approx(4.5 * scale, rel=1e-8)
    centred = jvm.sums.subtract(more, jvm.parse(f"C({4.5 * scale})"))
    assert centred.quantile(0.5) == pytest.approx(0, abs=1e-8 * scale)


def test_sums_far_from_zero(jvm: Jvm) -> None:
    """Seconds since 1970, to the millisecond: numbers there are 0.00024 milliseconds apart."""
    start, apart = 1.6e9, 2.4e-7
    total = jvm.parse("Sum(N(1.6e9, 1e-6), U(0, 0.001))")
    assert total.quantile(0.5) == pytest.approx(start + 0.0005, abs=apart)
    for k in range(-3, 5):
        x = start + k / 1000
        near = x - start
        expected = integrate.quad(lambda u, z=near: stats.norm.cdf((z - u) / 0.001) * 1000, 0, 1e-3)
        assert total.cdf(x) == pytest.approx(expected[0], abs=STATED_ERROR)
    more = jvm.sums.add(total, jvm.parse("U(0, 0.002)"))
    assert more.quantile(0.5) == pytest.approx(start + 0.0015, abs=apart)
    moved = jvm.sums.subtract(more, jvm.parse("E(1.6e9, 1600000000.001)"))
    assert moved.quantile(0.5) == pytest.approx(0.001, abs=apart)
    less = jvm.probabilities.less(jvm.parse("U(1.6e9, 1600000000.0009765625)"), total)
    u = 0.0009765625
    grid = integrate.dblquad(
        lambda v, w: stats.norm.cdf((v + w) / 0.001) / u / 0.001, 0, 0.001, -u, 0
    )
    assert less == pytest.approx(grid[0], abs=STATED_ERROR)


def test_a_shift_that_numbers_are_too_coarse_for(jvm: Jvm) -> None:
    for narrow in (
        "U(0, 1e-10)",
        "T(0, 1e-10, 1e-11)",
        "B(2, 3, 0, 1e-10)",
        "H(0, 1, 1e-10, 2, 1)",
    ):
        made = jvm.sums.add(jvm.parse(narrow), jvm.parse("C(1e10)"))
        read = jvm.parse(made.literal())
        assert (read.cdf(1e10), read.cdf(1e10 + 2)) == (0, 1)
        assert read.mean() == pytest.approx(1e10)


NARROW = (
    "N(1e-7, 1e-12)",
    "U(1e-7, 3e-6)",
    "T(-2e-6, 3e-6, 1e-6)",
    "Exp(1e6, 1e-7)",
    "LN(-14, 0.04, 1e-7)",
    "G(2, 1e-6, 1e-7)",
    "B(2, 3, -2e-6, 5e-6)",
    "H(-1e-6, 1, 2e-6, 3, 5e-6)",
    "Sum(U(1e-7, 3e-6), Exp(1e6))",
    "Difference(U(1e-7, 3e-6), Exp(1e6))",
    "Sum(U(1e-7, 3e-6), E(0, 1.3e-6))",
)


@pytest.mark.parametrize("narrow", NARROW)
def test_moving_far_keeps_every_digit(jvm: Jvm, narrow: str) -> None:
    """Thresholds are numbers, 1.9e-6 apart there; what is asked of what was moved is the same as before."""
    start, apart = jvm.parse("C(1e10)"), 2.0**-19
    there = jvm.parse(narrow)
    moved = jvm.sums.add(there, start)
    for made in (moved, jvm.parse(moved.literal()), jvm.sums.add(start, there)):
        for k in range(-2, 5):
            at = 1e10 + k * apart
            assert made.cdf(at) == pytest.approx(there.cdf(k * apart), abs=1e-9), (narrow, k)
    assert moved.quantile(0.3) == pytest.approx(1e10 + there.quantile(0.3), abs=apart)
    for back in (jvm.sums.subtract(moved, start), moved.shifted(-1e10)):
        assert back.literal() == there.literal()
    farther = jvm.sums.subtract(jvm.sums.add(moved, jvm.parse("C(0.3)")), start)
    assert farther.cdf(0.3 + apart) == pytest.approx(there.cdf(0.3 + apart - 0.3), abs=1e-9)
    spread = jvm.sums.add(jvm.sums.add(moved, jvm.parse("E(0.1, 0.2)")), jvm.parse("C(-1e10)"))
    expected = 0.5 + there.cdf(0.2 + apart - 0.2) / 2
    assert spread.cdf(0.2 + apart) == pytest.approx(expected, abs=1e-9)
    for other in NARROW:
        near, far = jvm.parse(other), jvm.sums.add(jvm.parse(other), start)
        less = jvm.probabilities.less(there, near)
        assert jvm.probabilities.less(moved, far) == pytest.approx(less, abs=1e-8), other
        low = jvm.sums.subtract(far, jvm.parse("U(1e-6, 2e-6)"))
        lower = jvm.sums.subtract(near, jvm.parse("U(1e-6, 2e-6)"))
        between = jvm.probabilities.between(there, lower, near)
        assert jvm.probabilities.between(moved, low, far) == pytest.approx(between, abs=1e-7), other


FAR = 1e10
STEP = 2.0**-19  # how far numbers are apart there
# Of one far away, what it is beside 0; and what is added to it.
FAR_PAIRS = (
    (f"N({FAR}, 1e-12)", "N(0, 1e-12)", "N(1e-7, 1e-12)"),
    (
        f"U({FAR}, {FAR + 4 * STEP!r})",
        f"U(0, {4 * STEP!r})",
        f"U({STEP / 32!r}, {4.03125 * STEP!r})",
    ),
    (f"G(2, 1e-6, {FAR})", "G(2, 1e-6)", "G(3, 1e-6, 1e-7)"),
    (f"G(2, 1e-6, {FAR})", "G(2, 1e-6)", "Exp(1e6, 1e-7)"),
    (f"Exp(1e6, {FAR})", "Exp(1e6)", "G(3, 1e-6, 1e-7)"),
    (f"Exp(1e6, {FAR})", "Exp(1e6)", "Exp(1e6, 1e-7)"),
)


@pytest.mark.parametrize(("far", "near", "other"), FAR_PAIRS)
def test_closed_forms_keep_the_digits_of_the_smaller_part(
    jvm: Jvm, far: str, near: str, other: str
) -> None:
    """N(1e10, v) + N(1e-7, w) is no N(1e10, v + w): half of the sum lies above 1e10 + 1e-7."""
    expected = jvm.sums.add(jvm.parse(near), jvm.parse(other))
    assert not expected.literal().startswith(("Sum", "Difference")), "it has a closed form"
    for x, y in ((far, other), (other, far)):
        made = jvm.sums.add(jvm.parse(x), jvm.parse(y))
        for read in (made, jvm.parse(made.literal())):
            for k in range(-3, 9):
                wanted = expected.cdf(k * STEP)
                assert read.cdf(FAR + k * STEP) == pytest.approx(wanted, abs=1e-8), (x, y, k)
        back = jvm.sums.subtract(made, jvm.parse(f"C({FAR})"))
        assert back.cdf(3e-6) == pytest.approx(expected.cdf(3e-6), abs=1e-8)
    twice = jvm.sums.add(jvm.sums.add(jvm.parse(far), jvm.parse(far)), jvm.parse(other))
    assert twice.quantile(0.5) == pytest.approx(2 * FAR, abs=1e-4)


def test_what_stays_in_its_family_when_it_is_moved(jvm: Jvm) -> None:
    for text, by, expected in (
        ("N(0, 1e-6)", 1.6e9, "N(1600000000, 1.0E-6)"),
        ("Exp(2)", 1e15, "Exp(2, 1.0E15)"),
        ("N(0.3, 4)", 1e6, "N(1000000.3, 4)"),
        ("U(-0.3, 0.3)", 1e6, "U(999999.7, 1000000.3)"),
        ("U(-0.3, 0.3)", 1614592800000, "Sum(U(-0.3, 0.3), C(1614592800000))"),
        ("E(0.1, 0.2)", 1e15, "E(1.0000000000000001E15, 1.0000000000000002E15)"),
    ):
        assert jvm.sums.add(jvm.parse(text), jvm.parse(f"C({by})")).literal() == expected


@pytest.mark.parametrize(
    ("narrow", "mean"),
    [
        ("LN(0, 1e-6)", math.exp(5e-7)),
        ("LN(0, 1e-10)", math.exp(5e-11)),
        ("LN(-3, 1e-4, 0.7)", 0.7 + math.exp(-3 + 5e-5)),
        ("N(0.7, 1e-14)", 0.7),
        ("G(4e6, 1e-6, -3.1)", 0.9),
        ("G(9e4, 1e-5)", 0.9),
        ("G(1e5, 1e-5)", 1),
        ("G(1e12, 1e-12)", 1),
        ("G(50, 1e-6)", 5e-5),
        ("G(0.3, 1e-4, 1)", 1 + 3e-5),
        ("B(3e6, 1e6)", 0.75),
        ("B(1e9, 3e9)", 0.25),
        ("B(2e4, 6e4)", 0.25),
        ("B(5, 1e7)", 5 / (1e7 + 5)),
        ("B(1e7, 5)", 1e7 / (1e7 + 5)),
        ("B(500, 1)", 500 / 501),
        ("B(0.2, 4000)", 0.2 / 4000.2),
    ],
)
def test_narrow_ones_in_a_wide_one(jvm: Jvm, narrow: str, mean: float) -> None:
    """P(X < U) of an even spread over (0, 2) is what is left above the mean."""
    x = jvm.parse(narrow)
    assert x.mean() == pytest.approx(mean, rel=1e-12)
    for wide in (jvm.parse("U(0, 2)"), jvm.parse("H(0, 1, 1, 1, 2)")):
        expected = 1 - mean / 2
        assert jvm.probabilities.less(x, wide) == pytest.approx(expected, abs=STATED_ERROR)
        assert jvm.probabilities.greater(x, wide) == pytest.approx(1 - expected, abs=STATED_ERROR)
        inside = jvm.probabilities.between(wide, x, jvm.parse("N(3, 1e-4)"))
        assert inside == pytest.approx(expected, abs=STATED_ERROR)
        sum_below = jvm.sums.subtract(x, wide).cdf(0.0)
        assert sum_below == pytest.approx(expected, abs=STATED_ERROR)


def test_a_narrow_one_in_the_middle(jvm: Jvm) -> None:
    gamma, wide = jvm.parse("G(4e6, 1e-6)"), jvm.parse("U(0, 8)")
    assert jvm.probabilities.less(gamma, wide) == pytest.approx(0.5, abs=STATED_ERROR)
    beta, even = jvm.parse("B(3e6, 1e6)"), jvm.parse("U(0, 1)")
    assert jvm.probabilities.less(beta, even) == pytest.approx(0.25, abs=STATED_ERROR)


@pytest.mark.parametrize("shape", [1e5, 3.7e6, 1e9, 1e13])
def test_large_shapes(jvm: Jvm, shape: float) -> None:
    gamma = jvm.parse(f"G({shape}, 1)")
    # SciPy 1.17's betainc has few digits beyond.
    ratios = (1, 3, 700) if shape < 1e10 else ()
    betas = [(jvm.parse(f"B({shape}, {ratio * shape})"), ratio * shape) for ratio in ratios]
    for z in (-7.0, -3.0, -1.0, -1e-3, 0.0, 1e-3, 0.4, 2.5, 6.0):
        x = shape + z * math.sqrt(shape)
        assert gamma.cdf(x) == pytest.approx(special.gammainc(shape, x), abs=1e-9)
        for beta, other in betas:
            x = beta.mean() + z * math.sqrt(beta.variance())
            assert beta.cdf(x) == pytest.approx(special.betainc(shape, other, x), abs=1e-8)
    for p in (1e-12, 1e-4, 0.3, 0.5, 0.99):
        x = gamma.quantile(p)
        assert special.gammainc(shape, x) == pytest.approx(p, abs=1e-9)
        z = stats.norm.ppf(p)  # and Cornish and Fisher's, as SciPy's tails have few digits
        expected = shape + z * math.sqrt(shape) + (z * z - 1) / 3
        assert x == pytest.approx(expected, abs=1e-3 * math.sqrt(shape))
        for beta, _ in betas:
            x = beta.quantile(p)
            assert beta.cdf(x) == pytest.approx(p, rel=1e-5, abs=1e-10)


@pytest.mark.parametrize("shape", [0.5, 5.0, 300.0, 5e4])
def test_betas_of_unlike_shapes(jvm: Jvm, shape: float) -> None:
    """-log(1 - B(a, b)) times b + (a - 1) / 2 is a gamma distribution but for less than 1e-9 (Wise 1950)."""
    other = 1e12
    x = jvm.parse(f"B({shape}, {other})")
    mirrored = jvm.parse(f"B({other}, {shape}, -1, 0)")
    gamma = stats.gamma(shape)
    for p in (1e-9, 1e-3, 0.2, 0.5, 0.9, 0.999, 1 - 1e-9):
        z = float(gamma.ppf(p))
        at = -math.expm1(-z / (other + (shape - 1) / 2))
        assert x.cdf(at) == pytest.approx(p, abs=1e-9)
        if p <= 0.999:
            assert x.quantile(p) == pytest.approx(at, rel=1e-8)
        assert mirrored.cdf(-at) == pytest.approx(1 - p, abs=1e-3 / shape**0.5)
    less = jvm.probabilities.less(x, jvm.parse(f"B({shape + 1}, {other})"))
    assert less == pytest.approx(special.betainc(shape, shape + 1, 0.5), abs=STATED_ERROR)
    assert x.cdf(0.5) == 1


def test_variances_in_range(jvm: Jvm) -> None:
    for text, expected in (
        ("LN(-800, 790)", math.exp(-20)),
        ("LN(-800, 790, 3)", math.exp(-20)),
        ("LN(354.9, 1e-10)", 1e-10 * math.exp(700) * math.exp(9.8)),
        ("U(0, 1.4e154)", 1.4e154 * (1.4e154 / 12)),
        ("T(0, 1.4e154, 0)", 1.4e154 * (1.4e154 / 18)),
        ("LN(0, 1)", (math.e - 1) * math.e),
    ):
        assert jvm.parse(text).variance() == pytest.approx(expected, rel=1e-9), text


def test_quantiles_of_the_heaviest_sums(jvm: Jvm) -> None:
    """A logarithm with a deviation of 100: half of the sum lies below 1.3, and a tenth beyond 1e55."""
    total = jvm.sums.add(jvm.parse("LN(0, 1e4)"), jvm.parse("U(0, 1)"))

    def below(x: float) -> float:
        def inner(z: float) -> float:
            return float(special.ndtr(math.log(z) / 100))

        low = max(0.0, x - 1)
        return float(integrate.quad(inner, low, x, epsabs=1e-12, limit=400)[0])

    for p in (0.1, 0.4, 0.495, 0.5):
        assert below(total.quantile(p)) == pytest.approx(p, abs=1e-8), p
    for p in (0.51, 0.9, 0.999):
        expected = math.exp(100 * stats.norm.ppf(p))
        assert math.log(total.quantile(p)) == pytest.approx(math.log(expected), rel=0.2, abs=1e-4)
        assert stats.norm.cdf(math.log(total.quantile(p)) / 100) == pytest.approx(p, abs=3e-3)
    even = jvm.parse("Sum(N(0, 1), U(-1, 1))")
    assert even.quantile(0.5) == pytest.approx(0, abs=1e-9)


def test_small_shares_of_a_normal(jvm: Jvm) -> None:
    for p in (1e-300, 1e-100, 1e-20, 1e-12, 1.1e-6, 0.9e-6, 1e-3):
        assert jvm.parse("N(0, 1)").quantile(p) == pytest.approx(stats.norm.ppf(p), rel=2e-9)
    assert jvm.parse("N(0, 1)").quantile(1 - 1e-12) == pytest.approx(
        stats.norm.isf(1e-12), rel=1e-4
    )


def heavy(x: float, sigma: float) -> float:
    """P(LN(0, sigma^2) + V <= x) for V the sum of U(0, 1) and U(0, 2)."""

    def density(v: float) -> float:
        return min(v, 1.0, 3 - v) / 2

    if x > 10:
        steady = integrate.quad(
            lambda v: stats.norm.cdf(math.log(x - v) / sigma) * density(v), 0, 3, points=(1, 2)
        )
        return float(steady[0])

    def inner(z: float) -> float:
        return stats.norm.cdf(math.log(z) / sigma) * density(x - z)

    floor = max(0.0, x - 3)
    cuts = {floor, x, *(x - k for k in (1, 2) if x - k > floor)}
    cuts |= {floor + 10.0**-k for k in range(1, 12) if floor + 10.0**-k < x}
    return sum(
        integrate.quad(inner, a, b, epsabs=1e-13, limit=200)[0] for a, b in pairwise(sorted(cuts))
    )


@pytest.mark.parametrize("variance", [1, 25, 100])
def test_sums_with_heavy_tails(jvm: Jvm, variance: float) -> None:
    first = jvm.sums.add(jvm.parse(f"LN(0, {variance})"), jvm.parse("U(0, 1)"))
    total = jvm.sums.add(first, jvm.parse("U(0, 2)"))
    mirrored = jvm.sums.add(
        jvm.parse("U(-2, 0)"),
        jvm.sums.subtract(jvm.parse("U(-1, 0)"), jvm.parse(f"LN(0, {variance})")),
    )
    for x in (1e-3, 0.1, 0.5, 1.0, 1.7, 2.5, 3.5, 7.0, 40.0, 1e3, 1e6, 1e9):
        expected = heavy(x, math.sqrt(variance))
        assert total.cdf(x) == pytest.approx(expected, abs=TABULATED), x
        assert mirrored.cdf(-x) == pytest.approx(1 - expected, abs=TABULATED), x
    for p in (0.1, 0.5, 0.9, 0.999):
        assert heavy(total.quantile(p), math.sqrt(variance)) == pytest.approx(p, abs=TABULATED)


def chain(levels: int) -> str:
    return "Sum(" * levels + "N(0, 1)" + ", U(0, 1))" * levels


def test_deep_sums(jvm: Jvm) -> None:
    """A normal and twenty evenly spread numbers, against the inversion of their characteristic function."""
    levels = 20
    total = jvm.parse(chain(levels))
    for x in (6.0, 9.0, 10.0, 10.5, 13.0):

        def turned(t: float, x: float = x) -> float:
            shrunk = math.exp(-t * t / 2) * (math.sin(t / 2) / (t / 2)) ** levels
            return shrunk * math.sin(t * (x - levels / 2)) / t

        expected = 0.5 + integrate.quad(turned, 1e-12, 12, epsabs=1e-12, limit=400)[0] / math.pi
        assert total.cdf(x) == pytest.approx(expected, abs=STATED_ERROR), x
    assert total.quantile(0.5) == pytest.approx(10, abs=STATED_ERROR)


def test_sums_that_are_too_deep(jvm: Jvm) -> None:
    deepest = jvm.parse(chain(64))
    assert deepest.mean() == 32
    assert jvm.sums.add(deepest, jvm.parse("U(0, 1)")) is None
    assert jvm.sums.add(deepest, jvm.parse("C(1)")).mean() == 33
    for levels in (65, 100, 20000):
        assert jvm.parse(chain(levels)) is None
        assert jvm.parse("Sum(N(0, 1), " * levels + "U(0, 1)" + ")" * levels) is None
        assert jvm.parse("Sum(" * levels) is None


def test_near_the_range_of_numbers(jvm: Jvm) -> None:
    for text in ("T(0, 2e200, 1e200)", "T(0, 2e-200, 1e-200)", "T(-1e308, 1e308, 0)"):
        x = jvm.parse(text)
        mode = x.mean()
        assert x.cdf(mode) == pytest.approx(0.5)
        assert x.quantile(0.5) == pytest.approx(mode)
        assert x.cdf(x.quantile(0.125)) == pytest.approx(0.125)
        assert x.cdf(x.quantile(0.875)) == pytest.approx(0.875)
    skew = jvm.parse("T(-1e308, 1e308, 1e308)")
    assert skew.cdf(0.0) == 0.25
    assert skew.cdf(skew.quantile(0.7)) == pytest.approx(0.7)
    for text in ("U(-1e308, 1e308)", "H(-1e308, 1, 1e308)", "B(2, 2, -1e308, 1e308)"):
        x = jvm.parse(text)
        assert x.mean() == 0
        assert x.cdf(0.0) == pytest.approx(0.5)
        assert x.cdf(x.quantile(0.75)) == pytest.approx(0.75)
        assert jvm.probabilities.less(jvm.parse("N(0, 1)"), x) == pytest.approx(0.5)
    wide = jvm.parse("N(0, 1e308)")
    assert wide.cdf(1e154) == pytest.approx(special.ndtr(1))
    assert jvm.probabilities.greater(wide, 1e154) == pytest.approx(special.ndtr(-1))
    other = jvm.parse("N(1e154, 1e308)")
    assert jvm.probabilities.less(wide, other) == pytest.approx(special.ndtr(math.sqrt(0.5)))
    assert jvm.parse("LN(-200, 1e308)").cdf(1.0) == pytest.approx(0.5)
    assert jvm.parse("G(2, 1e-300, -1e308)").cdf(1e308) == 1


def test_what_leaves_the_range_of_numbers_is_none(jvm: Jvm) -> None:
    wide = jvm.parse("N(0, 1e308)")
    assert jvm.sums.add(wide, wide) is None
    assert jvm.sums.subtract(wide, wide) is None
    high = jvm.parse("U(1e308, 1.5e308)")
    assert jvm.sums.add(high, high) is None
    assert jvm.sums.add(high, jvm.parse("C(1e308)")) is None
    points = jvm.parse("E(0, 1.7e308)")
    assert jvm.sums.add(points, points) is None
    assert jvm.parse("LN(1000, 0)") is None
    assert jvm.sums.add(jvm.parse("LN(700, 100)"), jvm.parse("N(0, 1)")) is not None
