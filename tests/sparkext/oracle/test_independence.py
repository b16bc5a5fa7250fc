"""The oracle imports nothing that evaluates for the engine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import sparkext.oracle

FOLDER = Path(sparkext.oracle.__file__).parent
ALLOWED = (
    "sparkext.oracle",
    "sparkext.language",
    "sparkext.recorded_streams",
    "sparkext.errors",
    "static_data.terms",
    "static_data.format_sniffing",
    "static_data.on_error",
    "static_data.reading",
    "static_data.rdf_reader",
    "static_data.rdf_version",
)


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """(file, module) of every import of one of the product's packages, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{'.' * node.level}{node.module or ''}"]
        for name in names:
            if name.split(".")[0] in ("sparkext", "static_data", "adaptive", "pyspark", "py4j", ""):
                yield path.name, name


def test_it_shares_the_parser_and_the_reader_of_streams_only() -> None:
    files = sorted(FOLDER.rglob("*.py"))
    assert len(files) > 8
    wrong = [
        found
        for path in files
        for found in imports(path)
        if not any(found[1] == name or found[1].startswith(f"{name}.") for name in ALLOWED)
    ]
    assert wrong == []


def test_the_walk_sees_what_is_forbidden(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("def f():\n    from sparkext.r2r import compiler\nfrom . import sibling\n")
    assert [name for _, name in imports(path)] == ["sparkext.r2r", "."] or [
        name for _, name in imports(path)
    ] == [".", "sparkext.r2r"]
