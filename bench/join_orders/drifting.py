"""Streams whose selectivities drift, flip and oscillate, and the static data that they are joined with.

People enter rooms (window NOW), others have been sighted in rooms (RANGE), a few people know many
of the others and some know few, and rooms are crowded or quiet. Whether it is better to look first
at who is in the room or at whom one knows depends on who enters where: Figure 3 of the CQELS report
(2010), scaled up. Both fan-outs have four levels, from 0, the smallest, to ten times that.

Those sighted in the rooms that people enter are mostly strangers; whom one knows is mostly sighted
elsewhere, in rooms that nobody enters. But everybody has one friend, and each room has the friend
of a few. So answers are few, and what counts is the way to them: beginning with all that sighted
people are known by is dear at all times, and of the two other ways, one after the other is.

The drift goes from crowded rooms and people who know few to quiet rooms and people who know many:
the crowd thins out before those arrive, and half of the time is spent at the two ends. With three
windows people also ask about topics, things are offered about topics, and people like many things
or few: the same triangle twice. In each of the four phases another one of the fan-outs is small,
and the three others large. In the mixed stream both kinds of people enter rooms of both levels in
every second, so that each row wants another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

EXAMPLE = "http://example.org/"
LEVELS = 4
TOP = LEVELS - 1
RANGE_SECONDS = 30
SEED = 3

# How many others are known at level 0, and sighted in a room; at the top level, times the widest.
LEAST_KNOWN = 800
LEAST_CROWD = 600
WIDEST = 10.0

# People of one kind (who enter rooms), rooms of a level, those whom one can know, and sight there.
PEOPLE = 400
ROOMS = 22
KNOWN = 9_000
STRANGERS = 12_000
# Sightings, within the range, of people whom many know, in rooms that nobody enters.
ELSEWHERE = 40_000
# Everybody knows one of so many friends, and likes one of so many favourite things; there is one
# in each room, and one offered about each topic.
FRIENDS = 60
# People by kind: levels of how many they know, and of how much they like (None: nothing). There
# are as many things to like as people to know. The kind of a level's number knows as many.
KINDS: tuple[tuple[int, int | None], ...] = ((0, TOP), (1, None), (2, None), (TOP, TOP), (TOP, 0))
KNOWS_FEW, KNOWS_MANY, LIKES_FEW = 0, TOP, TOP + 1

_NS = f"<{EXAMPLE}"


@dataclass(frozen=True)
class Phase:
    """Who enters where: rooms of `room_level`, people of `kind` (an index of `KINDS`).

    With `topic_level`, they also ask for offers about topics of that level. As many enter as each of
    the phases `beside` has, too.
    """

    room_level: int
    kind: int
    topic_level: int | None = None
    beside: tuple[Phase, ...] = ()


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
    entering: int = 8_000

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
    [('figure 3', 2, 6, 6), ('drift', 2, 6, 12), ('oscillate', 2, 10, 8), ...]
    """
    crowded_unknown, quiet_known = Phase(TOP, KNOWS_FEW), Phase(0, KNOWS_MANY)
    flip = (crowded_unknown, quiet_known)
    both = Phase(TOP, KNOWS_FEW, None, (Phase(0, KNOWS_FEW), Phase(TOP, KNOWS_MANY), quiet_known))
    drift = (crowded_unknown, Phase(TOP - 1, 0), Phase(1, 1), Phase(0, TOP - 1), quiet_known)
    there, back = [0] * 3 + [1, 2, 3], [4] * 3 + [3, 2, 1]
    three = (
        Phase(0, KNOWS_MANY, TOP),
        Phase(TOP, KNOWS_FEW, TOP),
        Phase(TOP, KNOWS_MANY, 0),
        Phase(TOP, LIKES_FEW, TOP),
    )

    def stream(
        name: str,
        query: str,
        relations: int,
        windows: int,
        phases: tuple[Phase, ...],
        order: list[int],
        drifting: bool = True,
        entering: int = 8_000,
    ) -> DriftingStream:
        slug = name.replace(" ", "-")
        text = query.replace(":NAME", f":{slug}").replace(":STREAM", f":{slug}-stream")
        return DriftingStream(
            name, text, relations, windows, phases, tuple(order), drifting, entering
        )

    return (
        stream("figure 3", TWO_WINDOWS, 6, 2, flip, ([0] * 3 + [1] * 3) * cycles),
        stream("drift", TWO_WINDOWS, 6, 2, drift, (there + back) * cycles),
        stream("oscillate", TEN_RELATIONS, 10, 2, flip, ([0] * 2 + [1] * 2) * 2 * cycles),
        stream("alternate", TWO_WINDOWS, 6, 2, flip, [0, 1] * 4 * cycles),
        stream(
            "three windows",
            THREE_WINDOWS,
            8,
            3,
            three,
            [phase for phase in range(len(three)) for _ in range(2)] * cycles,
            entering=4_000,
        ),
        stream("steady", TWO_WINDOWS, 6, 2, flip[1:], [0] * 8 * cycles, False),
        stream("mixed", TWO_WINDOWS, 6, 2, (both,), [0] * 8 * cycles, False),
    )


@dataclass(frozen=True)
class DriftingWorld:
    """Fan-outs by level, people of a kind, and everything that follows from them and the seed."""

    known: tuple[int, ...]
    crowds: tuple[int, ...]
    people: int = PEOPLE
    elsewhere: int = ELSEWHERE
    seed: int = SEED

    @staticmethod
    def of_size(factor: float = 1.0) -> DriftingWorld:
        """The world whose fan-outs are these, times a factor; one much smaller has fewer people and sightings, too.

        >>> DriftingWorld.of_size(1.0).known, DriftingWorld.of_size(1.0).crowds
        ((800, 1724, 3713, 8000), (600, 1293, 2785, 6000))
        """

        def levels(least: float) -> tuple[int, ...]:
            step = WIDEST ** (1 / TOP)
            return tuple(max(2, round(least * factor * step**level)) for level in range(LEVELS))

        people = round(PEOPLE * min(1.0, 2 * factor))
        elsewhere = round(ELSEWHERE * min(1.0, 10 * factor))
        return DriftingWorld(levels(LEAST_KNOWN), levels(LEAST_CROWD), max(10, people), elsewhere)

    def person(self, kind: int, number: int) -> str:
        """The IRI of a person who enters rooms."""
        return f"{_NS}p{kind}-{number}>"

    def room(self, level: int, number: int) -> str:
        """The IRI of a room that people enter."""
        return f"{_NS}room{level}-{number}>"

    def static_lines(self) -> Iterator[str]:
        """The static data as lines of N-Triples."""
        rng = np.random.default_rng(self.seed)
        for kind, (knows, likes) in enumerate(KINDS):
            for number in range(self.people):
                person = self.person(kind, number)
                yield from _described(person, f"person {kind}-{number}", number)
                yield f"{person} {_NS}knows> {_NS}m{number % FRIENDS}> ."
                for known in rng.choice(KNOWN, min(KNOWN, self.known[knows]), replace=False):
                    yield f"{person} {_NS}knows> {_NS}k{known}> ."
                if likes is not None:
                    yield f"{person} {_NS}likes> {_NS}n{(7 * number + 3) % FRIENDS}> ."
                    for thing in rng.choice(KNOWN, min(KNOWN, self.known[likes]), replace=False):
                        yield f"{person} {_NS}likes> {_NS}t{thing}> ."
        for letter, count in (("k", KNOWN), ("m", FRIENDS), ("s", STRANGERS)):
            for number in range(count):
                yield from _described(f"{_NS}{letter}{number}>", f"{letter} {number}", number)
        rooms = [self.room(level, number) for level in range(LEVELS) for number in range(ROOMS)]
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
        lines = []
        for level, number in product(range(LEVELS), range(ROOMS)):
            room, topic = self.room(level, number), f"{_NS}topic{level}-{number}>"
            crowd = min(STRANGERS, self.crowds[level])
            for stranger in rng.choice(STRANGERS, crowd, replace=False):
                lines.append(f"{_NS}s{stranger}> {at} {room} .")
                lines.append(f"{_NS}x{stranger}> {about} {topic} .")
            friend = (level * ROOMS + number) % FRIENDS
            lines.append(f"{_NS}m{friend}> {at} {room} .")
            lines.append(f"{_NS}n{friend}> {about} {topic} .")
        for number in range(self.elsewhere):
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
        kinds = (phase, *phase.beside)
        lines = [
            f"{self.person(one.kind, n // ROOMS)} {_NS}enters> "
            f"{self.room(one.room_level, n % ROOMS)} ."
            for one in kinds
            for n in _drawn(rng, count // len(kinds), self.people * ROOMS)
        ]
        if phase.topic_level is not None:
            lines += [
                f"{self.person(phase.kind, n // ROOMS)} {_NS}asks> "
                f"{_NS}topic{phase.topic_level}-{n % ROOMS}> ."
                for n in _drawn(rng, count, self.people * ROOMS)
            ]
        return lines


def _drawn(rng: np.random.Generator, count: int, most: int) -> list[int]:
    drawn: list[int] = rng.choice(most, min(count, most), replace=False).tolist()
    return drawn


def _described(person: str, name: str, number: int) -> Iterator[str]:
    yield f'{person} {_NS}name> "{name}" .'
    yield f"{person} {_NS}team> {_NS}team{number % 50}> ."
