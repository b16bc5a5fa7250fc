"""Replay as a way in: a recorded N-Quads file through the replay of `cqels run`, reading it included."""

from __future__ import annotations

from pathlib import Path

from bench.ways_in.engine import ReadingsEngine
from bench.ways_in.readings import STREAM, Readings
from sparkext.command_line.replay import replay
from sparkext.recorded_streams import read_recorded_stream

NAME = "replay"


def record(windows: list[Readings], path: Path) -> None:
    """Write readings as a recorded stream."""
    path.unlink(missing_ok=True)
    number = 0
    for readings in windows:
        readings.append_quads(path, number)
        number += len(readings)


def replay_file(engine: ReadingsEngine, path: Path) -> None:
    """Read a recorded stream and push it; the engine's streams have ended then."""
    replay(engine.engine, {STREAM: read_recorded_stream([path])})
