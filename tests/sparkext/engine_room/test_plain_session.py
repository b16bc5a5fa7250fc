"""With nothing registered, a session with the extension plans and answers as one without it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from sparkext.session import EXTENSION
from tests.conftest import ROOT
from tests.sparkext.engine_room.plain_queries import QUERIES


@pytest.fixture(
    scope="module",
    params=["true", pytest.param("false", marks=pytest.mark.slow)],
    ids=lambda adaptive: f"adaptive {adaptive}",
)
def sessions(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What the two sessions found; they run at the same time, each in a process of its own."""
    module = "tests.sparkext.engine_room.plain_queries"
    running = {
        kind: subprocess.Popen(
            [sys.executable, "-m", module, kind, request.param],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for kind in ("stock", "extended")
    }
    found = {}
    for kind, process in running.items():
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        found[kind] = json.loads(out)
    return found


def test_the_sessions_differ_in_the_extension_only(sessions: dict[str, Any]) -> None:
    assert sessions["stock"]["extensions"] == ""
    assert sessions["extended"]["extensions"] == EXTENSION
    assert len(sessions["stock"]["found"]) == len(QUERIES)


def test_plans_and_answers_are_the_same(sessions: dict[str, Any]) -> None:
    stock, extended = (sessions[kind]["found"] for kind in ("stock", "extended"))
    assert stock.keys() == extended.keys()
    for name in stock:
        assert extended[name] == stock[name], name
