"""The queries of docs/events.md are queries that can be registered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkext.language import parse_query
from sparkext.language.event_patterns import Match
from sparkext.language.support import check_supported, expressions_of
from sparkext.language.timestamps import is_timestamp

PAGE = (Path(__file__).parents[3] / "docs" / "events.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sparql\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", QUERIES)
def test_queries(text: str) -> None:
    query = parse_query(text)
    check_supported(query)
    calls = (p for n in query.pattern.walk() for e in expressions_of(n) for p in e.walk())
    matches = any(isinstance(node, Match) for node in query.pattern.walk())
    assert matches or any(map(is_timestamp, calls))
    assert not query.warnings


def test_there_are_some() -> None:
    assert len(QUERIES) == 5
