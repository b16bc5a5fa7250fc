"""Logs of a server: one line each, as text or JSON, and nothing again and again."""

from __future__ import annotations

import io
import json
import logging

import pytest

from sparkext.serving.logs import LogFormat, Seldom, logging_to

logger = logging.getLogger("sparkext.serving.test")


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_record_is_one_line_whatever_is_in_it(format: LogFormat) -> None:
    out = io.StringIO()
    with logging_to(format, "info", out):
        logger.info("GET /%s", "a\nforged line", extra={"status": 200, "seconds": 0.5})
        logger.debug("not told")
    (line,) = out.getvalue().splitlines()
    if format == "json":
        found = json.loads(line)
        assert found["message"] == "GET /a\nforged line" and found["level"] == "info"
        assert (found["status"], found["seconds"]) == (200, 0.5)
    else:
        assert line.endswith(
            "info sparkext.serving.test: GET /a\\nforged line status=200 seconds=0.5"
        )
    logger.warning("no longer there")
    assert len(out.getvalue().splitlines()) == 1


def test_errors_have_their_trace_in_the_log() -> None:
    out = io.StringIO()
    with logging_to("json", "warning", out):
        try:
            raise ValueError("this")
        except ValueError:
            logger.exception("failed")
    assert "ValueError: this" in json.loads(out.getvalue())["exception"]


def test_a_warning_that_repeats_is_told_once_a_minute() -> None:
    now = [0.0]
    seldom = Seldom(60, lambda: now[0])

    def told(about: str, number: int, level: int = logging.WARNING) -> str | None:
        given = (about, number)
        record = logging.LogRecord("sparkext.x", level, "", 0, "%s lags by %d", given, None)
        return record.getMessage() if seldom.filter(record) else None

    assert told("q", 1) == "q lags by 1"
    assert told("r", 1) == "r lags by 1"
    now[0] = 59.0
    assert told("q", 2) is None and told("q", 3) is None
    assert told("q", 4, logging.ERROR) == "q lags by 4"
    now[0] = 60.0
    assert told("q", 5) == "q lags by 5 (2 like this since the last)"
    assert told("q", 6) is None
