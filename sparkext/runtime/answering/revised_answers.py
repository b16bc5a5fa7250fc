"""What an instant answers after late elements have changed it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

import pyarrow as pa

from sparkext.runtime.answering.answers import Answers, Row, empty_table
from sparkext.runtime.answering.answers_file import empty_mappings


@dataclass(frozen=True)
class RevisedAnswers(Answers):
    """The whole answers of an instant that was answered before, with late elements in; `revision` counts from 1.

    It is 0 where only late elements make it an instant, among others that were answered before. `added` and `removed`
    are the rows that it has more and fewer than it had when it was told last, as bags. One that is `retracted` is no
    instant of the query any more, and its answers are empty: late elements move the instants at which
    `[ELEMENTS n STEP k]` closes.
    """

    added: pa.Table = field(default_factory=lambda: empty_table(()))
    removed: pa.Table = field(default_factory=lambda: empty_table(()))
    retracted: bool = False

    def _said_first(self) -> dict[str, object]:
        retracted = {"retracted": True} if self.retracted else {}
        return {"revision": self.revision, **retracted}


def revised(before: Answers, now: Answers, revision: int) -> RevisedAnswers | None:
    """The answers of an instant as a revision of what it was told before; None where nothing differs."""
    if now.form == "ASK" and before.boolean == now.boolean:
        return None
    if before.table is now.table:
        return None
    old, new = before.rows(), now.rows()
    added, removed = _more(new, old), _more(old, new)
    if not (added or removed) and not (now.ordered and old != new):
        return None  # in another order, which means nothing where the query does not say it
    return RevisedAnswers(
        **_fields_of(now),
        revision=revision,
        added=_taken(now.table, added),
        removed=_taken(before.table, removed),
    )


def told_again(now: Answers, revision: int) -> RevisedAnswers:
    """The answers of an instant that was none so far, or is one again."""
    return RevisedAnswers(
        **_fields_of(now), revision=revision, added=now.table, removed=_taken(now.table, [])
    )


def retracted(before: Answers, sequence: int, revision: int) -> RevisedAnswers:
    """What is told of an instant that is none any more."""
    nothing = _taken(before.table, [])
    given = {**_fields_of(before), "table": nothing, "sequence": sequence}
    return RevisedAnswers(
        **given, revision=revision, added=nothing, removed=before.table, retracted=True
    )


def for_keeping(answers: Answers) -> Answers:
    """The same answers for whoever keeps them for long: they hold little more than is theirs, and not what differs.

    Those of one query among many are rows of a table of all, which would be held as a whole.
    """
    table = answers.table
    if table.get_total_buffer_size() > 2 * table.nbytes:
        table = _copied(table)
    given = {field.name: getattr(answers, field.name) for field in fields(Answers)}
    given["table"] = table
    if isinstance(answers, RevisedAnswers):
        return RevisedAnswers(**given, retracted=answers.retracted)
    return Answers(**given)


def _copied(table: pa.Table) -> pa.Table:
    columns = [
        pa.chunked_array([pa.concat_arrays([chunk]) for chunk in column.chunks], column.type)
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _fields_of(answers: Answers) -> dict[str, Any]:
    names = [field.name for field in fields(Answers) if field.name != "revision"]
    return {name: getattr(answers, name) for name in names}


def _taken(table: pa.Table, places: list[int]) -> pa.Table:
    if not table.num_columns:
        return empty_mappings(len(places))
    return table.take(pa.array(places, pa.int64()))


def _more(rows: list[Row], others: list[Row]) -> list[int]:
    """The places of the rows of a bag that another has not, or not as often.

    >>> _more([("a",), ("b",), ("b",)], [("b",)])
    [0, 2]
    """
    left = Counter(others)
    places = []
    for place, row in enumerate(rows):
        if left[row] > 0:
            left[row] -= 1
        else:
            places.append(place)
    return places
