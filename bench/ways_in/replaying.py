"""Replay as a way in: a recorded N-Quads file through the replay of `cqels run`, reading it included."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.ways_in.engine import ReadingsEngine
from bench.ways_in.readings import STREAM, Readings
from sparkext.command_line.replay import replay
from sparkext.recorded_streams import read_recorded_stream

NAME = "replay"
# Where files are streamed, they are made ready here.
_STREAMED = "sparkext.recorded_streams.recording_files"


def record(windows: list[Readings], path: Path) -> None:
    """Write readings as a recorded stream."""
    path.unlink(missing_ok=True)
    number = 0
    for readings in windows:
        readings.append_quads(path, number)
        number += len(readings)


def replay_file(engine: ReadingsEngine, path: Path) -> None:
    """Read a recorded stream and push it; the engine's streams have ended then."""
    run: Any = replay
    if find_spec(_STREAMED) is None:  # files are read whole
        run(engine.engine, {STREAM: read_recorded_stream([path])})
    else:
        file = import_module(_STREAMED).RecordingFile(str(path), path)
        options = import_module("sparkext.runtime.streams.replay").ReplayOptions()
        run(engine.engine, {STREAM: [file]}, options, show=False)
