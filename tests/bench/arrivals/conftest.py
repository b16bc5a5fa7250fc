"""The world of the tests of the arrival bench."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.data import World, generate_world
from bench.data.rdf_files import write_world


@pytest.fixture(scope="module")
def world() -> World:
    return generate_world(0.003)


@pytest.fixture(scope="module")
def folder(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("world")
    write_world(world, target, rate=10, seconds=1)
    world.save(target / "world.npz")
    return target
