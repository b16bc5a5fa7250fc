"""Prometheus metrics that are counted when something happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Observed:
    """What is counted when it happens, in a registry of this server's own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._evaluations = Histogram(
            "cqels_evaluation_seconds",
            "What an evaluation of a query took, its answers decoded",
            ["query"],
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.pushes = Histogram(
            "cqels_push_seconds",
            "From a push to its answer: waiting, taking in, and the evaluations that became due",
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.requests = Counter(
            "cqels_http_requests",
            "Requests by method and status",
            ["method", "status"],
            registry=self.registry,
        )
        self.limited = Counter(
            "cqels_limited_queries",
            "Queries that were stopped because an evaluation took more than it may",
            registry=self.registry,
        )
        self.cut_off = Counter(
            "cqels_subscribers_cut_off", "Subscribers that were too slow", registry=self.registry
        )

    def answered(self, query: str, answers: Answers) -> None:
        """Note an evaluation."""
        self._evaluations.labels(query).observe(answers.seconds)

    def forget(self, query: str) -> None:
        """Tell no more of a query that has ended."""
        try:
            self._evaluations.remove(query)
        except KeyError:  # It was never evaluated.
            return
