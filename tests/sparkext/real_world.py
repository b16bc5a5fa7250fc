"""Badge contacts of an exhibition and the communities of DBLP, made into sightings and papers.

Rules: people who are in contact at a step, directly or through others, are in one room, which is named after the
smallest badge number among them; everybody in it is sighted there. The i-th badge to appear is the i-th author to
appear. Each line of the communities is a paper, and its members who wear a badge are the creators. Paper k cites papers
k + 1, k + 3 and 2 k, by the number of the line.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tests.oracle.recorded import Element

PERSON, PAPER, ROOM = (
    "http://real.example/person/",
    "http://real.example/paper/",
    "http://real.example/room/",
)
LOC = "http://deri.org/localization/schema#"
FIRST, LAST = 1_247_662_500, 1_247_663_000
"""The stretch of the day that is streamed, in seconds since the epoch: a busy one."""


class RealWorld:
    """The contacts and communities below a folder of shared data, by the rules above."""

    def __init__(self, data: Path) -> None:
        contacts = data / "rfid" / "listcontacts_2009_07_15.txt"
        lines = [line.split() for line in contacts.read_text().splitlines()]
        self.contacts = [(int(t), int(a), int(b)) for t, a, b in lines]
        communities = data / "dblp" / "com-dblp.top5000.cmty.txt"
        self.papers = [[int(a) for a in line.split()] for line in communities.open()]
        badges = dict.fromkeys(badge for _, *pair in self.contacts for badge in pair)
        authors = dict.fromkeys(author for members in self.papers for author in members)
        self.author_of = dict(zip(badges, authors, strict=False))
        self.rooms: set[int] = set()
        self.sightings = self._sightings()

    def _sightings(self) -> list[Element]:
        by_step: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for t, a, b in self.contacts:
            if FIRST <= t <= LAST:
                by_step[t].append((a, b))
        elements = []
        for t, pairs in sorted(by_step.items()):
            for badge, room in sorted(_rooms(pairs).items()):
                self.rooms.add(room)
                triple = f"<{PERSON}{self.author_of[badge]}> <{LOC}at> <{ROOM}{room}> ."
                elements.append(Element(t * 1000, (triple,)))
        return elements

    def default_graph(self) -> str:
        """Creators, references and names around those papers that a badge holder wrote."""
        holders = set(self.author_of.values())
        lines, people = [], set()
        for number, everybody in enumerate(self.papers, 1):
            members = [a for a in everybody if a in holders]
            if not members:
                continue
            people.update(members)
            paper = f"<{PAPER}{number}>"
            lines += [
                f"{paper} <http://purl.org/dc/elements/1.1/creator> <{PERSON}{a}> ."
                for a in members
            ]
            lines += [
                f"{paper} <http://purl.org/dc/terms/references> <{PAPER}{cited}> ."
                for cited in sorted({number + 1, number + 3, 2 * number})
            ]
        name = "<http://xmlns.com/foaf/0.1/name>"
        lines += [f'<{PERSON}{a}> {name} "Author {a}" .' for a in sorted(people)]
        return "\n".join(lines)

    def localization(self) -> str:
        """Names of the rooms."""
        return "\n".join(f'<{ROOM}{r}> <{LOC}name> "Room {r}" .' for r in sorted(self.rooms))


def _rooms(pairs: list[tuple[int, int]]) -> dict[int, int]:
    """The smallest badge of each one's connected component.

    >>> _rooms([(5, 3), (8, 9), (3, 1)])
    {5: 1, 3: 1, 8: 8, 9: 8, 1: 1}
    """
    room = {badge: badge for pair in pairs for badge in pair}
    changed = True
    while changed:
        changed = False
        for a, b in pairs:
            least = min(room[a], room[b])
            changed |= room[a] != least or room[b] != least
            room[a] = room[b] = least
    return room
