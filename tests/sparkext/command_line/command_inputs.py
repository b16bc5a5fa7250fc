"""A small world as files, and `cqels` run in the test's own process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from sparkext.cli import main

STREAM = "http://deri.org/locstreams"
ROOMS = "http://deri.org/localization/"

PREFIXES = """\
PREFIX foaf: <http://xmlns.com/foaf/0.1/>
PREFIX loc: <http://deri.org/localization/schema#>
PREFIX : <http://example.org/>
"""
QUERY = f"""{PREFIXES}
REGISTER RSTREAM :q1 AS SELECT ?name ?locName
FROM NAMED WINDOW :w30 ON <{STREAM}> [RANGE PT30S]
WHERE {{
  WINDOW :w30 {{ ?person loc:at ?loc }}
  GRAPH <{ROOMS}> {{ ?loc loc:name ?locName }}
  ?person foaf:name ?name
}}
"""
PEOPLE = """\
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix : <http://example.org/> .
:ann foaf:name "Ann \\"A\\" Ä" . :bob foaf:name "Bob\\nB"@en-GB . :cat foaf:name "Cat" .
"""
ROOM_NAMES = """\
@prefix loc: <http://deri.org/localization/schema#> .
@prefix : <http://example.org/> .
:r1 loc:name "Room 1" . :r2 loc:name "Room 2" .
"""
SIGHTINGS = """\
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix loc: <http://deri.org/localization/schema#> .
@prefix : <http://example.org/> .
:g1 prov:generatedAtTime "2026-01-31T10:00:00Z"^^xsd:dateTime . :g1 { :ann loc:at :r1 }
:g3 prov:generatedAtTime "2026-01-31T10:01:10Z"^^xsd:dateTime . :g3 { :cat loc:at :r9 }
:g2 prov:generatedAtTime "2026-01-31T10:00:10Z"^^xsd:dateTime .
:g2 { :bob loc:at :r2 . :cat loc:at :r1 . << :bob loc:at :r2 >> :certainty 0.9 }
"""


@dataclass(frozen=True)
class World:
    """Files of a test, written on request into its own folder."""

    folder: Path

    def write(self, name: str, content: str | bytes) -> str:
        """Write a file and give back its path."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def run_arguments(self, query: str = QUERY, stream: str = "sightings.trig") -> list[str]:
        """The arguments of a run over all files."""
        return [
            "run",
            self.write("query.rspql", query),
            *("--static", self.path("people.ttl")),
            *("--static-graph", f"{ROOMS}={self.path('rooms.ttl')}"),
            *("--stream", f"{STREAM}={self.path(stream)}"),
        ]


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@dataclass(frozen=True)
class Command:
    """`cqels`, called in this process."""

    capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> Outcome:
        self.capture.readouterr()
        status = main(arguments)
        out, err = self.capture.readouterr()
        return Outcome(status, out, err)


def small_world(folder: Path) -> World:
    """The files people.ttl, rooms.ttl and sightings.trig in a folder."""
    world = World(folder)
    world.write("people.ttl", PEOPLE)
    world.write("rooms.ttl", ROOM_NAMES)
    world.write("sightings.trig", SIGHTINGS)
    return world
