"""Distributions of points and histograms, against counts: probabilities of k out of n are k / n and not nearly so."""

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.uncertainty.distributions.distribution_classes import Jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def jvm(spark: SparkSession) -> Jvm:
    return Jvm(spark)


def literal(name: str, *numbers: float) -> str:
    return f"{name}({', '.join(map(str, numbers))})"


@pytest.mark.parametrize("n", [2, 3, 7, 10, 49, 100])
def test_shares_of_observed_values(jvm: Jvm, n: int) -> None:
    values = range(1, n + 1)
    equal = [x for value in values for x in (value, 0.1)]
    for x in map(jvm.parse, (literal("E", *values), literal("P", *equal))):
        for k in values:
            assert x.cdf(float(k)) == k / n
            assert x.below(float(k)) == (k - 1) / n
            assert jvm.probabilities.greater(x, float(k)) == (n - k) / n
            assert jvm.probabilities.greaterOrEqual(x, float(k)) == (n - k + 1) / n
            assert x.quantile(k / n) == k
        assert jvm.probabilities.greater(x, jvm.parse("U(-2, -1)")) == 1.0
        assert jvm.probabilities.less(x, jvm.parse("N(1e9, 1)")) == 1.0
        assert jvm.probabilities.less(x, x) == (n * (n - 1) // 2) / n**2
        assert jvm.probabilities.lessOrEqual(x, x) == (n * (n + 1) // 2) / n**2
        assert x.mean() == pytest.approx((n + 1) / 2, rel=1e-15)


def test_shares_of_weights_as_they_are_written(jvm: Jvm) -> None:
    x = jvm.parse("P(1, 0.1, 2, 0.2, 3, 0.3, 4, 0.3, 5, 0.1)")
    assert [x.cdf(float(k)) for k in range(6)] == [0.0, 0.1, 0.3, 0.6, 0.9, 1.0]
    assert [jvm.probabilities.greater(x, float(k)) for k in range(6)] == [1, 0.9, 0.7, 0.4, 0.1, 0]
    assert [x.quantile(p) for p in (0.1, 0.3, 0.6, 0.9)] == [1, 2, 3, 4]
    assert jvm.probabilities.greater(x, jvm.parse("U(-2, -1)")) == 1.0
    thirds = jvm.parse("P(1, 1, 2, 2, 3, 4)")
    assert thirds.cdf(2.0) == 3 / 7
    assert jvm.parse(thirds.literal()).cdf(2.0) == pytest.approx(3 / 7, rel=1e-15)


def test_sums_of_points_are_counted_by_value(jvm: Jvm) -> None:
    """A hundred and one times as many pairs, but two hundred and one values."""
    x = jvm.parse(literal("E", *range(101)))
    total = jvm.sums.add(x, x)
    assert jvm.probabilities.less(total, 100.0) == 5050 / 10201
    assert jvm.probabilities.lessOrEqual(total, 100.0) == 5151 / 10201
    assert jvm.probabilities.greater(total, 100.0) == 5050 / 10201
    assert jvm.probabilities.greaterOrEqual(total, 100.0) == 5151 / 10201
    assert (total.quantile(0.5), total.lower(), total.upper()) == (100, 0, 200)
    read = jvm.parse(total.literal())
    assert read.below(100.0) == pytest.approx(5050 / 10201, rel=1e-13)


def test_sums_of_too_many_points(jvm: Jvm) -> None:
    """They stay sums, and keep the probability of each value."""
    x = jvm.parse(literal("E", *(1000 * k for k in range(150))))
    y = jvm.parse(literal("E", *range(150)))
    total = jvm.sums.add(x, y)
    assert total.literal().startswith("Sum(E(0, 1000, ")
    for made in (total, jvm.sums.add(y, x), jvm.parse(total.literal())):
        assert jvm.probabilities.less(made, 75000.0) == pytest.approx(0.5, rel=1e-14)
        more = pytest.approx(0.5 + 1 / 22500, rel=1e-14)
        assert jvm.probabilities.lessOrEqual(made, 75000.0) == more
        assert jvm.probabilities.greaterOrEqual(made, 74149.0) == more
        assert jvm.probabilities.greaterOrEqual(jvm.parse("C(75000)"), made) == more
        assert jvm.probabilities.greaterOrEqual(made, jvm.parse("C(74149)")) == more
        assert jvm.probabilities.lessOrEqual(jvm.parse("C(74149)"), made) == more
        assert jvm.probabilities.less(jvm.parse("C(74149)"), made) == pytest.approx(0.5)
        assert made.quantile(0.5) == 74149
        assert (made.cdf(-1.0), made.cdf(0.0), made.cdf(1e9)) == (0, pytest.approx(1 / 22500), 1)
    more_yet = jvm.sums.add(total, jvm.parse("E(0, 0.5)"))
    assert jvm.probabilities.less(more_yet, 75000.0) == pytest.approx(0.5, rel=1e-14)
    assert jvm.probabilities.lessOrEqual(more_yet, 75000.0) == pytest.approx(0.5 + 1 / 45000)
    assert jvm.probabilities.less(jvm.parse("N(-1e5, 1)"), more_yet) == pytest.approx(1)
    difference = jvm.sums.subtract(x, y)
    assert jvm.probabilities.less(difference, 0.0) == pytest.approx(149 / 22500, rel=1e-13)
    assert jvm.probabilities.lessOrEqual(difference, 0.0) == pytest.approx(150 / 22500, rel=1e-13)
    assert difference.quantile(149.5 / 22500) == 0


def test_points_and_another_family(jvm: Jvm) -> None:
    difference = jvm.sums.subtract(jvm.parse("P(0, 1, 3, 3)"), jvm.parse("Exp(1)"))
    assert difference.cdf(0.0) == pytest.approx(0.25 + 0.75 * 0.049787068367863944, rel=1e-12)
    assert difference.cdf(3.0) == 1


def test_many_narrow_steps_in_a_longer_sum(jvm: Jvm) -> None:
    steps = jvm.sums.add(jvm.parse("N(0, 1e-8)"), jvm.parse(literal("E", *range(1000))))
    total = jvm.sums.add(steps, jvm.parse("U(0, 0.25)"))
    assert total.literal().startswith("Sum(Sum(N(0, 1.0E-8), U(0, 0.25)), E(0, 1, ")
    for k in (0, 1, 7, 500, 998):
        assert total.cdf(k + 0.125) == pytest.approx((k + 0.5) / 1000, abs=1e-8)
        assert total.cdf(k + 0.5) == pytest.approx((k + 1) / 1000, abs=1e-8)
    twice = jvm.sums.add(total, jvm.sums.add(jvm.parse("E(0, 1)"), jvm.parse("Exp(1)")))
    assert twice.mean() == pytest.approx(499.5 + 0.125 + 0.5 + 1)

    def rest(z: float) -> float:
        """P(U(0, 1/4) + Exp(1) <= z)."""
        return 1 - math.exp(-z) * (math.exp(0.25) - 1) * 4 if z >= 0.25 else 0.0

    below = sum((rest(500.5 - k) + rest(499.5 - k)) / 2000 for k in range(1000))
    assert twice.cdf(500.5) == pytest.approx(below, abs=1e-7)


def stepped(rng: random.Random, bins: int) -> tuple[str, list[float], list[float]]:
    """A histogram over (0, bins) with its edges and masses."""
    masses = [rng.randrange(1, 9) for _ in range(bins)]
    cells = [x for k, mass in enumerate(masses, 1) for x in (mass, k)]
    total = sum(masses)
    return literal("H", 0, *cells), [float(k) for k in range(bins + 1)], [m / total for m in masses]


def spread_below(x: float, widths: list[float]) -> float:
    """P(U(0, w1) + U(0, w2) + ... <= x), as a sum over the corners of a box (Hall and Irwin)."""
    if x <= 0 or x >= sum(widths):
        return float(x > 0)
    total, n = 0.0, len(widths)
    for corner in itertools.product((0, 1), repeat=n):
        left = x - sum(w for w, here in zip(widths, corner, strict=True) if here)
        total += (-1) ** sum(corner) * max(0.0, left) ** n
    return total / math.factorial(n) / math.prod(widths)


@pytest.mark.parametrize(("bins", "narrow"), [(20, 0.001), (200, 0.001), (200, 0.3)])
def test_histograms_of_many_bins_in_longer_sums(jvm: Jvm, bins: int, narrow: float) -> None:
    """They come last, before points: no table has a piece for each of their edges."""
    text, edges, masses = stepped(random.Random(bins), bins)
    add = jvm.sums.add
    histogram, first, second = jvm.parse(text), jvm.parse(f"U(0, {narrow})"), jvm.parse("U(0, 0.5)")
    for made in (
        add(add(histogram, first), second),
        add(first, add(second, histogram)),
        add(add(first, second), histogram),
    ):
        for read in (made, jvm.parse(made.literal())):
            for x in (0.3, 1.0, 7.0005, bins / 2 + 0.25, bins - 0.01, bins + 0.2):
                wanted = sum(
                    mass * spread_below(x - edge, [narrow, 0.5, 1.0])
                    for edge, mass in zip(edges, masses, strict=False)
                )
                assert read.cdf(x) == pytest.approx(wanted, abs=1e-7), x
            assert read.off() == 0
    minus = jvm.sums.subtract(add(histogram, first), jvm.parse("Exp(2)"))
    assert minus.literal().startswith("Sum(Difference(U"), (
        "also where what is subtracted has no negative"
    )


def test_two_histograms_of_many_bins_in_a_longer_sum(jvm: Jvm) -> None:
    """The table of one of them is as near as 500 cuts of its worst pieces bring it."""
    bins = 40
    one, edges, masses = stepped(random.Random(1), bins)
    other, more, others = stepped(random.Random(2), bins)
    made = jvm.sums.add(jvm.sums.add(jvm.parse(one), jvm.parse(other)), jvm.parse("U(0, 0.5)"))
    for x in (0.7, 10.25, 40.0, 41.5, 79.9):
        wanted = sum(
            mass * probability * spread_below(x - a - b, [0.5, 1.0, 1.0])
            for a, mass in zip(edges, masses, strict=False)
            for b, probability in zip(more, others, strict=False)
        )
        assert made.cdf(x) == pytest.approx(wanted, abs=1e-7), x


def test_narrow_steps_in_differences(jvm: Jvm) -> None:
    """Points come last there, too: no table has a piece for each of the steps."""
    add, subtract = jvm.sums.add, jvm.sums.subtract
    points, narrow = jvm.parse(literal("E", *range(1000))), jvm.parse("N(0, 1e-8)")
    fast, slow = jvm.parse("Exp(10000)"), jvm.parse("Exp(1)")
    after = sum(math.exp(500.25 - k) for k in range(501, 1000))
    before = sum(math.exp(k - 500.25) for k in range(501))
    shrunk = 1 / (1 + 1e-4)  # the mean of e to the power of minus the fast one
    for made, x, expected in (
        (subtract(add(narrow, points), slow), 500.25, 501 + after * (1 + 5e-9)),
        (subtract(subtract(points, fast), slow), 500.25, 501 + after / (1 - 1e-4)),
        (add(subtract(points, fast), slow), 500.25, 501 - before * shrunk),
        (subtract(slow, add(fast, points)), -500.25, 499 - after * shrunk),
    ):
        for read in (made, jvm.parse(made.literal())):
            assert read.cdf(x) == pytest.approx(expected / 1000, abs=1e-8)
            assert read.off() == 0


def test_points_of_points_in_a_difference(jvm: Jvm) -> None:
    """More pairs than are kept as points: they are looked at one by one, beside what is spread evenly."""
    x, y = jvm.parse(literal("E", *(1000 * k for k in range(150)))), literal("E", *range(150))
    made = jvm.sums.subtract(jvm.sums.add(x, jvm.parse(y)), jvm.parse("Exp(10000)"))
    expected = (75 * 150 + 76) / 22500
    assert made.cdf(75075.0) == pytest.approx(expected, abs=1e-8)
    assert made.cdf(75074.5) == pytest.approx(expected - 1 / 22500, abs=1e-8)


def test_ends_of_histograms(jvm: Jvm) -> None:
    for text, ends in (
        ("H(0, 0, 1, 1, 2)", (1, 2)),
        ("H(0, 1, 1, 0, 2)", (0, 1)),
        ("H(0, 0, 1, 0, 2, 1, 3, 0, 4, 2, 5, 0, 6)", (2, 5)),
    ):
        x = jvm.parse(text)
        assert (x.lower(), x.upper()) == ends
        assert (x.cdf(float(ends[0])), x.cdf(float(ends[1]))) == (0, 1)
        negated = x.negated()
        assert (negated.lower(), negated.upper()) == (-ends[1], -ends[0])
    gap = jvm.parse("H(0, 0, 1, 0, 2, 1, 3, 0, 4, 2, 5, 0, 6)")
    assert gap.quantile(1 / 3) == 3
    assert gap.quantile(0.34) == pytest.approx(4.01)
    assert gap.cdf(3.5) == 1 / 3
    even = jvm.parse(literal("H", 0, *(x for k in range(1, 11) for x in (1, k))))
    assert [even.cdf(float(k)) for k in range(11)] == [k / 10 for k in range(11)]
    assert [even.quantile(k / 10) for k in range(1, 10)] == list(range(1, 10))


def test_between_with_too_many_points(jvm: Jvm) -> None:
    """They are values one by one, and each of them is looked at once."""
    x = jvm.parse(literal("E", *(10 * k for k in range(150))))
    y = jvm.parse(literal("E", *(k / 20 for k in range(150))))
    total, low, high = jvm.sums.add(x, y), jvm.parse("U(0, 1000)"), jvm.parse("Exp(0.001)")
    values = [10 * k + j / 20 for k in range(150) for j in range(150)]
    less = sum(max(0.0, 1 - v / 1000) for v in values) / 22500
    inside = sum(min(1.0, v / 1000) * math.exp(-v / 1000) for v in values) / 22500
    found = []
    spent = jvm.cpu_seconds(lambda: found.append(jvm.probabilities.between(total, low, high)))
    assert found == [pytest.approx(inside, abs=1e-9)]
    spent += jvm.cpu_seconds(lambda: found.append(jvm.probabilities.less(total, low)))
    assert found[1] == pytest.approx(less, abs=1e-9)
    assert jvm.probabilities.greater(total, low) == pytest.approx(1 - less, abs=1e-9)
    assert jvm.probabilities.less(total, total) == pytest.approx(0.5 - 0.5 / 22500, rel=1e-12)
    assert jvm.probabilities.lessOrEqual(total, total) == pytest.approx(
        0.5 + 0.5 / 22500, rel=1e-12
    )
    outer = jvm.parse(literal("E", *range(1500, 11000)))
    inner = jvm.parse(literal("E", *range(-9500, 0)))
    smooth = jvm.sums.add(jvm.parse("N(700, 100)"), jvm.parse("U(0, 100)"))
    spent += jvm.cpu_seconds(lambda: found.append(jvm.probabilities.between(smooth, inner, outer)))
    assert found[2] == pytest.approx(1, abs=1e-9)
    spent += jvm.cpu_seconds(lambda: found.append(jvm.probabilities.between(high, total, outer)))
    mean = sum(math.exp(-v / 1000) for v in values) / 22500
    tail = sum(math.exp(-v / 1000) for v in range(1500, 11000)) / 9500
    assert found[3] == pytest.approx(mean - tail, abs=1e-6)
    assert spent < 10


def test_a_rare_value_far_away(jvm: Jvm) -> None:
    """The quantiles leap where no node of a rule for integrals would see it."""
    y = jvm.parse("H(0, 0.9999, 1, 0, 1000, 0.0001, 1001)")
    x = jvm.parse("N(500, 1)")
    assert jvm.probabilities.less(x, y) == pytest.approx(0.0001, abs=1e-8)
    assert jvm.probabilities.less(y, x) == pytest.approx(0.9999, abs=1e-8)
    made = jvm.sums.add(y, jvm.parse("Exp(5)"))
    assert made.cdf(500.0) == pytest.approx(0.9999, abs=1e-8)
    between = jvm.probabilities.between(y, x, jvm.parse("N(2000, 1)"))
    assert between == pytest.approx(0.0001, abs=1e-8)
