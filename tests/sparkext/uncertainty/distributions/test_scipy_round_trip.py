"""Frozen distributions of SciPy as literals and back again, bit for bit; which have none."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sparkext import from_scipy, to_scipy
from sparkext.answers.scipy_bridge import DATATYPE
from sparkext.errors import DistributionError
from static_data.terms import Iri, Literal
from tests.sparkext.uncertainty.distributions.distribution_classes import Jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOC = st.floats(-1e6, 1e6)
SCALE = st.floats(1e-6, 1e6)
SHAPE = st.floats(1e-3, 1e3)
ANY = st.floats(0, exclude_min=True, allow_infinity=False)
ANYWHERE = st.floats(allow_nan=False, allow_infinity=False)
MODE = st.floats(0, 1)
SHAPES: dict[str, dict[str, st.SearchStrategy[float]]] = {
    "norm": {},
    "uniform": {},
    "triang": {"c": MODE},
    "expon": {},
    "lognorm": {"s": SHAPE},
    "gamma": {"a": SHAPE},
    "beta": {"a": SHAPE, "b": SHAPE},
}


def bits(frozen: Any) -> tuple[object, ...]:
    """The family of a frozen distribution and all its parameters, to the last bit."""
    dist = frozen.dist
    if isinstance(dist, stats.rv_histogram):
        weights, edges = dist._histogram
        return ("histogram", *(float(x).hex() for x in (*weights, *edges)))
    if hasattr(dist, "xk"):
        return ("points", *(float(x).hex() for x in (*dist.xk, *dist.pk)))
    names = [*(dist.shapes.split(", ") if dist.shapes else []), "loc", "scale"]
    given = {"loc": 0, "scale": 1, **dict(zip(names, frozen.args, strict=False)), **frozen.kwds}
    return dist.name, *(float(given[name]).hex() for name in names)


def again(frozen: Any) -> Any:
    return to_scipy(from_scipy(frozen).n3())


@pytest.mark.parametrize("family", SHAPES)
@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.data())
def test_all_parameters_come_back_bit_for_bit(family: str, data: st.DataObject) -> None:
    drawn = {
        name: data.draw(kind, name)
        for name, kind in {**SHAPES[family], "loc": LOC, "scale": SCALE}.items()
    }
    frozen = getattr(stats, family)(**drawn)
    assert bits(again(frozen)) == bits(frozen)


@pytest.mark.parametrize("family", SHAPES)
@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.data())
def test_the_least_and_greatest_come_back_or_are_refused(family: str, data: st.DataObject) -> None:
    shapes = {name: MODE if kind is MODE else ANY for name, kind in SHAPES[family].items()}
    drawn = {
        name: data.draw(kind, name)
        for name, kind in {**shapes, "loc": ANYWHERE, "scale": ANY}.items()
    }
    frozen = getattr(stats, family)(**drawn)
    try:
        literal = from_scipy(frozen)
    except DistributionError as error:
        assert family in str(error)
        assert f"scale={drawn['scale']}" in str(error)
    else:
        assert bits(to_scipy(literal)) == bits(frozen)


PLACE = st.integers(-1000, 1000).map(lambda n: n / 7)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.lists(st.tuples(PLACE, SHAPE), min_size=1, max_size=20, unique_by=lambda pair: pair[0]))
def test_points_and_histograms_come_back(pairs: list[tuple[float, float]]) -> None:
    values, weights = (np.array(column) for column in zip(*sorted(pairs), strict=True))
    points = stats.rv_discrete(values=(values, weights / weights.sum()))
    assert bits(again(points)) == bits(points())
    edges = np.append(values, values[-1] + 1)
    table = stats.rv_histogram((weights, edges), density=False)
    assert bits(again(table)) == bits(table())
    dense = again(stats.rv_histogram((weights, edges), density=True))
    assert dense.cdf(edges) == pytest.approx(
        stats.rv_histogram((weights, edges), density=True).cdf(edges)
    )


@pytest.mark.filterwarnings("ignore:Bin widths are not constant")
@pytest.mark.parametrize(
    ("heights", "edges", "text"),
    [
        ([1, 1], [0, 1, 10], "H(0, 1, 1, 9, 10)"),
        (np.array([2.0, 1.0]), np.array([0.0, 0.5, 1.0]), "H(0, 2, 0.5, 1, 1)"),
        # Not to the last bit of one width, and equal for scipy.
        ([1, 3, 1], [0, 0.1, 0.2, 0.3], "H(0, 1, 0.1, 3, 0.2, 1, 0.3)"),
        ([5], [1, 3], "H(1, 5, 3)"),
    ],
)
def test_a_histogram_that_says_nothing_of_density(heights: Any, edges: Any, text: str) -> None:
    table = stats.rv_histogram((heights, edges))
    literal = from_scipy(table)
    assert literal.lexical == text
    assert to_scipy(literal).cdf(edges) == pytest.approx(table.cdf(edges))


DIGITS = st.decimals(-1000, 1000, places=7)
ABOVE = st.decimals("0.0000001", 1000, places=7)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    st.one_of(
        st.builds("N({}, {})".format, DIGITS, ABOVE),
        st.builds("Normal( {},{} )".format, DIGITS, ABOVE),
        st.builds("LN({}, {}, {})".format, st.decimals(-20, 20, places=5), ABOVE, DIGITS),
        st.builds("Exp({})".format, ABOVE),
        st.builds("G({}, {}, {})".format, ABOVE, ABOVE, DIGITS),
        st.builds("C({})".format, DIGITS),
        st.builds("E({}, {}, {})".format, DIGITS, DIGITS, DIGITS),
        st.builds("P({}, {}, {}, 3e-1)".format, DIGITS, ABOVE, DIGITS),
        st.builds("N({}, 0)".format, DIGITS),
    )
)
def test_a_literal_comes_back_as_its_text(text: str) -> None:
    frozen = to_scipy(Literal(text, DATATYPE))
    assert from_scipy(frozen).lexical == text
    assert from_scipy(pickle.loads(pickle.dumps(frozen))).lexical == text


@pytest.mark.parametrize(
    ("distribution", "told"),
    [
        (lambda: stats.weibull_min(2.0, loc=1), "weibull_min(c=2.0, loc=1, scale=1) has no literal"),
        (lambda: stats.poisson(3), "poisson(mu=3, loc=0, scale=1) has no literal"),
        (lambda: stats.norm([0, 1], 2), "norm(loc=[0, 1], scale=2): a literal is one distribution"),
        (lambda: stats.norm(float("nan"), 1), "norm(loc=nan, scale=1)"),
        (lambda: stats.norm(0, 1e200), "norm(loc=0, scale=1e+200)"),
        (lambda: stats.uniform(1e300, 1), "uniform(loc=1e+300, scale=1)"),
        (lambda: stats.rv_discrete(values=([1, 2], [0.5, 0.5]))(3), "rv_discrete(values=...) with loc=3"),
        (lambda: stats.norm, "scipy.stats.norm, which is not frozen"),
        (lambda: 5, "a frozen distribution of scipy.stats is asked for"),
    ],
)  # fmt: skip
def test_what_has_no_literal_is_named(distribution: Callable[[], object], told: str) -> None:
    with pytest.raises(DistributionError) as raised:
        from_scipy(distribution())
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("term", "told"),
    [
        (Literal("Sum(N(0, 1), U(0, 1))", DATATYPE), "scipy has no family for Sum(...)"),
        (Literal("N(0, -1)", DATATYPE), '"N(0, -1)" has no frozen distribution'),
        (Literal("N(0, 1_0)", DATATYPE), '"N(0, 1_0)" has no frozen distribution'),
        (Literal("LN(800, 1)", DATATYPE), "beyond doubles"),
        (Literal("H(0, 1, 0)", DATATYPE), '"H(0, 1, 0)"'),
        (Literal("U(0, 1e999999999)", DATATYPE), "beyond doubles"),
        (Literal("N(0, 1)"), 'not "N(0, 1)"'),
        (Iri("http://e/a"), "not <http://e/a>"),
        ("N(0, 1)", "not a distribution"),
    ],
)
def test_what_scipy_has_not_is_named(term: Literal | Iri | str, told: str) -> None:
    with pytest.raises(DistributionError) as raised:
        to_scipy(term)
    assert told in str(raised.value)


@pytest.mark.parametrize(
    "frozen",
    [
        stats.norm(19.7, 0.3),
        stats.uniform(0.1, 0.2),
        stats.triang(1 / 3, -1, 7),
        stats.expon(2, 3),
        stats.lognorm(0.7, 0.5, 0.1),
        stats.gamma(2.5, -0.4, 1.2),
        stats.beta(0.6, 0.8, -1, 3),
        stats.rv_discrete(values=([0.5, 1.5, 4], [0.2, 0.3, 0.5]))(),
        stats.rv_histogram(([1, 3, 1], [-1, 0, 0.5, 2]), density=False)(),
    ],
    ids=lambda frozen: frozen.dist.name,
)
def test_the_engine_reads_the_same_distribution(spark: SparkSession, frozen: Any) -> None:
    made = Jvm(spark).parse(from_scipy(frozen).lexical)
    assert made.mean() == pytest.approx(frozen.mean(), rel=1e-12)
    assert made.variance() == pytest.approx(frozen.var(), rel=1e-9)
    for x in np.linspace(-2, 25, 60):
        assert made.cdf(float(x)) == pytest.approx(float(frozen.cdf(x)), abs=1e-9)
