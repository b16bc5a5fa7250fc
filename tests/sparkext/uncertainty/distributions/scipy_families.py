"""The families of `rspu:distribution` literals in SciPy, and integrals over them that use nothing of the product."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

# Nodes and weights on (0, 1) that come so close to its ends that powers and logarithms do no harm there (Takahasi and
# Mori 1974).
_STEPS = np.arange(-3.3, 3.35, 0.1)
_NODES = 1 / (1 + np.exp(-math.pi * np.sinh(_STEPS)))
_WEIGHTS = math.pi * np.cosh(_STEPS) * _NODES * (1 - _NODES)
_WEIGHTS /= _WEIGHTS.sum()


@dataclass(frozen=True)
class Family:
    """A literal and what SciPy knows of it; `points` are the values of a discrete one."""

    literal: str
    frozen: Any
    points: tuple[tuple[float, float], ...] = ()

    def cdf(self, x: Any) -> Any:
        """P(X <= x), of a number or an array."""
        if self.points:
            return sum(w * (v <= np.asarray(x)) for v, w in self.points)
        return self.frozen.cdf(x)

    def below(self, x: Any) -> Any:
        """P(X < x), of a number or an array."""
        if self.points:
            return sum(w * (v < np.asarray(x)) for v, w in self.points)
        return self.frozen.cdf(x)

    @property
    def mean(self) -> float:
        return sum(v * w for v, w in self.points) if self.points else float(self.frozen.mean())

    @property
    def variance(self) -> float:
        if self.points:
            return sum(w * (v - self.mean) ** 2 for v, w in self.points)
        return float(self.frozen.var())

    @property
    def kinks(self) -> tuple[float, ...]:
        """Values between which the cdf is smooth."""
        if self.points:
            return tuple(value for value, _ in self.points)
        edges = getattr(self.frozen, "edges", None) or (*self.frozen.support(), *self._modes)
        return tuple(float(edge) for edge in edges if math.isfinite(edge))

    @property
    def _modes(self) -> tuple[float, ...]:
        return (0.25,) if self.literal.startswith("T(") else ()

    def values(self, kinks: tuple[float, ...]) -> tuple[Any, Any]:
        """Values and weights by which functions with these kinks, and values from 0 to 1, are integrated."""
        if self.points:
            return tuple(map(np.array, zip(*self.points, strict=True)))  # type: ignore[return-value]
        shares = sorted({0.0, 1.0, *map(float, self.frozen.cdf(np.array((*kinks, *self.kinks))))})
        parts = [(low, high - low) for low, high in pairwise(shares) if high - low > 1e-13]
        nodes = np.concatenate([low + width * _NODES for low, width in parts])
        weights = np.concatenate([width * _WEIGHTS for _, width in parts])
        return self.frozen.ppf(np.clip(nodes, 1e-300, 1 - 1e-16)), weights

    def expectation(self, function: Callable[[Any], Any], kinks: tuple[float, ...] = ()) -> float:
        """E function(X), where the function takes arrays, has values from 0 to 1, and may have kinks."""
        values, weights = self.values(kinks)
        return float(np.sum(weights * function(values)))


class _Histogram:
    """scipy.stats.rv_histogram with its edges."""

    def __init__(self, edges: tuple[float, ...], weights: tuple[float, ...]) -> None:
        self.edges = edges
        widths = np.diff(edges)
        density = np.array(weights) / np.sum(weights) / widths
        made = stats.rv_histogram((density, np.array(edges)), density=True)
        self.cdf, self.pdf, self.ppf, self.mean, self.var = (
            made.cdf,
            made.pdf,
            made.ppf,
            made.mean,
            made.var,
        )


FAMILIES = (
    Family("N(0.3, 0.49)", stats.norm(0.3, 0.7)),
    Family("U(-1, 1.5)", stats.uniform(-1, 2.5)),
    Family("T(-1, 2, 0.25)", stats.triang(1.25 / 3, -1, 3)),
    Family("Exp(1.5)", stats.expon(scale=1 / 1.5)),
    Family("LN(-0.5, 0.36)", stats.lognorm(0.6, scale=math.exp(-0.5))),
    Family("G(2.5, 0.4)", stats.gamma(2.5, scale=0.4)),
    Family("G(0.5, 1.2, -0.4)", stats.gamma(0.5, -0.4, 1.2)),
    Family("B(2, 3)", stats.beta(2, 3)),
    Family("B(0.6, 0.8, -1, 2)", stats.beta(0.6, 0.8, -1, 3)),
    Family("C(0.4)", None, ((0.4, 1.0),)),
    Family("E(0.1, 0.4, 0.4, 2)", None, ((0.1, 0.25), (0.4, 0.5), (2.0, 0.25))),
    Family("P(-0.2, 0.3, 0.4, 0.5, 1.1, 0.2)", None, ((-0.2, 0.3), (0.4, 0.5), (1.1, 0.2))),
    Family("H(-1, 0.2, 0, 0.6, 0.5, 0.2, 2)", _Histogram((-1, 0, 0.5, 2), (1, 3, 1))),
)
