"""A Delta table: each instant of a query once, also by a sink that is made anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sparkext.errors import ArgumentError
from sparkext.runtime.answering.revised_answers import retracted
from sparkext.sinks import DeltaSink
from tests.sparkext.sinks.answering import OTHER, Q, ask, construct, select


@pytest.fixture
def delta() -> Any:
    return pytest.importorskip("deltalake", reason="the extra delta is not installed")


def rows(delta: Any, table: Path) -> list[tuple[str, int, str]]:
    found = pa.table(delta.DeltaTable(str(table)).to_pyarrow_table())
    times = found.column("time").cast(pa.int64()).to_pylist()
    columns = (found.column("query").to_pylist(), times, found.column("v").to_pylist())
    return sorted((q, time // 1000, value) for q, time, value in zip(*columns, strict=True))


def test_what_is_answered_again_is_stored_once(delta: Any, tmp_path: Path) -> None:
    table = tmp_path / "answers"
    sink = DeltaSink(table)
    sink(select(1000))  # nothing to store
    assert not table.exists()
    sink(select(2000, "a", "b"))
    sink(select(2000, "c", query=OTHER))
    again = DeltaSink(table)  # after a restart
    again(select(2000, "a", "b"))
    again(select(2000, "c", query=OTHER))
    again(select(3000, "d"))
    assert rows(delta, table) == [
        (OTHER, 2000, '"c"'),
        (Q, 2000, '"a"'),
        (Q, 2000, '"b"'),
        (Q, 3000, '"d"'),
    ]


def test_a_revision_replaces_the_rows_of_its_instant(delta: Any, tmp_path: Path) -> None:
    table = tmp_path / "answers"
    sink = DeltaSink(table)
    query = "it's a query"
    sink(select(1000, "first", revision=1))  # which makes the table
    for answers in (
        select(2000, "a", "b", query=query),
        select(3000, "c", query=query),
        select(2000, "x", query=query, revision=1),
        select(2000, "x", query=query, revision=1),
        select(3000, query=query, revision=1),
    ):
        sink(answers)
    assert rows(delta, table) == [(Q, 1000, '"first"'), (query, 2000, '"x"')]


def test_an_instant_of_ask_that_is_none_any_more_leaves_the_table(
    delta: Any, tmp_path: Path
) -> None:
    sink = DeltaSink(tmp_path / "answers")
    for answers in (ask(1000, True), ask(2000, False), retracted(ask(1000, True), 3, 1)):
        sink(answers)
    found = pa.table(delta.DeltaTable(str(tmp_path / "answers")).to_pyarrow_table())
    assert found.column("boolean").to_pylist() == [False]


def test_a_commit_whose_success_was_not_told_is_not_made_again(
    delta: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "answers"
    sink = DeltaSink(table)
    sink(select(1000, "a"))

    def cut_off(*given: Any, **how: Any) -> None:
        written(*given, **how)
        raise OSError("the connection broke")

    written = delta.write_deltalake
    with monkeypatch.context() as patched:
        patched.setattr(delta, "write_deltalake", cut_off)
        with pytest.raises(OSError, match="broke"):
            sink(select(2000, "b"))
    sink(select(2000, "b"))
    sink(select(3000, "c"))
    assert rows(delta, table) == [(Q, 1000, '"a"'), (Q, 2000, '"b"'), (Q, 3000, '"c"')]


def test_queries_of_other_variables_share_a_table(delta: Any, tmp_path: Path) -> None:
    table = tmp_path / "answers"
    sink = DeltaSink(table)
    sink(select(1000, "a"))
    sink(construct(1000, "b", query=OTHER))
    found = pa.table(delta.DeltaTable(str(table)).to_pyarrow_table())
    assert set(found.column_names) == {"query", "time", "v", "subject", "predicate", "object"}
    assert sorted(map(str, found.column("subject").to_pylist())) == ["<http://e/b>", "None"]


def test_odd_arguments_are_refused(delta: Any) -> None:
    with pytest.raises(ArgumentError, match="table: must be"):
        DeltaSink(5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="storage_options: must be"):
        DeltaSink("t", storage_options=5)  # type: ignore[arg-type]
