"""Command line of the benches: `python -m bench NAME [--quick] [--json FILE]`."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

import bench
import bench.long_runs
from bench.report import BenchError, progress, table


def discover() -> dict[str, ModuleType]:
    """The benches by name: modules of this package, and of that of long runs, with NAME, add_arguments and run."""
    found = {}
    for package in (bench, bench.long_runs):
        for info in pkgutil.iter_modules(package.__path__):
            if info.ispkg or info.name == "__main__":
                continue
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            if hasattr(module, "NAME") and hasattr(module, "run"):
                found[module.NAME] = module
    return found


def _parser(benches: dict[str, ModuleType]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name, module in benches.items():
        text = module.__doc__ or ""
        one = names.add_parser(
            name,
            help=text.split("\n")[0],
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        one.add_argument(
            "--quick", action="store_true", help="a small world, few evaluations: about a minute"
        )
        one.add_argument("--json", type=Path, metavar="FILE", help="also write the result here")
        module.add_arguments(one)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Runs the bench named by the arguments; returns the exit status."""
    benches = discover()
    args = _parser(benches).parse_args(argv)
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
