"""The families of `rspu:distribution` literals in SciPy: literal, distribution, and where its density is not smooth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import integrate, stats


@dataclass(frozen=True)
class Family:
    """A literal and what SciPy knows of it; `points` are the values of a discrete one."""

    literal: str
    frozen: Any
    points: tuple[tuple[float, float], ...] = ()

    def cdf(self, x: float) -> float:
        """P(X <= x)."""
        if self.points:
            return sum(w for v, w in self.points if v <= x)
        return float(self.frozen.cdf(x))

    def below(self, x: float) -> float:
        """P(X < x)."""
        if self.points:
            return sum(w for v, w in self.points if v < x)
        return float(self.frozen.cdf(x))

    @property
    def mean(self) -> float:
        return sum(v * w for v, w in self.points) if self.points else float(self.frozen.mean())

    @property
    def variance(self) -> float:
        if self.points:
            return sum(w * (v - self.mean) ** 2 for v, w in self.points)
        return float(self.frozen.var())

    def expectation(self, function: Any, kinks: tuple[float, ...] = ()) -> float:
        """E function(X), where the function may have kinks: integrated over the density."""
        if self.points:
            return sum(w * function(v) for v, w in self.points)
        low, high = self.frozen.ppf(1e-13), self.frozen.ppf(1 - 1e-13)
        inner = [self.frozen.ppf(q) for q in (0.001, 0.02, 0.2, 0.5, 0.8, 0.98, 0.999)]
        edges = list(getattr(self.frozen, "edges", ()))
        cuts = sorted({low, high, *(c for c in (*inner, *edges, *kinks) if low < c < high)})
        return sum(
            integrate.quad(
                lambda x: function(x) * self.frozen.pdf(x), a, b, epsabs=1e-11, limit=400
            )[0]
            for a, b in pairwise(cuts)
        )


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
    Family("H(-1, 0.2, 0, 0.6, 0.5, 0.2, 2)", _Histogram((-1, 0, 0.5, 2), (1, 3, 1))),
)
