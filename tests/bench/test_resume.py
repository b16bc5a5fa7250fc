"""A bench goes on from its file only where the rows of both may stand in one table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from bench import resume
from bench.report import BenchError, Report


def asked(path: Path | None, go_on: bool = True) -> argparse.Namespace:
    return argparse.Namespace(resume=go_on, json=path)


def written(path: Path, **options: Any) -> Path:
    Report("adapt", [{"stream": "steady"}], {"conditions": resume.conditions(**options)}).write(
        path
    )
    return path


def test_rows_measured_under_the_same_conditions_are_kept(tmp_path: Path) -> None:
    path = written(tmp_path / "f.json", orders=50, thresholds=(0.0, 1.0))
    now = resume.conditions(orders=50, thresholds=(0.0, 1.0))
    held = resume.measured_before(asked(path), now)
    assert held.rows == [{"stream": "steady"}] and held.summary == {"conditions": now}
    nothing = resume.Before()
    assert resume.measured_before(asked(path, go_on=False), now) == nothing
    assert resume.measured_before(asked(tmp_path / "none.json"), now) == nothing


def test_rows_of_other_conditions_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "f.json", orders=50)
    with pytest.raises(BenchError, match="another options;"):
        resume.measured_before(asked(path), resume.conditions(orders=12))
    with pytest.raises(BenchError, match="another code;"):
        resume.measured_before(asked(path), resume.conditions(orders=50) | {"code": "other"})


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}", json.dumps({"rows": [], "summary": {}})])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "f.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BenchError, match="gone on with"):
        resume.measured_before(asked(path), resume.conditions())


def test_without_a_file_there_is_nothing_to_go_on_with() -> None:
    with pytest.raises(BenchError, match="--json"):
        resume.measured_before(asked(None), resume.conditions())


def test_another_line_of_code_is_another_code(tmp_path: Path) -> None:
    for package in resume.PACKAGES:
        (tmp_path / package).mkdir()
    source = tmp_path / "adaptive" / "cost.py"
    source.write_text("one = 1\n", encoding="utf-8")
    before = resume.code(tmp_path)
    (tmp_path / "adaptive" / "notes.txt").write_text("no code", encoding="utf-8")
    assert resume.code(tmp_path) == before
    source.write_text("one = 2\n", encoding="utf-8")
    assert resume.code(tmp_path) != before
