"""What a bench hands back: rows and a summary, shown as a table and written as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = (
    *("spark-cqels", "pyspark", "pyarrow", "numpy", "duckdb", "pyoxigraph"),
    *("rdflib", "bytewax", "scipy", "matplotlib"),
)


class BenchError(Exception):
    """A bench could not give a result; its message says why."""


@dataclass
class Report:
    """The results of one bench: `rows` of equal keys, and a `summary` of what follows from them.

    One that is not `whole` is shown and written like any other, and the command exits with 1.
    """

    name: str
    rows: list[dict[str, Any]]
    summary: dict[str, Any] = field(default_factory=dict)
    whole: bool = True

    def as_json(self) -> dict[str, Any]:
        """The object written by `--json`."""
        return {
            "name": self.name,
            "machine": machine(),
            "versions": versions(),
            "rows": self.rows,
            "summary": self.summary,
        }

    def write(self, path: Path) -> None:
        """Writes the JSON file, creating its folder."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.as_json(), indent=2) + "\n", encoding="utf-8")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


def machine() -> dict[str, Any]:
    """The machine in the terms that matter to a reader of the numbers."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
    }


def versions() -> dict[str, str | None]:
    """Versions of Python and of the packages that benches use; None when not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def cell(value: Any) -> str:
    """A value as tables show it.

    >>> cell(None), cell(1234.5), cell(0.01234), cell(12345)
    ('-', '1,234', '0.012', '12,345')
    """
    if value is None:
        return "-"
    if isinstance(value, float):
        if value.is_integer() or abs(value) >= 1000:
            return f"{value:,.0f}"
        return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """The rows as aligned text; None is shown as "-".

    >>> print(table([{"query": "q1", "p50_ms": 1.26}, {"query": "q2", "p50_ms": None}]))
    query  p50_ms
    -----  ------
    q1        1.3
    q2          -
    """
    if not rows:
        return "(no rows)"
    names = list(columns or rows[0])
    cells = [[cell(row.get(name)) for name in names] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    right = [not any(isinstance(row.get(name), str) for row in rows) for name in names]

    def line(texts: Sequence[str]) -> str:
        padded = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(texts, widths, right, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(names), line(["-" * width for width in widths]), *map(line, cells)])


def progress(message: str) -> None:
    """Shows a line on standard error, so that standard output holds the results only."""
    print(message, file=sys.stderr, flush=True)
