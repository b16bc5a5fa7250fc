"""Imports go one way: between the packages, and down the order of their rooms; modules and folders stay small."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import rooms_page
from tests.layering import KNOWN, ORDER, Modules, crowded_folders

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
    entries = (
        project["dependencies"]
        + extras["plot"]
        + extras["rdflib"]
        + extras["serve"]
        + extras["scipy"]
    )
    declared = {re.split(r"[<>=~ ]", entry)[0] for entry in entries}
    explained = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    assert [name for name in declared if f"| {name} | " not in explained] == []
    # py4j comes with PySpark, and some are imported by another name.
    others = {"pyyaml": "yaml", "prometheus-client": "prometheus_client"}
    called = {others.get(name, name) for name in declared}
    known = {*sys.stdlib_module_names, *PACKAGES, *called, "py4j"}
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


@pytest.fixture(scope="module")
def modules() -> Modules:
    return Modules.below(ROOT, PACKAGES)


def test_no_modules_import_each_other_in_a_circle(modules: Modules) -> None:
    assert [circle for circle in modules.circles() if not set(circle) <= KNOWN.circles] == []


def test_imports_go_down_the_order_of_the_rooms(modules: Modules) -> None:
    assert set(modules.upward(ORDER)) - KNOWN.upward == set()


def test_no_module_is_too_long(modules: Modules) -> None:
    assert set(modules.too_long()) - KNOWN.lines == set()


def test_no_folder_is_crowded() -> None:
    assert set(crowded_folders(ROOT, (*PACKAGES, "bench", "tests"))) - KNOWN.files == set()


def test_known_exceptions_are_still_needed(modules: Modules) -> None:
    assert KNOWN.circles - {name for circle in modules.circles() for name in circle} == set()
    assert KNOWN.upward - set(modules.upward(ORDER)) == set()
    assert KNOWN.lines - set(modules.too_long()) == set()
    assert KNOWN.files - set(crowded_folders(ROOT, PACKAGES)) == set()


def test_every_room_has_a_sentence_on_its_door(modules: Modules) -> None:
    doors = [path for name, path in modules.paths.items() if modules.is_door(name)]
    assert doors
    assert [p for p in doors if not ast.get_docstring(ast.parse(p.read_text("utf-8")))] == []
    folders = {path.parent for path in modules.paths.values()}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_room_exists(modules: Modules) -> None:
    assert [room for layer in ORDER for room in layer if room not in modules.paths] == []


SMALL_ORDER = (("p.low",), ("p.left", "p.right"), ("p.top",))


def small_tree(root: Path, **changed: str) -> Modules:
    """A made-up package p of four rooms in which all is well, but for the modules that are given otherwise."""
    sources = {
        "p.__init__": "from p.top import way",
        "p.low.__init__": "",
        "p.low.base": "",
        "p.left.__init__": "from p.left.inner import a",
        "p.left.inner": "from p.low.base import thing",
        "p.right": "import p.low.base",
        "p.top.__init__": "",
        "p.top.way": "from p import right\nfrom ..left import inner\nfrom . import helper",
        "p.top.helper": "",
    }
    sources |= {name.replace("__", "."): text for name, text in changed.items()}
    for name, text in sources.items():
        path = root / (name.replace(".", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Modules.below(root, ["p"])


def test_a_tree_in_order_is_let_pass(tmp_path: Path) -> None:
    modules = small_tree(tmp_path)
    assert modules.imports["p.top.way"] == {"p.right", "p.left.inner", "p.top.helper"}
    assert modules.circles() == []
    assert modules.upward(SMALL_ORDER) == []
    assert (modules.too_long(), crowded_folders(tmp_path, ["p"])) == ([], [])


@pytest.mark.parametrize(
    "helper",
    [
        "from p.top import way",
        "from .way import right",
        "def late():\n    import p.top.way",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.top.way import right",
    ],
)
def test_a_circle_is_found(tmp_path: Path, helper: str) -> None:
    modules = small_tree(tmp_path, p__top__helper=helper)
    assert modules.circles() == [["p.top.helper", "p.top.way"]]
    assert modules.upward(SMALL_ORDER) == []  # one room


def test_a_circle_of_several_modules_is_found(tmp_path: Path) -> None:
    modules = small_tree(tmp_path, p__low__base="import p.far", p__far="from p.top import way")
    assert modules.circles() == [["p.far", "p.left.inner", "p.low.base", "p.right", "p.top.way"]]


@pytest.mark.parametrize(
    ("who", "whom"),
    [
        ("p.low.base", "p.right"),
        ("p.low.base", "p.top.helper"),
        ("p.low.base", "p.left"),
        ("p.right", "p.left.inner"),  # neighbours
        ("p.right", "p.top.way"),
        ("p.left.inner", "p"),  # a door as high as what it opens onto
    ],
)
def test_an_import_upwards_is_found(tmp_path: Path, who: str, whom: str) -> None:
    modules = small_tree(tmp_path, **{who.replace(".", "__"): f"import {whom}"})
    assert modules.upward(SMALL_ORDER) == [(who, whom)]


def test_a_module_without_a_place_is_told(tmp_path: Path) -> None:
    modules = small_tree(tmp_path, p__new="")
    with pytest.raises(ValueError, match=r"p\.new is in no room"):
        modules.upward(SMALL_ORDER)


def test_what_is_too_large_is_found(tmp_path: Path) -> None:
    many = {f"p__low__m{number}": "" for number in range(15)}
    modules = small_tree(tmp_path, p__right="\n" * 401, p__left__inner="\n" * 400, **many)
    assert modules.too_long() == ["p/right.py"]
    assert crowded_folders(tmp_path, ["p"]) == ["p/low"]


def test_the_list_of_rooms_is_up_to_date() -> None:
    text = rooms_page.PAGE.read_text()
    assert rooms_page.page(text) == text, "run python -m tests.rooms_page"
