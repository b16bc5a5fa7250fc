"""The files of a world of so many triples, and the little of it that badge sightings can reach."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.arrivals.rows import write_seconds
from bench.data import vocabulary
from bench.data.rdf_files import write_localization, write_static
from bench.data.world import World, generate_world
from bench.large_static.resident import Resident

TRIPLES_A_SCALE = 2_500_000
"""A world of scale 1 has so many triples, within a thousandth."""

LEAST_TRIPLES = 500
"""Of 40 people, without whom there is no world."""

_MADE = "made.json"


@dataclass(frozen=True, kw_only=True)
class HoldersWorld(World):
    """People are the badge holders alone, papers theirs, citations those among them, all numbered anew.

    `number` is what each person's IRI and name are made of. Sightings are to be taken from the whole world.
    """

    number: np.ndarray

    def person_iris(self) -> pa.Array:
        """IRIs of the badge holders, as they are in the whole world."""
        return vocabulary.iris(vocabulary.PERSON, self.number)

    def person_names(self) -> pa.Array:
        """Names of the badge holders, as they are in the whole world."""
        return vocabulary.person_names(self.number)


@dataclass(frozen=True)
class Made:
    """What was made: `generate_s` is None where the files were there already.

    `seconds` are files of sightings, `text_bytes` what the packed files of triples take.
    """

    scale: float
    triples: int
    generate_s: float | None
    peak_mib: float
    holders: HoldersWorld
    static_files: list[Path]
    localization: Path
    seconds: list[Path]
    text_bytes: int


def make(folder: Path, triples: int, seed: int, rate: int, seconds: int) -> Made:
    """The files of a world of about so many triples in a folder, taken from there if they were made before."""
    folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    world = generate_world(triples / TRIPLES_A_SCALE, seed)
    localization = folder / "localization.ttl"
    wanted = {"scale": world.scale, "seed": seed}
    stamp = folder / _MADE
    stands = stamp.exists() and json.loads(stamp.read_text(encoding="utf-8")) == wanted
    if stands:
        files, generate_s = sorted(folder.glob("dblp-*.nt.gz")), None
    else:
        files = write_static(world, folder)
        write_localization(world, localization)
        stamp.write_text(json.dumps(wanted), encoding="utf-8")
        generate_s = time.perf_counter() - started
    return Made(
        scale=world.scale,
        triples=world.people + len(world.creator_paper) + len(world.reference_paper) + world.rooms,
        generate_s=generate_s,
        peak_mib=Resident.of().peak_mib,
        holders=among_holders(world),
        static_files=files,
        localization=localization,
        seconds=write_seconds(world, folder / f"rows-{rate}", rate, seconds),
        text_bytes=sum(path.stat().st_size for path in files),
    )


def among_holders(world: World) -> HoldersWorld:
    """The part of a world on which the answers of Q1-Q4 over badge sightings rest."""
    number = np.full(world.people, -1, np.int32)
    number[world.holders] = np.arange(len(world.holders))
    written = number[world.creator_person] >= 0
    creator_paper = world.creator_paper[written]
    papers = np.unique(creator_paper)
    theirs = np.zeros(world.papers, dtype=bool)
    theirs[papers] = True
    cites = theirs[world.reference_paper] & theirs[world.reference_cited]

    def renumbered(paper: np.ndarray) -> np.ndarray:
        return np.searchsorted(papers, paper).astype(np.int32)

    return HoldersWorld(
        scale=world.scale,
        seed=world.seed,
        people=len(world.holders),
        papers=len(papers),
        creator_paper=renumbered(creator_paper),
        creator_person=number[world.creator_person[written]],
        reference_paper=renumbered(world.reference_paper[cites]),
        reference_cited=renumbered(world.reference_cited[cites]),
        holders=np.arange(len(world.holders), dtype=np.int32),
        holder_group=world.holder_group,
        rooms=world.rooms,
        number=world.holders,
    )
