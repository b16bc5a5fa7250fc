"""What a stream is when its process ends, as plain data, and a stream made like it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sparkext.runtime.streams.numbered_batches import BegunBatch

if TYPE_CHECKING:
    from sparkext.runtime.streams.stream import Stream


class StreamTimesKept(Protocol):
    """Where the times of streams are kept that queries still ask for."""

    def oldest_time(self, iri: str) -> int: ...

    def settled_up_to(self, iri: str) -> int: ...

    def restore_times(
        self, iri: str, times: list[int], counts: list[int], settled: int
    ) -> None: ...

    def restore_corrected(self, iri: str, newest: int, settled: int) -> None: ...


def state_of(stream: Stream, evaluations: StreamTimesKept) -> dict[str, Any]:
    """The state of a stream whose waiting elements are in its log."""
    elements, oldest = (int(number) for number in stream.log.standing().split())
    mark = stream.watermark
    return {
        "elements": elements,
        "oldest": oldest,
        "oldest_time": evaluations.oldest_time(stream.iri),
        "settled": evaluations.settled_up_to(stream.iri),
        "newest": stream.newest_time,
        "complete": mark.complete_up_to,
        "final": mark.final.complete_up_to,
        "on_time": mark.on_time_count,
        "late": mark.late_count,
        "counts": [stream.accepted_count, stream.malformed_count, stream.late_count],
        "applied": [[source, batch] for source, batch in stream.batches.last.items()],
        "begun": [
            [source, begun.partitions, begun.ended, list(begun.rows.items())]
            for source, begun in stream.batches.begun.items()
        ],
        "position": stream.position,
        "on_error": stream.on_error.value,
        "mapped": stream.record_layout,
        "lateness": asdict(stream.lateness),
        "late_of": None if stream.made_late_by is None else stream.made_late_by.iri,
    }


def oldest_needed(state: Mapping[str, Any]) -> int:
    """The time from which on a stream's elements still count."""
    return min(int(state["oldest"]), int(state["oldest_time"]))


def restore(
    stream: Stream, state: Mapping[str, Any], elements: Any, evaluations: StreamTimesKept
) -> None:
    """Make a new stream be what another one was; `elements` are the JVM's RestoredElements."""
    # py4j decodes bytes one by one.
    pairs = np.fromstring(elements.times(stream.iri), np.int64, sep=" ").reshape(-1, 2)
    times, counts = pairs.T.tolist()
    evaluations.restore_times(stream.iri, times, counts, state["settled"])
    stream.log.restore(elements, state["elements"])
    final = state.get("final", state["complete"])
    stream.watermark.restore(state["complete"], final, state["on_time"], state["late"])
    if stream.watermark.corrects:
        evaluations.restore_corrected(stream.iri, state["newest"], state["settled"])
    stream.restore_counts(state["counts"], state["newest"], state["position"])
    begun = {
        source: BegunBatch(partitions, ended, dict(map(tuple, rows)))
        for source, partitions, ended, rows in state.get("begun", ())
    }
    stream.batches.restore(dict(map(tuple, state["applied"])), begun)
