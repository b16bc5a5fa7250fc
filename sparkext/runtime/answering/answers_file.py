"""Answers as the JVM leaves them: a file of string columns, read or mapped into this process and removed at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

_MOST_READ = 1 << 16  # bytes: to read them takes no longer than to map them


def drop(outcome: Mapping[str, Any]) -> None:
    """Delete the files of an evaluation whose answers nobody wants."""
    for name in (outcome["path"], outcome.get("instances")):
        if name:
            Path(name).unlink()


def take(outcome: Mapping[str, Any], names: Sequence[str]) -> pa.Table:
    """The table of an evaluation, columns of N-Triples texts (null: unbound); its file is gone afterwards.

    `outcome` is what ContinuousQuery.evaluate reports. The mapping of a large file outlives its name, and the table
    points into it: nothing is copied. A small one is read: thousands of tables may be kept, and a process may have some
    65,000 mappings.
    """
    path, rows = outcome["path"], outcome["answers"]
    if not names:
        if path:
            Path(path).unlink()
        return empty_mappings(rows)
    if not path:
        return pa.table({name: pa.array([], pa.string()) for name in names})
    try:
        size = max(text + length for *_, text, length in outcome["columns"])
        with (pa.OSFile if size <= _MOST_READ else pa.memory_map)(path) as file:
            content = file.read_buffer()
    finally:
        Path(path).unlink()
    columns = []
    for nulls, validity, offsets, text, length in outcome["columns"]:
        buffers = [
            content.slice(validity, offsets - validity) if nulls else None,
            content.slice(offsets, text - offsets),
            content.slice(text, length),
        ]
        columns.append(pa.Array.from_buffers(pa.string(), rows, buffers, nulls))
    return pa.Table.from_arrays(columns, names=list(names))


def empty_mappings(rows: int) -> pa.Table:
    """A number of solutions that bind nothing: a table without columns has rows nonetheless."""
    solutions = pa.array([{}] * rows, pa.struct([]))
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(solutions)])
