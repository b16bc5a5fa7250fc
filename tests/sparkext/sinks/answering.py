"""Answers as an engine gives them, for tests of sinks."""

from __future__ import annotations

import pyarrow as pa

from sparkext.runtime.answering.answers import Answers
from sparkext.runtime.answering.answers_file import empty_mappings

Q, OTHER = "http://e/q", "http://e/o"


def select(
    time: int, *values: str, query: str = Q, sequence: int = 1, revision: int = 0
) -> Answers:
    """Answers of a SELECT query with the variable v."""
    table = pa.table({"v": pa.array([f'"{value}"' for value in values], pa.string())})
    return Answers(query, time, ("v",), table, sequence=sequence, revision=revision)


def ask(time: int, boolean: bool) -> Answers:
    """Answers of an ASK query."""
    return Answers(Q, time, (), empty_mappings(int(boolean)), form="ASK", sequence=1)


def construct(time: int, *values: str, query: str = Q, revision: int = 0) -> Answers:
    """Answers of a CONSTRUCT query, a triple for each value."""
    columns = {
        "subject": [f"<http://e/{value}>" for value in values],
        "predicate": ["<http://e/p>"] * len(values),
        "object": ["_:b"] * len(values),
    }
    table = pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})
    names = ("subject", "predicate", "object")
    return Answers(query, time, names, table, form="CONSTRUCT", revision=revision)
