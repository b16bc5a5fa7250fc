"""What a MATCH has to keep: whether it is bounded by windows and WITHIN, or grows for as long as the query runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sparkext.language.event_patterns import (
    Event,
    EventPattern,
    Match,
    Sequence,
    Within,
    parts_of,
)
from sparkext.s2r.derived_windows import ComposedWindow
from sparkext.s2r.windows import LandmarkWindow, WindowSpec
from static_data.terms import Iri


def unbounded(match: Match, spec_of: Callable[[str], WindowSpec]) -> list[str]:
    """Sentences that tell which events of a MATCH are kept for ever; `spec_of` gives the window of a name.

    An event is let go when its window no longer shows it. Where a landmark window shows it for ever, WITHIN lets it go
    as an open partial match, and the last event of a sequence is none; what they are part of stays an answer.

    >>> from sparkext.language.algebra import Bgp, Window
    >>> from sparkext.s2r.windows import RangeWindow
    >>> a, b = Event("A"), Event("B")
    >>> windows = (Window(Iri("http://e/all"), Bgp()), Window(Iri("http://e/last"), Bgp()))
    >>> specs = {"http://e/all": LandmarkWindow(1), "http://e/last": RangeWindow(5)}
    >>> unbounded(Match(Sequence(a, b), ("A", "B"), windows), specs.__getitem__)
    ['all events A are kept, as window <http://e/all> lets none go']
    >>> unbounded(Match(Within(Sequence(a, b), 10), ("A", "B"), windows), specs.__getitem__)
    ['all matches are kept, as window <http://e/all> of A lets no event go']
    """
    found = []
    sequences = match.selection in (None, "unrestricted")
    within = set(_let_go(match.pattern, False, sequences))
    for name, event in zip(match.names, match.events, strict=True):
        assert isinstance(event.name, Iri)
        if not _lets_none_go(spec_of(event.name.value)):
            continue
        window = f"window {event.name.n3()}"
        if name in within:
            found.append(f"all matches are kept, as {window} of {name} lets no event go")
        else:
            found.append(f"all events {name} are kept, as {window} lets none go")
    return found


def _let_go(pattern: EventPattern, within: bool, sequences: bool) -> Iterator[str]:
    """The events that WITHIN stands around, wherever they stand, or that end `sequences`."""
    if isinstance(pattern, Event):
        if within:
            yield pattern.name
        return
    if isinstance(pattern, Sequence) and pattern.absent is None:
        yield from _let_go(pattern.left, within, sequences)
        yield from _let_go(pattern.right, within or sequences, sequences)
        return
    for part in parts_of(pattern):
        yield from _let_go(part, within or isinstance(pattern, Within), sequences)


def _lets_none_go(spec: WindowSpec) -> bool:
    if isinstance(spec, ComposedWindow):
        return _lets_none_go(spec.outer) and _lets_none_go(spec.inner)
    return isinstance(spec, LandmarkWindow)
