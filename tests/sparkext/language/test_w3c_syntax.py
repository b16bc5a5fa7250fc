"""Every query syntax test of the W3C corpus: legal texts parse, illegal ones are refused."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sparkext.errors import QuerySyntaxError
from sparkext.language import format_algebra, parse_query

CORPUS = Path(__file__).parents[4] / "shared" / "w3c" / "dev"

# Legal queries that this language leaves out on purpose, by id.
KNOWN_GAPS: dict[str, str] = {}


@cache
def _index() -> dict[str, Any]:
    path = CORPUS / "index.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _text(test: dict[str, Any]) -> str:
    return (CORPUS / test["query"]).read_bytes().decode("utf-8")


def _cases(suite: str) -> list[Any]:
    cases = [
        pytest.param(
            test,
            id=test["id"],
            marks=[pytest.mark.xfail(strict=True, reason=KNOWN_GAPS[test["id"]])]
            if test["id"] in KNOWN_GAPS
            else [],
        )
        for test in _index().get(suite, [])
    ]
    return cases or [pytest.param(None, marks=pytest.mark.skip(reason="no W3C corpus here"))]


@pytest.mark.parametrize("test", _cases("syntax"))
def test_syntax(test: dict[str, Any]) -> None:
    if test["expect"] == "positive":
        parse_query(_text(test), base_iri=test["base"])
    else:
        with pytest.raises(QuerySyntaxError) as caught:
            parse_query(_text(test), base_iri=test["base"])
        assert caught.value.line >= 1
        assert caught.value.column >= 1


@pytest.mark.parametrize("test", _cases("query"))
def test_evaluation_queries_parse_to_equal_algebra_twice(test: dict[str, Any]) -> None:
    first = parse_query(_text(test), base_iri=test["base"])
    second = parse_query(_text(test), base_iri=test["base"])
    assert first == second
    assert hash(first) == hash(second)
    assert format_algebra(first.pattern) == format_algebra(second.pattern)
