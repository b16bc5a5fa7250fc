"""Streams whose selectivities drift, flip and oscillate, and the static data that they are joined with.

People enter rooms (window NOW), others have been sighted in rooms (RANGE), a few people know many
of the others and some know few, and rooms are crowded or quiet. Whether it is better to look first
at who is in the room or at whom one knows depends on who enters where: Figure 3 of the CQELS report
(2010), scaled up. Both fan-outs have five levels, from 0, the smallest, to ten times that. Those
sighted in the rooms that people enter are hardly ever those whom they know, so that answers are few
and what is counted is the way to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

EXAMPLE = "http://example.org/"
LEVELS = 5
TOP = LEVELS - 1
RANGE_SECONDS = 30
SEED = 3

# How many others are known at level 0, and sighted in a room; at the top level, times the widest.
LEAST_KNOWN = 120
LEAST_CROWD = 30
WIDEST = 10.0

# People of one kind (who enter rooms), rooms of each level, and those whom one can know.
PEOPLE = 400
ROOMS = (20, 16, 12, 12, 12)
KNOWN = 2_000
STRANGERS = 2_000
# Sightings, within the range, of people whom many know, in rooms that nobody enters.
ELSEWHERE = 5_000
# Of those whom one can know, so many are in one of the rooms of each level.
MET = 1
# The low level of the stream with three windows, whose evaluations are smaller; how much those who
# know that many others like. There are as many things to like as people to know.
LOW = 1
LIKED = {LOW: TOP, TOP: TOP}

_NS = f"<{EXAMPLE}"


@dataclass(frozen=True)
class Phase:
    """Who enters where: rooms of `room_level`, people of `kind` (an index of the world's kinds).

    With `topic_level`, they also ask for offers about topics of that level.
    """

    room_level: int
    kind: int
    topic_level: int | None = None


@dataclass(frozen=True)
class DriftingStream:
    """One stream of the bench: a query, and the phase of every batch.

    `drifting` is False for the stream that stays as it is. `entering` is how many people enter a
    room in each second.
    """

    name: str
    query: str
    relations: int
    windows: int
    phases: tuple[Phase, ...]
    order: tuple[int, ...]
    drifting: bool = True
    entering: int = 4_000

    @property
    def iri(self) -> str:
        """The stream that the query reads."""
        return f"{EXAMPLE}{self.name.replace(' ', '-')}-stream"


_PREFIXES = f"PREFIX : <{EXAMPLE}>\n"
_TWO_WINDOWS = f"""FROM NAMED WINDOW :now ON :STREAM [NOW]
FROM NAMED WINDOW :range ON :STREAM [RANGE PT{RANGE_SECONDS}S]
WHERE {{
  WINDOW :now {{ ?a :enters ?room }}
  WINDOW :range {{ ?b :at ?room }}
  ?a :knows ?b .
  ?a :name ?aName . ?b :name ?bName . ?room :label ?label ."""

TWO_WINDOWS = f"""{_PREFIXES}REGISTER RSTREAM :NAME AS SELECT ?aName ?bName ?label
{_TWO_WINDOWS}
}}"""

TEN_RELATIONS = f"""{_PREFIXES}REGISTER RSTREAM :NAME AS
SELECT ?aName ?bName ?label ?aTeam ?bTeam ?floor ?size
{_TWO_WINDOWS}
  ?a :team ?aTeam . ?b :team ?bTeam . ?room :floor ?floor . ?room :size ?size .
}}"""

THREE_WINDOWS = f"""{_PREFIXES}REGISTER RSTREAM :NAME AS SELECT ?aName ?b ?thing ?label
FROM NAMED WINDOW :now ON :STREAM [NOW]
FROM NAMED WINDOW :range ON :STREAM [RANGE PT{RANGE_SECONDS}S]
FROM NAMED WINDOW :offers ON :STREAM [RANGE PT{RANGE_SECONDS}S]
WHERE {{
  WINDOW :now {{ ?a :enters ?room . ?a :asks ?topic }}
  WINDOW :range {{ ?b :at ?room }}
  WINDOW :offers {{ ?thing :about ?topic }}
  ?a :knows ?b .
  ?a :likes ?thing .
  ?a :name ?aName . ?room :label ?label .
}}"""


def streams(cycles: int = 3) -> tuple[DriftingStream, ...]:
    """The streams of the bench; each goes through its phases so many times.

    >>> [(s.name, s.windows, s.relations, len(s.order)) for s in streams(1)]  # doctest: +ELLIPSIS
    [('figure 3', 2, 6, 8), ('drift', 2, 6, 14), ('oscillate', 2, 10, 8), ...]
    """
    crowded_unknown, quiet_known = Phase(TOP, 0), Phase(0, TOP)
    flip = (crowded_unknown, quiet_known)
    drift = tuple(Phase(TOP - level, level) for level in range(LEVELS))
    there, back = [0] * 3 + list(range(TOP)), [TOP] * 3 + list(range(TOP, 0, -1))
    three = (
        Phase(LOW, TOP, TOP),
        Phase(TOP, LOW, TOP),
        Phase(TOP, TOP, LOW),
        Phase(TOP, LEVELS, TOP),
    )

    def stream(
        name: str,
        query: str,
        relations: int,
        windows: int,
        phases: tuple[Phase, ...],
        order: list[int],
        drifting: bool = True,
        entering: int = 4_000,
    ) -> DriftingStream:
        slug = name.replace(" ", "-")
        text = query.replace(":NAME", f":{slug}").replace(":STREAM", f":{slug}-stream")
        return DriftingStream(
            name, text, relations, windows, phases, tuple(order), drifting, entering
        )

    return (
        stream("figure 3", TWO_WINDOWS, 6, 2, flip, ([0] * 4 + [1] * 4) * cycles),
        stream("drift", TWO_WINDOWS, 6, 2, drift, (there + back) * cycles),
        stream("oscillate", TEN_RELATIONS, 10, 2, flip, ([0] * 2 + [1] * 2) * 2 * cycles),
        stream("alternate", TWO_WINDOWS, 6, 2, flip, [0, 1] * 4 * cycles),
        stream(
            "three windows",
            THREE_WINDOWS,
            8,
            3,
            three,
            [phase for phase in range(len(three)) for _ in range(3)] * cycles,
            entering=2_000,
        ),
        stream("steady", TWO_WINDOWS, 6, 2, flip[1:], [0] * 8 * cycles, False),
    )


@dataclass(frozen=True)
class DriftingWorld:
    """Fan-outs by level, and everything that follows from them and the seed.

    People are of one kind a level (how many they know), and of one more for the third window.
    """

    known: tuple[int, ...]
    crowds: tuple[int, ...]
    seed: int = SEED

    @staticmethod
    def of_size(factor: float = 1.0) -> DriftingWorld:
        """The world whose fan-outs are these, times a factor.

        >>> DriftingWorld.of_size()
        DriftingWorld(known=(120, 213, 379, 675, 1200), crowds=(30, 53, 95, 169, 300), seed=3)
        """

        def levels(least: float) -> tuple[int, ...]:
            step = WIDEST ** (1 / TOP)
            return tuple(max(2, round(least * factor * step**level)) for level in range(LEVELS))

        return DriftingWorld(levels(LEAST_KNOWN), levels(LEAST_CROWD))

    @property
    def kinds(self) -> tuple[tuple[int, int | None], ...]:
        """Levels of how many people of a kind know, and of how much they like (None: nothing)."""
        levels = tuple((level, LIKED.get(level)) for level in range(LEVELS))
        return (*levels, (TOP, LOW))

    def person(self, kind: int, number: int) -> str:
        """The IRI of a person who enters rooms."""
        return f"{_NS}p{kind}-{number}>"

    def room(self, level: int, number: int) -> str:
        """The IRI of a room that people enter."""
        return f"{_NS}room{level}-{number}>"

    def static_lines(self) -> Iterator[str]:
        """The static data as lines of N-Triples."""
        rng = np.random.default_rng(self.seed)
        for kind, (knows, likes) in enumerate(self.kinds):
            for number in range(PEOPLE):
                person = self.person(kind, number)
                yield from _described(person, f"person {kind}-{number}", number)
                for known in rng.choice(KNOWN, min(KNOWN, self.known[knows]), replace=False):
                    yield f"{person} {_NS}knows> {_NS}k{known}> ."
                many = 0 if likes is None else min(KNOWN, self.known[likes])
                for thing in rng.choice(KNOWN, many, replace=False):
                    yield f"{person} {_NS}likes> {_NS}t{thing}> ."
        for letter, count in (("k", KNOWN), ("s", STRANGERS)):
            for number in range(count):
                yield from _described(f"{_NS}{letter}{number}>", f"{letter} {number}", number)
        rooms = [self.room(level, n) for level, count in enumerate(ROOMS) for n in range(count)]
        away = [f"{_NS}away{number}>" for number in range(-(-ELSEWHERE // KNOWN))]
        for number, room in enumerate(rooms + away):
            yield f'{room} {_NS}label> "room {number}" .'
            yield f"{room} {_NS}floor> {_NS}floor{number % 5}> ."
            yield f'{room} {_NS}size> "{number % 7}" .'

    def write(self, path: Path) -> None:
        """Writes the static data as N-Triples."""
        with path.open("w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in self.static_lines())

    def present(self) -> list[str]:
        """What the RANGE windows hold at any time: sightings and offers, each told every range."""
        rng = np.random.default_rng(self.seed + 1)
        at, about = f"{_NS}at>", f"{_NS}about>"
        elsewhere = min(ELSEWHERE, 40 * self.known[0])
        lines = []
        for level, rooms in enumerate(ROOMS):
            for number in range(rooms):
                room, topic = self.room(level, number), f"{_NS}topic{level}-{number}>"
                crowd = min(STRANGERS, self.crowds[level])
                for stranger in rng.choice(STRANGERS, crowd, replace=False):
                    lines.append(f"{_NS}s{stranger}> {at} {room} .")
                    lines.append(f"{_NS}x{stranger}> {about} {topic} .")
                for known in rng.choice(KNOWN, MET if number == 0 else 0, replace=False):
                    lines.append(f"{_NS}k{known}> {at} {room} .")
                    lines.append(f"{_NS}t{known}> {about} {topic} .")
        for number in range(elsewhere):
            lines.append(f"{_NS}k{number % KNOWN}> {at} {_NS}away{number // KNOWN}> .")
            lines.append(f"{_NS}t{number % KNOWN}> {about} {_NS}else{number // KNOWN}> .")
        return [lines[i] for i in rng.permutation(len(lines))]

    def sighted(self, second: int, offers: bool, present: list[str]) -> list[str]:
        """What of `present` is told in this second; `offers` says whether offers are, too."""
        part = present[second % RANGE_SECONDS :: RANGE_SECONDS]
        return part if offers else [line for line in part if "/at>" in line]

    def entering(self, phase: Phase, second: int, count: int) -> list[str]:
        """Who enters which room in this second: different pairs, drawn anew every second."""
        rng = np.random.default_rng((self.seed, second))
        rooms = ROOMS[phase.room_level]
        lines = [
            f"{self.person(phase.kind, n // rooms)} {_NS}enters> {self.room(phase.room_level, n % rooms)} ."
            for n in _drawn(rng, count, PEOPLE * rooms)
        ]
        if phase.topic_level is not None:
            topics = ROOMS[phase.topic_level]
            lines += [
                f"{self.person(phase.kind, n // topics)} {_NS}asks> "
                f"{_NS}topic{phase.topic_level}-{n % topics}> ."
                for n in _drawn(rng, count, PEOPLE * topics)
            ]
        return lines


def _drawn(rng: np.random.Generator, count: int, most: int) -> list[int]:
    drawn: list[int] = rng.choice(most, min(count, most), replace=False).tolist()
    return drawn


def _described(person: str, name: str, number: int) -> Iterator[str]:
    yield f'{person} {_NS}name> "{name}" .'
    yield f"{person} {_NS}team> {_NS}team{number % 50}> ."
