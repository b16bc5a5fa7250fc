"""The code in the pages of `docs` runs, and prints what they show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sparkext
from tests.documentation.blocks import DOCS, PREPARED, RUN, SHOWN, WrongPageError, run_page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FENCE = re.compile(r"^```(\S*)", re.MULTILINE)


def languages(page: Path) -> list[str]:
    """The languages of a page's blocks."""
    return FENCE.findall(page.read_text(encoding="utf-8"))[::2]


NAMES = sorted(p.name for p in DOCS.glob("*.md") if set(languages(p)) & {*RUN, "output"})
NAMES.append("../README.md")


@pytest.mark.parametrize("name", NAMES)
def test_page(
    name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = dict(spark.conf.getAll)
    run_page(name, {"spark": spark, "queries": sparkext.Engine(spark)})
    changed = {key for key, value in dict(spark.conf.getAll).items() if before.get(key) != value}
    # Programs that begin with a builder tell the session that is there how they would have launched it.
    assert [key for key in changed if key.startswith(("spark.sql.", "spark.cqels."))] == []
    for key in changed & before.keys():
        spark.conf.set(key, before[key])


def test_most_pages_have_code() -> None:
    assert len(NAMES) > 15


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_every_block_says_what_it_is(page: Path) -> None:
    of_the_site = {"{image}", "{toctree}", "{include}", "{eval-rst}"}
    assert set(languages(page)) <= {*RUN, *SHOWN, "output", *of_the_site}


def test_preparations_are_of_pages() -> None:
    assert {p.stem for p in PREPARED.glob("*.py")} - {Path(name).stem for name in NAMES} == set()


def test_a_wrong_output_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.documentation.blocks.DOCS", tmp_path)
    for shown in ("```output\n2\n```\n", ""):
        (tmp_path / "page.md").write_text(f"```python\nprint(1)\n```\n{shown}")
        with pytest.raises(WrongPageError):
            run_page("page.md", {})
    (tmp_path / "page.md").write_text("```python\nprint(1)\n```\n```output\n1\n```\n")
    run_page("page.md", {})
