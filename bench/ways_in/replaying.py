"""Replay as a way in: a recorded N-Quads file through the replay of `cqels run`, reading it included."""

from __future__ import annotations

from pathlib import Path

from bench.ways_in.engine import ReadingsEngine
from bench.ways_in.readings import STREAM, Readings
from sparkext.command_line.replay import replay
from sparkext.recorded_streams.recording_files import RecordingFile
from sparkext.runtime.streams.replay import ReplayOptions

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
    recording = RecordingFile(str(path), path)
    replay(engine.engine, {STREAM: [recording]}, ReplayOptions(), show=False)
