"""The elements of a stream that came too late to be answered: the newest ones, and who is told of all."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any

from sparkext.recorded_streams import StreamElement

logger = logging.getLogger(__name__)

KEPT = 1000

LateSubscriber = Callable[[StreamElement], object]


class LateElements:
    """The side stream of a stream, in the order of arrival; the newest 1,000 are kept."""

    def __init__(self, iri: str) -> None:
        self._iri = iri
        self._kept: deque[StreamElement] = deque(maxlen=KEPT)
        # Each in a list of its own: one who comes twice may leave once.
        self._subscribers: tuple[list[LateSubscriber], ...] = ()
        self._subscribing = Lock()  # whoever comes or goes, not whoever is told
        self.goes_to: Callable[[Sequence[StreamElement]], object] | None = None  # a stream of them

    @property
    def newest(self) -> tuple[StreamElement, ...]:
        """Those that are kept."""
        return tuple(self._kept)

    def subscribe(self, subscriber: LateSubscriber) -> Callable[[], None]:
        """Have `subscriber` called with each; returns a function that ends this."""
        there = [subscriber]
        with self._subscribing:
            self._subscribers = (*self._subscribers, there)

        def leave() -> None:
            with self._subscribing:
                self._subscribers = tuple(
                    other for other in self._subscribers if other is not there
                )

        return leave

    def note(self, told: Iterable[Any]) -> None:
        """Take in elements as Intake.scala tells of them."""
        elements = [
            StreamElement(time, graph, tuple(triples), None, tuple(about))
            for time, graph, triples, about in told
        ]
        self._kept.extend(elements)
        if elements and self.goes_to is not None:
            self.goes_to(elements)
        for element in elements:
            for (subscriber,) in self._subscribers:
                try:
                    subscriber(element)
                except Exception:  # One subscriber's failure is not the stream's.
                    logger.exception("a subscriber of late elements of <%s> failed", self._iri)
