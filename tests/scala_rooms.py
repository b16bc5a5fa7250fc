"""The rooms of the JVM extension: a folder and a Scala package each, in an order in which imports go down only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOMS = (
    "spark",
    "memory",
    "runs",
    "rdf",
    "unpacking",
    "terms",
    "dictionary",
    "loading",
    "ingest",
    "journal",
    "recordings",
    "columns",
    "documents",
    "functions",
    "distributions",
    "calls",
    "relations",
    "indexes",
    "streams",
    "mapped",
    "events",
    "rows",
    "leaves",
    "join",
    "clusters",
    "execution",
    "answers",
    "kept",
    "written",
    "sql",
    "queries",
)
"""Lowest first: a room may use those before it, and none after it."""

BASE = "org.apache.spark.sql.cqels"
DOOR = "package.scala"
MOST_LINES = 400
MOST_FILES = 15

ELSEWHERE = {
    # Users name it in Spark's configuration.
    "CqelsExtensions.scala": BASE,
    # It extends what Spark shows to that package only.
    "spark/HashLookUps.scala": "org.apache.spark.sql.execution.joins",
}
"""Files whose package is not that of their folder."""

LONGER: dict[str, int] = {}
"""Files above `MOST_LINES`, and how many lines these may have."""

VERSIONED = "spark"
"""The only room in which files may differ between versions of Spark, in folders such as `since_4_2`."""

OLDEST = "since_4_1"
"""The folder for the oldest Spark; what has a newer form must have one there."""

_VERSION = re.compile(r"(?<=/)(since_\d+_\d+)/(?=[^/]+\Z)")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_PACKAGE = re.compile(r"^package (?!object\b)([\w.]+)", re.MULTILINE)
_DEFINED = re.compile(
    r"^(?:(?:private|protected)(?:\[\w+\])? |final |sealed |abstract |case |implicit )*"
    r"(?:class|object|trait|type) (\w+)",
    re.MULTILINE,
)
_REACHED = re.compile(rf"\b{re.escape(BASE)}\.(\w+|\{{|_)")


@dataclass(frozen=True)
class Source:
    """One Scala file: `name` is its path below the folder of all rooms, with slashes."""

    name: str
    text: str

    @property
    def room(self) -> str:
        """The folder it lies in, that of a version left out; empty for the folder of all rooms."""
        return _VERSION.sub("", self.name).rpartition("/")[0]

    @property
    def since(self) -> str:
        """The folder of a version of Spark that it lies in, empty for all versions."""
        found = _VERSION.search(self.name)
        return found[1] if found else ""

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return len(self.text.splitlines())

    @cached_property
    def code(self) -> str:
        """Its text without comments, each of which leaves its line breaks."""
        return _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), self.text)

    @property
    def package(self) -> str:
        """The package of its package clauses, which may be several."""
        return ".".join(_PACKAGE.findall(self.code))

    @property
    def defined(self) -> set[str]:
        """The names of its classes, objects, traits and types at the top."""
        return set(_DEFINED.findall(self.code))


def read(folder: Path) -> list[Source]:
    """The Scala files below `folder`, by name."""
    paths = sorted(folder.rglob("*.scala"))
    return [Source(p.relative_to(folder).as_posix(), p.read_text(encoding="utf-8")) for p in paths]


def problems(sources: list[Source], rooms: tuple[str, ...] = ROOMS) -> list[str]:
    """What does not keep the order of `rooms`, lowest first, or is too large; a line each."""
    order = {room: place for place, room in enumerate(rooms)}
    found = [f"{s.name}: no such room" for s in sources if s.room and s.room not in order]
    known = [s for s in sources if not s.room or s.room in order]
    for source in known:
        found += _of_one(source, order, known)
    for room in rooms:
        inside = [s for s in known if s.room == room]
        names = {s.name.rpartition("/")[2] for s in inside}
        found += _of_versions(room, inside)
        door = next((s for s in known if s.name == f"{room}/{DOOR}"), None)
        if door is None or not re.search(rf"\*/\s*package object {room}\s*$", door.text):
            found.append(f"{room}/{DOOR}: does not say what the room is")
        if len(names - {DOOR}) > MOST_FILES:
            found.append(f"{room}: {len(names) - 1} files")
    return found


def _of_versions(room: str, inside: list[Source]) -> list[str]:
    """What is wrong with a room's files for some versions of Spark."""
    forms: dict[str, dict[str, Source]] = {}
    for source in inside:
        forms.setdefault(source.name.rpartition("/")[2], {})[source.since] = source
    found = []
    for name, by_version in forms.items():
        if set(by_version) == {""}:
            continue
        if room != VERSIONED:
            found.append(f"{room}/{name}: differs between versions of Spark")
        if "" in by_version or OLDEST not in by_version or len(by_version) == 1:
            found.append(f"{room}/{name}: is in {', '.join(sorted(by_version))}")
        if len({frozenset(source.defined) for source in by_version.values()}) > 1:
            found.append(f"{room}/{name}: defines other names in other versions")
    return found


def _of_one(source: Source, order: dict[str, int], all_sources: list[Source]) -> list[str]:
    found = []
    inside = BASE if source.name.endswith(f"/{DOOR}") else f"{BASE}.{source.room}".rstrip(".")
    package = ELSEWHERE.get(source.name, inside)
    if source.package != package:
        found.append(f"{source.name}: package {source.package}, not {package}")
    if source.lines > LONGER.get(source.name, MOST_LINES):
        found.append(f"{source.name}: {source.lines} lines")
    place = order.get(source.room, len(order))
    body = re.sub(r"^package .*$", "", source.code, flags=re.MULTILINE)
    for number, line in enumerate(body.splitlines(), start=1):
        for room in _rooms_in(line, all_sources):
            if room not in order:
                found.append(f"{source.name}:{number}: names no room: {line.strip()}")
            elif order[room] > place:
                found.append(
                    f"{source.name}:{number}: {source.room} uses {room}, which is above it"
                )
    return found


def _rooms_in(line: str, sources: list[Source]) -> set[str]:
    """The rooms that a line of code names, by their whole name or, what the package clauses allow, by the last part."""
    named = {room for room in _REACHED.findall(line) if room != "CqelsExtensions"}
    for room, member in re.findall(r"(?<![\w.])([a-z]\w*)\.([A-Z]\w*)", line):
        named |= {s.room for s in sources if s.room == room and member in s.defined}
    return named
