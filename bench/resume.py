"""Going on with a bench of hours where it stopped: what its JSON file holds already is not measured again."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.report import BenchError, machine, progress, versions

PACKAGES = ("adaptive", "bench", "sparkext", "static_data")
"""Folders whose sources decide what is measured."""


def add_argument(parser: argparse.ArgumentParser, parts: str) -> None:
    """The option --resume of a bench that writes its file after each of its parts."""
    parser.add_argument(
        "--resume",
        action="store_true",
        help=f"keep the {parts} that the file of --json has, if it is of the same code, options and machine",
    )


def conditions(**options: Any) -> dict[str, Any]:
    """Under which numbers were measured: equal where those of two runs may stand in one table."""
    return {
        "code": code(Path(__file__).parent.parent),
        "options": json.loads(json.dumps(options)),  # as they are read from a file
        "machine": machine(),
        "versions": versions(),
    }


def code(root: Path) -> str:
    """A digest of all sources of the product and the benches."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted(Path(root, package).rglob("*")):
            if path.suffix in {".py", ".scala", ".lark", ".rspql"}:
                digest.update(path.relative_to(root).as_posix().encode() + b"\0")
                digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Before:
    """What a bench's file holds."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)


def measured_before(args: argparse.Namespace, now: Mapping[str, Any]) -> Before:
    """What the file to be gone on with holds; nothing without --resume, or without a file.

    Raises BenchError for a file that was measured under other conditions, or is none of a bench.
    """
    if not args.resume:
        return Before()
    if not args.json:
        raise BenchError("--resume goes on with the file of --json, and none is given")
    if not args.json.exists():
        return Before()
    try:
        held = json.loads(args.json.read_text(encoding="utf-8"))
        before = Before(list(held["rows"]), dict(held["summary"]))
        then = before.summary["conditions"]
    except (ValueError, KeyError, TypeError) as failure:
        raise BenchError(
            f"{args.json} is not a file that can be gone on with: {failure!r}"
        ) from None
    if other := sorted(key for key in now if then.get(key) != now[key]):
        raise BenchError(
            f"{args.json} was measured with another {', '.join(other)}; take another file"
        )
    progress(f"{len(before.rows)} rows were measured before")
    return before
