"""Prometheus metrics of what an engine that is served counts itself: as they are when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from sparkext.serving.served_engine import ServedEngine

_PAGE = 4096


class ServedCounts(Collector):
    """What an engine that is served counts itself."""

    def __init__(self, served: ServedEngine) -> None:
        self._served = served

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is, is told when it is asked for."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All metrics, as they are now."""
        yield from self._streams()
        yield from self._queries()
        yield from self._intake()
        if not self._served.engine.closed:
            yield from self._memory()

    def _streams(self) -> Iterator[Metric]:
        streams = list(self._served.engine.streams.items())
        yield _gauge("cqels_streams", "Registered streams", len(streams))
        for name, text, attribute in (
            ("elements", "Elements taken in", "accepted_count"),
            ("late_elements", "Elements that came too late", "late_count"),
            ("malformed_elements", "Elements set aside as malformed", "malformed_count"),
        ):
            family = CounterMetricFamily(f"cqels_stream_{name}", text, labels=["stream"])
            for iri, stream in streams:
                family.add_metric([iri], getattr(stream, attribute))
            yield family
        panes = GaugeMetricFamily(
            "cqels_stream_panes", "Panes that windows may still read", labels=["stream"]
        )
        for iri, stream in streams:
            panes.add_metric([iri], stream.panes)
        yield panes

    def _queries(self) -> Iterator[Metric]:
        queries = list(self._served.queries.items())
        progress = [(name, query.registered.progress, query.ring) for name, query in queries]
        yield _gauge("cqels_queries", "Registered queries", len(queries))
        for name, text, attribute in (
            ("evaluations", "Evaluations", "evaluations"),
            ("answers", "Rows of answers", "answers"),
            ("failures", "Evaluations that failed", "failures"),
        ):
            family = CounterMetricFamily(f"cqels_query_{name}", text, labels=["query"])
            for query, counts, _ in progress:
                family.add_metric([query], getattr(counts, attribute))
            yield family
        lag = GaugeMetricFamily(
            "cqels_query_lag_seconds", "How far evaluation is behind event time", labels=["query"]
        )
        following = GaugeMetricFamily(
            "cqels_query_subscribers", "Clients that follow", labels=["query"]
        )
        kept = GaugeMetricFamily(
            "cqels_query_kept_bytes",
            "Answers kept for subscribers that come back",
            labels=["query"],
        )
        for query, counts, ring in progress:
            lag.add_metric([query], counts.lag)
            following.add_metric([query], ring.subscribers)
            kept.add_metric([query], ring.size[1])
        yield from (lag, following, kept)
        yield _gauge("cqels_subscribers", "Clients that follow any query", self._served.subscribers)

    def _intake(self) -> Iterator[Metric]:
        intake = self._served.intake
        yield _gauge("cqels_pushes_waiting", "Pushes in the queue", intake.waiting)
        yield _gauge(
            "cqels_pushes_waiting_bytes", "Bytes of pushes in the queue", intake.waiting_bytes
        )
        yield _gauge("cqels_behind_seconds", "Seconds of work in the queue", intake.behind)
        yield _gauge(
            "cqels_overloaded", "1 while the overload policy is in force", intake.overloaded
        )
        yield CounterMetricFamily(
            "cqels_overloads", "Times it came into force", value=intake.overloads
        )
        yield CounterMetricFamily(
            "cqels_pushes_refused", "Pushes refused by it", value=intake.refused
        )
        yield CounterMetricFamily(
            "cqels_elements_sampled_out", "Elements dropped by it", value=intake.sampled_out
        )

    def _memory(self) -> Iterator[Metric]:
        engine = self._served.engine
        jvm: Any = engine.spark.sparkContext._jvm
        runtime = jvm.java.lang.Runtime.getRuntime()
        total = int(runtime.totalMemory())
        heap = GaugeMetricFamily("cqels_jvm_heap_bytes", "Heap of the JVM", labels=["state"])
        heap.add_metric(["used"], total - int(runtime.freeMemory()))
        heap.add_metric(["committed"], total)
        heap.add_metric(["max"], int(runtime.maxMemory()))
        yield heap
        resident = _resident(int(jvm.java.lang.ProcessHandle.current().pid()))
        if resident is not None:
            yield _gauge("cqels_jvm_resident_bytes", "Memory of the process of the JVM", resident)
        dictionary = engine.store.dictionary
        terms = GaugeMetricFamily(
            "cqels_dictionary_terms", "Terms in the dictionary", labels=["part"]
        )
        terms.add_metric(["static"], int(dictionary.staticSize()))
        terms.add_metric(["stream"], int(dictionary.streamSize()))
        yield terms
        yield _gauge(
            "cqels_dictionary_bytes", "Memory of the dictionary", int(dictionary.memoryBytes())
        )


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)


def _resident(pid: int) -> int | None:
    """The bytes of memory of a process; None where the system does not tell."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return None
