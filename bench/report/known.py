"""Which benches there are."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

PACKAGES = ("bench", "bench.long_runs", "bench.report")


def discover(only: str | None = None) -> dict[str, ModuleType]:
    """The benches by name: modules of these packages with NAME, add_arguments and run.

    With `only`, the one whose module has that name, where there is one: importing all takes longer.
    """
    found = {}
    for package in map(importlib.import_module, PACKAGES):
        for info in pkgutil.iter_modules(package.__path__):
            if info.ispkg or info.name == "__main__" or (only and info.name != only):
                continue
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            if hasattr(module, "NAME") and hasattr(module, "run"):
                found[module.NAME] = module
    return discover() if only and only not in found else found


def parser_of(benches: dict[str, ModuleType]) -> argparse.ArgumentParser:
    """The command line of these benches, a command each."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Benchmarks, one command each."
    )
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
