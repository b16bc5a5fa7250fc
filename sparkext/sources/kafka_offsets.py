"""Offsets of Kafka's topics: how many of what is new a micro-batch has, and topics that were begun anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

Offsets = dict[str, dict[str, int]]
"""By topic and partition, the offset of the next message; partitions are texts, as JSON has them."""

Known = Mapping[str, Mapping[str, int]]


def begin_of(start: Known, topic: str, partition: str, until: int) -> int:
    """Where a partition is read from that ends at `until`: one that was added, or begun anew, from its first message.

    >>> [begin_of({"t": {"0": 7}}, "t", p, 9) for p in "01"], begin_of({"t": {"0": 7}}, "t", "0", 5)
    ([7, 0], 0)
    """
    known = start.get(topic, {}).get(partition, 0)
    return known if known <= until else 0


def begun_anew(start: Known, there: Known) -> Iterator[tuple[str, str, int, int]]:
    """Topic, partition, known offset and new end of partitions that end before what was read of them.

    >>> list(begun_anew({"t": {"0": 7, "1": 2}}, {"t": {"0": 3, "1": 2}}))
    [('t', '0', 7, 3)]
    """
    for topic, ends in there.items():
        for partition, until in ends.items():
            known = start.get(topic, {}).get(partition, 0)
            if until < known:
                yield topic, partition, known, until


def dealt(start: Known, there: Offsets, most: int) -> Offsets:
    """Offsets that are at most so many messages after `start`: of each partition its share of what there is.

    >>> dealt({"t": {"0": 0, "1": 5}}, {"t": {"0": 90, "1": 15}}, 10)
    {'t': {'0': 9, '1': 6}}
    >>> dealt({"t": {"0": 0, "1": 5}}, {"t": {"0": 3, "1": 6}}, 10)
    {'t': {'0': 3, '1': 6}}
    """
    begin = {(t, p): begin_of(start, t, p, n) for t, by in there.items() for p, n in by.items()}
    new = {(t, p): there[t][p] - at for (t, p), at in begin.items()}
    whole = sum(new.values())
    if whole <= most:
        return there
    share = {place: count * most // whole for place, count in new.items()}
    left = most - sum(share.values())
    for place in sorted(new, key=lambda place: share[place] - new[place]):
        if left and share[place] < new[place]:
            share[place] += 1
            left -= 1
    return {t: {p: begin[t, p] + share[t, p] for p in by} for t, by in there.items()}
