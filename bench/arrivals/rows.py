"""What is in the caller's hand every second, and the texts of the terms that answers are made of.

Every second brings an Arrow table: `person` and `room` (IRIs as N-Triples text, columns of plain strings) and `time`
(milliseconds, 64 bits, the same in all rows of a second). Answers are an Arrow table of strings, N-Triples text too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.data.text_columns import joined, numbers
from bench.data.vocabulary import PERSON, ROOM
from bench.data.world import World
from bench.peers import relational

RANGE_SECONDS = 30
RANGE_MS = RANGE_SECONDS * 1000
# Which windows a query reads: NOW, and RANGE 30 s.
WINDOWS = {"q1": ("w30",), "q2": ("now", "w30"), "q3": ("now", "w30"), "q4": ("now", "w30")}
XSD_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


def write_seconds(world: World, folder: Path, rate: int, seconds: int) -> list[Path]:
    """Files of the sightings of each second, without their times, which depend on when they are told."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for second, table in enumerate(second_tables(world, rate, seconds)):
        paths.append(folder / f"{second}.arrow")
        with pa.ipc.new_file(paths[-1], table.schema) as file:
            file.write_table(table)
    return paths


def second_tables(world: World, rate: int, seconds: int) -> Iterator[pa.Table]:
    """The columns `person` and `room` of each second."""
    sightings = world.sightings(rate, seconds)
    for second in range(seconds):
        start, end = np.searchsorted(sightings.time, [second, second + 1])
        person, room = sightings.person[start:end], sightings.room[start:end]
        yield pa.table(
            {
                "person": joined(f"<{PERSON}", numbers(person), ">"),
                "room": joined(f"<{ROOM}", numbers(room), ">"),
            }
        )


def rows_at(path: str | Path, instant: int) -> pa.Table:
    """The rows of a file in memory, of a second that ends at the instant."""
    with pa.OSFile(str(path)) as file:
        return at_instant(pa.ipc.open_file(file).read_all(), instant)


def at_instant(table: pa.Table, instant: int) -> pa.Table:
    """Sightings with their time."""
    return table.append_column("time", pa.array(np.full(len(table), instant, np.int64)))


def static_tables(world: World) -> dict[str, pa.Table]:
    """The tables of `bench.peers.relational` by name, with an IRI for rooms too, and all texts as N-Triples."""
    tables = relational.static_tables(world)
    people, rooms = tables["people"], tables["rooms"]
    tables["people"] = pa.table(
        {
            "id": people["id"],
            "iri": joined("<", world.person_iris(), ">"),
            "name": joined('"', world.person_names(), '"'),
        }
    )
    tables["rooms"] = pa.table(
        {
            "id": rooms["id"],
            "iri": joined("<", world.room_iris(), ">"),
            "name": joined('"', world.room_names(), '"'),
        }
    )
    return tables


def integer_texts(values: np.ndarray | pa.Array) -> pa.Array:
    """Integers as literals.

    >>> integer_texts(np.array([3])).to_pylist()
    ['"3"^^<http://www.w3.org/2001/XMLSchema#integer>']
    """
    return joined('"', pa.array(values).cast(pa.string()), f'"^^<{XSD_INTEGER}>')
