"""Answers in a Delta table, each instant of a query once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkext.argument_checks import check
from sparkext.runtime.answering.delivered import revision_of
from sparkext.runtime.answering.sinks import dated, leaves_nothing
from sparkext.s2r.event_time import format_date_time
from sparkext.sources.extras import library
from sparkext.sources.live_source import texts_by_name

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers

logger = logging.getLogger(__name__)

_WHAT = "a Delta sink"


class DeltaSink:
    """Adds the answers of each evaluation to a Delta table; `query.subscribe(DeltaSink("answers"))`.

    The table is made if it is not there. Its columns are the query, the instant `time`, and one of N-Triples texts for
    each variable; several queries may share a table, whose columns are then those of all. Each evaluation is a commit
    that says, as Delta's transaction identifier, of which query and up to which instant: one that is answered again
    after a restart is not stored twice. A revision of an instant replaces its rows. `storage_options` are those of
    `deltalake`, for tables in object stores.
    """

    def __init__(self, table: str | Path, storage_options: Mapping[str, str] | None = None) -> None:
        self._table = str(check.path("table", table, "the path or URI of a table"))
        texts_by_name("storage_options", {} if storage_options is None else storage_options)
        self._options = dict(storage_options or {}) or None
        self._delta = library("deltalake", "delta", _WHAT)
        self._stored: dict[str, int] = {}
        self._lock = RLock()

    def __call__(self, answers: Answers) -> None:
        """Store the answers of one evaluation."""
        with self._lock:
            try:
                self._store(answers)
            except BaseException:
                # It may be in the table nonetheless: the next try asks that.
                self._stored.pop(answers.query, None)
                raise

    def _store(self, answers: Answers) -> None:
        if revision_of(answers) is not None:
            self._revise(answers)
            return
        if answers.empty:
            return
        if answers.query not in self._stored:
            self._stored[answers.query] = self._last_of(answers.query)
        if answers.time <= self._stored[answers.query]:
            return
        self._write(answers, mode="append", schema_mode="merge")
        self._stored[answers.query] = answers.time

    def _revise(self, answers: Answers) -> None:
        """Put the rows of a revision in place of those of the instant; doing so twice changes nothing."""
        named = answers.query.replace("'", "''")
        where = f"query = '{named}' AND time = '{format_date_time(answers.time)}'"
        if not leaves_nothing(answers):
            there = self._opened() is not None
            how = {"mode": "overwrite", "predicate": where} if there else {"mode": "append"}
            self._write(answers, **how, schema_mode="merge")
            return
        table = self._opened()
        if table is not None:
            table.delete(where)

    def _write(self, answers: Answers, **how: Any) -> None:
        rows = dated(answers)
        named = pa.array([answers.query] * rows.num_rows, pa.string())
        times = rows.column("time").cast(pa.timestamp("us", tz="UTC"))
        columns = {name: rows.column(name) for name in rows.column_names if name != "time"}
        columns = {f"?{name}" if name == "query" else name: c for name, c in columns.items()}
        last = self._delta.Transaction(app_id=_application(answers.query), version=answers.time)
        noted = None
        if revision_of(answers) is None:
            noted = self._delta.CommitProperties(app_transactions=[last])
        self._delta.write_deltalake(
            self._table,
            pa.table({"query": named, "time": times, **columns}),
            commit_properties=noted,
            storage_options=self._options,
            **how,
        )

    def _last_of(self, query: str) -> int:
        """The last instant of a query that the table says to have."""
        table = self._opened()
        version = None if table is None else table.transaction_version(_application(query))
        return -(1 << 63) if version is None else int(version)

    def _opened(self) -> Any:
        if not self._delta.DeltaTable.is_deltatable(self._table, storage_options=self._options):
            return None
        return self._delta.DeltaTable(self._table, storage_options=self._options)


def _application(query: str) -> str:
    return f"cqels:{query}"
