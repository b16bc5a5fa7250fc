"""Every worked example of the four papers on queries and their optimization is a test that has its name."""

from __future__ import annotations

import json
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PAPERS = {"000", "001", "002", "003"}
# Names of cases, or how they begin, without a test here; the reason follows.
WITHOUT_A_TEST = {
    "000-f-": "tests/sparkext/uncertainty checks these values of distributions, not by their ids",
    "000-listing2": "tests/sparkext/uncertainty runs the listing under its own name",
}


def is_named(case: str, texts: list[str]) -> bool:
    """Whether a test file has the name in full.

    The rules of Table 1 are meant: `000-T1-FJPush` is not named by `000-T1-FJPush-violated`.
    """
    whole = re.compile(rf"(?<![\w-]){re.escape(case)}(?![\w'-])")
    return any(whole.search(text) for text in texts)


def test_every_case_is_named_by_a_test(shared: Path) -> None:
    cases = json.loads((shared / "papers" / "examples.json").read_text(encoding="utf-8"))["cases"]
    names = [case["id"] for case in cases if case["paper"] in PAPERS]
    texts = [
        path.read_text(encoding="utf-8")
        for path in TESTS.rglob("*.py")
        if path != Path(__file__).resolve()
    ]
    left_out = {name for name in names if name.startswith(tuple(WITHOUT_A_TEST))}
    assert [name for name in names if name not in left_out and not is_named(name, texts)] == []
    # What has got a test, or is no case any longer, does not stay in the list.
    assert {name for name in left_out if is_named(name, texts)} == set()
    assert all(any(name.startswith(prefix) for name in names) for prefix in WITHOUT_A_TEST)


def test_every_slip_is_named_on_the_page_about_semantics(shared: Path) -> None:
    slip = re.compile(r"S-00[0-3]-\d+")
    papers = (shared / "papers" / "examples.md").read_text(encoding="utf-8")
    page = (TESTS.parent / "docs" / "semantics.md").read_text(encoding="utf-8")
    assert set(slip.findall(papers)) - set(slip.findall(page)) == set()


def test_a_name_counts_in_full_only() -> None:
    assert is_named("003-Q1", ['"003-Q1"'])
    assert not is_named("003-Q1", ['"003-Q1\'"', "003-Q1-bag", "x003-Q1"])
