"""The packages import one way: static_data and adaptive know nothing of sparkext, and so on."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("static_data", "adaptive", "sparkext")
FORBIDDEN = {
    "adaptive": {"static_data", "sparkext", "pyspark", "py4j", "bench", "tests"},
    "static_data": {"sparkext", "bench", "tests"},
    "sparkext": {"bench", "tests"},
}


def imported(source: str, module: str) -> Iterator[tuple[int, str]]:
    """(line, top-level package) of every import in `source`, also those inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A relative import stays inside its own package, however many dots it has.
            top = module if node.level else (node.module or "").split(".")[0]
            yield node.lineno, top
        elif (
            isinstance(node, ast.Call)
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
            and _called(node.func) in {"import_module", "__import__"}
        ):
            yield node.lineno, node.args[0].value.split(".")[0] or module


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_go_one_way(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files, f"{package} has no modules"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in files
        for line, name in imported(path.read_text(encoding="utf-8"), package)
        if name in FORBIDDEN[package]
    ]
    assert wrong == []


def test_third_party_imports_are_declared_and_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # What an extra brings may be imported where its absence is told.
    extras = project["optional-dependencies"]
    entries = project["dependencies"] + extras["plot"] + extras["rdflib"]
    declared = {re.split(r"[<>=~ ]", entry)[0] for entry in entries}
    explained = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    assert [name for name in declared if f"| {name} | " not in explained] == []
    known = {*sys.stdlib_module_names, *PACKAGES, *declared, "py4j"}  # py4j comes with PySpark.
    undeclared = {
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, name in imported(path.read_text(encoding="utf-8"), package)
        if name not in known
    }
    assert undeclared == set()


def test_the_walk_sees_every_kind_of_import() -> None:
    source = """
import os.path, sparkext.config
from static_data.terms import Iri
from . import sibling
def late():
    import pyspark
    importlib.import_module("bench.data")
"""
    found = {name for _, name in imported(source, "adaptive")}
    assert found == {"os", "sparkext", "static_data", "adaptive", "pyspark", "bench"}
