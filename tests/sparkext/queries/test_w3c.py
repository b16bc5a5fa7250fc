"""The W3C's test suites, run by the shared checker through `tests/w3c.py`."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests import w3c

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUITES = {"query": w3c.evaluate, "syntax": w3c.check_syntax, "rdf": w3c.read_rdf}

# Cases that fail, by their id, with the reason.
KNOWN_GAPS = {
    "sparql11/cast/cast-decimal": "the expected file writes literals of the data in another lexical form",
    "sparql11/csv-tsv-res/tsv03": "the expected file writes literals of the data in another lexical form",
}


@pytest.fixture(scope="module")
def checker(shared: Path) -> ModuleType:
    path = shared / "w3c" / "check.py"
    spec = importlib.util.spec_from_file_location("w3c_check", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def failures(
    checker: ModuleType,
    root: Path,
    suite: str,
    groups: tuple[str, ...] | None = None,
    case: str | None = None,
) -> tuple[set[str], int]:
    """The ids of the cases that fail, and how many ran."""
    options = SimpleNamespace(
        data="auto", numeric="computed", any_order=False, any_vars=False, c14n_exact=False
    )
    run: Any = getattr(checker, f"run_{suite}")
    tests = json.loads((root / "index.json").read_text(encoding="utf-8"))[suite]
    chosen = [t for t in tests if groups is None or t["group"] in groups]
    chosen = [t for t in chosen if case in (None, t["id"])]
    failed = set()
    for test in chosen:
        try:
            run(str(root), test, SUITES[suite], options)
        except Exception:
            failed.add(test["id"])
    return failed, len(chosen)


@pytest.mark.parametrize("suite", ["syntax", "rdf"])
def test_texts(spark: SparkSession, checker: ModuleType, shared: Path, suite: str) -> None:
    failed, ran = failures(checker, shared / "w3c" / "dev", suite)
    assert ran > 300
    assert failed <= KNOWN_GAPS.keys()


def test_some_queries(spark: SparkSession, checker: ModuleType, shared: Path) -> None:
    groups = ("sparql10/dataset", "sparql10/construct", "sparql10/ask")
    failed, ran = failures(checker, shared / "w3c" / "dev", "query", groups)
    assert ran > 10
    assert failed == set()


@pytest.mark.w3c
@pytest.mark.slow
def test_all_queries(spark: SparkSession, checker: ModuleType, shared: Path) -> None:
    failed, ran = failures(checker, shared / "w3c" / "dev", "query")
    assert ran > 350
    assert failed - KNOWN_GAPS.keys() == set()


@pytest.mark.w3c
@pytest.mark.parametrize("gap", [*KNOWN_GAPS])
def test_known_gaps(
    request: pytest.FixtureRequest, spark: SparkSession, checker: ModuleType, shared: Path, gap: str
) -> None:
    request.applymarker(pytest.mark.xfail(reason=KNOWN_GAPS[gap], strict=True))
    root = shared / "w3c" / "dev"
    ran = [failures(checker, root, suite, case=gap) for suite in SUITES]
    assert sum(n for _, n in ran) == 1, "no such case"
    assert [failed for failed, _ in ran if failed] == []
