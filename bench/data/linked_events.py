"""Two streams of events of which one leads to as many of the other as is wished, for the cost of a filter's place.

The second part of the uncertainty paper's experiments, with events linked by places: each event of the first stream
leads to one place, at which `fan_out` events of the second happen; below 1 that is the share of the events that lead
to a place where one happens, another one for each. Values are evenly spread between 0 and 1, their errors are U(-1,1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template

import numpy as np

from bench.data.text_columns import decimals, joined, numbers
from sparkext.recorded_streams import StreamElement

QUERY = Path(__file__).resolve().parent.parent / "queries" / "events" / "followed.rspql"
PLACES = 100

_BASE = "http://example.org/"
_EVENT, _PLACE = f"<{_BASE}event/", f"<{_BASE}place/"
_RESULT = "<http://www.w3.org/ns/sosa/hasSimpleResult>"
_ERROR = '<http://w3id.org/rsp/rspu#uncertainty> "U(-1,1)"^^<http://w3id.org/rsp/rspu#distribution>'
_DECIMAL = '"^^<http://www.w3.org/2001/XMLSchema#decimal>'
_DIGITS = 9


@dataclass(frozen=True)
class LinkedEvents:
    """Events of a batch, named by it.

    `fan_out` is the mean number of second events that a first one leads to, `low` the share of values up to 0.5.
    """

    events: int
    fan_out: float
    batch: int = 0
    low: float = 0.5
    seed: int = 7

    @property
    def places(self) -> int:
        """The places at which events of the second stream happen.

        >>> LinkedEvents(5000, 1.0).places, LinkedEvents(5000, 0.1).places
        (100, 500)
        """
        least = min(PLACES, self.events)
        return least if self.fan_out >= 1 else max(least, int(self.events * self.fan_out))

    @property
    def following(self) -> int:
        """The events of the second stream.

        >>> LinkedEvents(1000, 10.0).following, LinkedEvents(1000, 0.1).following
        (1000, 100)
        """
        return self.places * max(1, round(self.fan_out))

    def leads_to(self) -> np.ndarray:
        """The place of each first event; nothing happens at places from `places` on.

        >>> int((LinkedEvents(1000, 0.1).leads_to() < PLACES).sum())
        100
        """
        index = np.arange(self.events)
        if self.fan_out < 1:
            linked = np.floor((index + 1) * self.fan_out) > np.floor(index * self.fan_out)
            nowhere = self.places + index
            return np.asarray(np.where(linked, np.cumsum(linked) % self.places, nowhere))
        return index % self.places

    def values(self) -> np.ndarray:
        """The values of the first events in units of the last digit, in no order that their links know.

        Where half of them are low, a share x is at most x.

        >>> float((LinkedEvents(1000, 1.0).values() <= 3 * 10**8).mean())
        0.3
        >>> float((LinkedEvents(1000, 1.0, low=0.9).values() <= 5 * 10**8).mean())
        0.9
        """
        rng = np.random.default_rng((self.seed, self.batch))
        steps = (rng.permutation(self.events) + rng.uniform(0.1, 0.9, self.events)) / self.events
        values = np.interp(steps, (0.0, self.low, 1.0), (0.0, 0.5, 1.0))
        units: np.ndarray = (values * 10**_DIGITS).astype(np.int64)
        return units | 1

    def answers(self, threshold: float) -> int:
        """How many pairs of events there are of which the first one's value is at most `threshold`.

        >>> LinkedEvents(1000, 10.0).answers(0.3), LinkedEvents(1000, 0.1).answers(1.0)
        (3000, 100)
        """
        passes = self.values() <= threshold * 10**_DIGITS
        linked = self.leads_to() < self.places
        return int((passes & linked).sum()) * (self.following // self.places)

    def first(self, time_ms: int) -> list[StreamElement]:
        """The elements of the first stream."""
        return [element for part in self.first_in_parts(time_ms, self.events) for element in part]

    def first_in_parts(self, time_ms: int, most: int) -> Iterator[list[StreamElement]]:
        """The elements of the first stream, at most so many at a time: texts of millions fill the memory.

        >>> events = LinkedEvents(10, 1.0)
        >>> parts = list(events.first_in_parts(0, 4))
        >>> [len(part) for part in parts], sum(parts, []) == events.first(0)
        ([4, 4, 2], True)
        """
        values, places = self.values(), self.leads_to()
        for begun in range(0, self.events, most):
            index = np.arange(begun, min(begun + most, self.events))
            yield self._uncertain(index, values[index], places[index], time_ms)

    def second(self, time_ms: int) -> list[StreamElement]:
        """The elements of the second stream."""
        index = np.arange(self.following)
        event = joined(f"{_EVENT}2_{self.batch}_", numbers(index), ">")
        rng = np.random.default_rng((self.seed, self.batch, 2))
        value = decimals(rng.integers(1, 10**_DIGITS, len(index)) | 1, _DIGITS)
        lines = (
            joined(
                event,
                f" <{_BASE}happensAt> {_PLACE}{self.batch}_",
                numbers(index % self.places),
                "> .",
            ),
            joined(event, f' {_RESULT} "', value, f"{_DECIMAL} ."),
        )
        return _elements(event, lines, time_ms)

    def idle(self, time_ms: int) -> list[StreamElement]:
        """An event of the first stream that leads nowhere and passes no threshold: something arrives.

        It is the same one each time, so that windows do not fill with them.
        """
        index = np.array([self.events])
        return self._uncertain(index, np.array([2 * 10**_DIGITS + 1]), self.places + index, time_ms)

    def _uncertain(
        self, index: np.ndarray, values: np.ndarray, places: np.ndarray, time_ms: int
    ) -> list[StreamElement]:
        event = joined(f"{_EVENT}1_{self.batch}_", numbers(index), ">")
        stated = joined(event, f' {_RESULT} "', decimals(values, _DIGITS), _DECIMAL)
        lines = (
            joined(stated, " ."),
            joined(event, f" <{_BASE}leadsTo> {_PLACE}{self.batch}_", numbers(places), "> ."),
            joined("<< ", stated, f" >> {_ERROR} ."),
        )
        return _elements(event, lines, time_ms)


def _elements(event: object, lines: tuple[object, ...], time_ms: int) -> list[StreamElement]:
    names = event.to_pylist()  # type: ignore[attr-defined]
    triples = zip(*(column.to_pylist() for column in lines), strict=True)  # type: ignore[attr-defined]
    return [
        StreamElement(time_ms, name.replace("/event/", "/graph/"), of)
        for name, of in zip(names, triples, strict=True)
    ]


def followed(first: str, second: str, threshold: float, range_: str) -> str:
    """The query over two streams, its windows `range_` wide ("PT1S").

    >>> "0.5) >= 0.5" in followed("http://e/1", "http://e/2", 0.5, "PT1S")
    True
    """
    text = QUERY.read_text(encoding="utf-8")
    shown = np.format_float_positional(threshold, trim="0")
    return Template(text).substitute(first=first, second=second, threshold=shown, range=range_)
