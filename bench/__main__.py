"""Command line of the benches: `python -m bench NAME [--quick] [--json FILE]`."""

from __future__ import annotations

import sys

from bench.report import BenchError, progress, table
from bench.report.known import discover, parser_of

__all__ = ["discover", "main"]


def main(argv: list[str] | None = None) -> int:
    """Runs the bench named by the arguments; returns the exit status."""
    given = sys.argv[1:] if argv is None else argv
    benches = discover(given[0] if given else None)
    args = parser_of(benches).parse_args(given)
    module = benches[args.name]
    try:
        report = module.run(args)
    except BenchError as failure:
        progress(f"{args.name}: {failure}")
        return 1
    print(table(report.rows, getattr(module, "COLUMNS", None)))
    for key in getattr(module, "SHOWN", report.summary):
        print(f"{key}: {report.summary[key]}")
    if args.json:
        report.write(args.json)
        progress(f"wrote {args.json}")
    return 0 if report.whole else 1


if __name__ == "__main__":
    sys.exit(main())
