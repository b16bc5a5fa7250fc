"""`python -m tests.fuzz --cases N --seed S --json F`: cases by chance, and how many came to what."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tests.fuzz.running import run_watched
from tests.fuzz.targets import JVM, PYTHON, SHARES


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Run all targets, or some; gives 1 where a case showed a defect."""
    names = [*PYTHON, *JVM]
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="how many, over all targets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where to write the counts")
    parser.add_argument(
        "--target", action="append", choices=names, help="only these, all cases each"
    )
    arguments = parser.parse_args()
    chosen = dict.fromkeys(arguments.target or (), arguments.cases) or {
        n: max(1, round(arguments.cases * SHARES[n])) for n in names
    }
    told = {}
    for name, cases in chosen.items():
        begun = time.monotonic()
        found = run_watched(name, arguments.seed, cases)
        seconds = time.monotonic() - begun
        told[name] = {
            "cases": sum(found.counts.values()),
            "seconds": round(seconds, 1),
            "outcomes": dict(found.counts.most_common()),
            "failures": found.failures[:100],
        }
        _say(
            f"{name}: {sum(found.counts.values()):,} cases, {seconds:.0f} s: {dict(found.counts.most_common())}"
        )
        for number, one in found.failures[:20]:
            _say(f"  seed {arguments.seed}, case {number}: {one}")
        if arguments.json is not None:
            whole = {
                "seed": arguments.seed,
                "cases": sum(t["cases"] for t in told.values()),
                "targets": told,
            }
            arguments.json.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    return int(any(found["failures"] for found in told.values()))


if __name__ == "__main__":
    sys.exit(main())
