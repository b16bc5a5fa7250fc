"""Writes a world as RDF files, its text built column by column instead of line by line."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa

from bench.data import vocabulary
from bench.data.sightings import Sightings
from bench.data.text_columns import content, numbers
from bench.data.world import World

QUERIES = Path(__file__).resolve().parent.parent / "queries"
START = datetime(2026, 1, 31, 10, 0, 0, tzinfo=UTC)
CHUNK = 500_000


def part_count(scale: float) -> int:
    """Parts of the static data: four for each unit of scale, at least two."""
    return max(2, round(4 * scale))


def timestamp(second: int) -> str:
    """The xsd:dateTime text of a second of the stream.

    >>> timestamp(61)
    '2026-01-31T10:01:01Z'
    """
    return (START + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _slice(size: int, part: int, parts: int) -> range:
    return range(size * part // parts, size * (part + 1) // parts)


def _chunks(rows: range) -> Iterator[slice]:
    for start in range(rows.start, rows.stop, CHUNK):
        yield slice(start, min(start + CHUNK, rows.stop))


def _write_triples(out: IO[bytes] | gzip.GzipFile, world: World, part: int, parts: int) -> None:
    paper, person = f"<{vocabulary.PAPER}", f"<{vocabulary.PERSON}"
    for rows in _chunks(_slice(world.people, part, parts)):
        ids = np.arange(rows.start, rows.stop)
        names = vocabulary.person_names(ids)
        out.write(content(person, numbers(ids), f'> <{vocabulary.NAME}> "', names, '" .\n'))
    for rows in _chunks(_slice(len(world.creator_paper), part, parts)):
        subject, obj = world.creator_paper[rows], world.creator_person[rows]
        predicate = f"> <{vocabulary.CREATOR}> {person}"
        out.write(content(paper, numbers(subject), predicate, numbers(obj), "> .\n"))
    for rows in _chunks(_slice(len(world.reference_paper), part, parts)):
        subject, obj = world.reference_paper[rows], world.reference_cited[rows]
        predicate = f"> <{vocabulary.REFERENCES}> {paper}"
        out.write(content(paper, numbers(subject), predicate, numbers(obj), "> .\n"))


def write_static(world: World, folder: Path) -> list[Path]:
    """Writes the triples to dblp-0.nt.gz, dblp-1.nt.gz, ... and returns their paths."""
    parts = part_count(world.scale)
    paths = [folder / f"dblp-{part}.nt.gz" for part in range(parts)]

    def write(part: int) -> None:
        # Without a time in its header, the same world gives the same bytes.
        with (
            paths[part].open("wb") as raw,
            gzip.GzipFile("", "wb", compresslevel=1, fileobj=raw, mtime=0) as out,
        ):
            _write_triples(out, world, part, parts)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, range(parts)))
    return paths


def write_localization(world: World, path: Path) -> None:
    """Writes the graph of room names as Turtle."""
    lines = [f"@prefix loc: <{vocabulary.LOC}> .", ""]
    for iri, name in zip(world.room_iris(), world.room_names(), strict=True):
        lines.append(f'<{iri}> loc:name "{name}" .')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_sightings(sightings: Sightings, path: Path) -> None:
    """Writes the stream as N-Quads: a named graph an element, its time in the default graph."""
    stamps = pa.array([timestamp(second) for second in range(sightings.seconds)])
    with path.open("wb") as out:
        for rows in _chunks(range(len(sightings))):
            graph = vocabulary.iris(vocabulary.SIGHTING, np.arange(rows.start, rows.stop))
            out.write(
                content(
                    f"<{vocabulary.PERSON}",
                    numbers(sightings.person[rows]),
                    f"> <{vocabulary.LOC}at> <{vocabulary.ROOM}",
                    numbers(sightings.room[rows]),
                    "> <",
                    graph,
                    "> .\n<",
                    graph,
                    f'> <{vocabulary.GENERATED_AT_TIME}> "',
                    stamps.take(pa.array(sightings.time[rows])),
                    f'"^^<{vocabulary.DATE_TIME}> .\n',
                )
            )


def write_world(world: World, folder: Path, rate: int, seconds: int) -> dict[str, object]:
    """Writes all files of a world into `folder` and returns what its manifest.json says."""
    folder.mkdir(parents=True, exist_ok=True)
    static = write_static(world, folder)
    write_localization(world, folder / "localization.ttl")
    sightings = world.sightings(rate, seconds)
    write_sightings(sightings, folder / "sightings.nq")
    (folder / "queries").mkdir(exist_ok=True)
    for query in sorted(QUERIES.glob("*.rspql")):
        shutil.copyfile(query, folder / "queries" / query.name)
    manifest: dict[str, object] = {
        "kind": "dblp",
        "parameters": {
            "scale": world.scale,
            "seed": world.seed,
            "rate": rate,
            "seconds": seconds,
        },
        "counts": {
            "people": world.people,
            "papers": world.papers,
            "creators": len(world.creator_paper),
            "references": len(world.reference_paper),
            "names": world.people,
            "rooms": world.rooms,
            "badge_holders": len(world.holders),
            "sightings": len(sightings),
        },
        "stream": {
            "iri": vocabulary.STREAM,
            "first": timestamp(0),
            "last": timestamp(seconds - 1),
        },
        "static_files": [path.name for path in static],
        "graphs": {vocabulary.LOCALIZATION_GRAPH: "localization.ttl"},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return manifest
