"""The evaluation instants of the default policy, found by trying."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.oracle.recorded import Element, Streams
from tests.oracle.window_definitions import Sliding, Window, content, last_instant_of


def closing_instants(window: Sliding, elements: Sequence[Element]) -> set[int]:
    """Where one of the windows closes and holds an element (WC and NC).

    >>> from tests.oracle.recorded import element
    >>> w2 = Sliding(2, 2)
    >>> sorted(closing_instants(w2, [element(8), element(15)]))  # RSP-QL, Example 9
    [8, 16]
    """
    latest = max((e.time for e in elements), default=0)
    return {
        close
        for open_, close in window.windows(latest)
        if any(open_ < e.time <= close for e in elements)
    }


def instants(
    windows: Mapping[str, tuple[str, Window]], streams: Streams, every: int | None = None
) -> list[int]:
    """All instants of a query over `windows`, (stream, window) by name, in order.

    With `every` they are t0 + k every, from the first element to the close of the last window; t0 is the start of the
    first window that has one, else 0.
    """
    if every is None:
        found: set[int] = set()
        for stream, window in windows.values():
            if isinstance(window, Sliding):
                found |= closing_instants(window, streams[stream])
            else:
                found |= {e.time for e in streams[stream]}
        return sorted(found)
    used = {stream for stream, _ in windows.values()}
    times = [e.time for stream in used for e in streams[stream]]
    ends = [last_instant_of(window, streams[stream]) for stream, window in windows.values()]
    last = max((end for end in ends if end is not None), default=None)
    if not times or last is None:
        return []
    starts = [window.start for _, window in windows.values() if isinstance(window, Sliding)]
    start = starts[0] if starts else 0
    return [t for t in range(min(times), last + 1) if (t - start) % every == 0]


def shown(
    windows: Mapping[str, tuple[str, Window]], streams: Streams, t: int
) -> dict[str, list[Element]]:
    """What every window shows at t."""
    return {name: content(window, t, streams[stream]) for name, (stream, window) in windows.items()}
