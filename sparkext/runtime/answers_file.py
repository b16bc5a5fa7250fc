"""Answers as the JVM leaves them: an Arrow file, mapped into this process and removed at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa


def take(path: str, names: Sequence[str]) -> pa.Table:
    """The table in an answers file, columns of N-Triples texts (null: unbound); the file is gone afterwards.

    An empty `path` stands for no answers. The mapping outlives the file's name, so nothing is copied.
    """
    if not path:
        return pa.table({name: pa.array([], pa.string()) for name in names})
    try:
        with pa.memory_map(path) as mapped, pa.ipc.open_stream(mapped) as reader:
            return reader.read_all()
    finally:
        Path(path).unlink()
