"""Test worlds made by a seeded generator: `python -m bench.data dblp --help`."""

from bench.data.sightings import Sightings
from bench.data.world import World, generate_world

__all__ = ["Sightings", "World", "generate_world"]
