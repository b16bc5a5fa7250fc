"""A world's files in a folder that is thrown away, or kept and used again."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.data.rdf_files import write_world
from bench.data.world import World, generate_world
from bench.report import progress


@contextmanager
def world_folder(kept: Path | None) -> Iterator[Path]:
    """The folder given, made where it is missing; a temporary one for None."""
    if kept:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
    else:
        with tempfile.TemporaryDirectory(prefix="bench-world-") as temporary:
            yield Path(temporary)


def prepare_world(folder: Path, scale: float, seed: int) -> World:
    """The world, its RDF files and world.npz; taken from `folder` if the same world is there."""
    stored, manifest = folder / "world.npz", folder / "manifest.json"
    if stored.exists() and manifest.exists():
        parameters = json.loads(manifest.read_text(encoding="utf-8"))["parameters"]
        if (parameters["scale"], parameters["seed"]) == (scale, seed):
            return World.load(stored)
    progress(f"making the world of scale {scale:g}")
    world = generate_world(scale, seed)
    write_world(world, folder, rate=1000, seconds=1)
    world.save(stored)
    return world
