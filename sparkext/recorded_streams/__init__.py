"""Recorded streams: files in which each named graph is a stream element with its time.

Files come in, elements in order of time go out; it may use `s2r`'s times and the readers of `static_data`.
"""

from __future__ import annotations

from sparkext.recorded_streams.elements import (
    TIME_PROPERTIES,
    SetAside,
    StreamElement,
)
from sparkext.recorded_streams.reader import RecordedStream, merge_streams, read_recorded_stream

__all__ = [
    "TIME_PROPERTIES",
    "RecordedStream",
    "SetAside",
    "StreamElement",
    "merge_streams",
    "read_recorded_stream",
]
