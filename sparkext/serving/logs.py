"""Logs of a server: quiet by default, as lines of text or of JSON."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal, TextIO

LogFormat = Literal["text", "json"]
LEVELS = ("error", "warning", "info", "debug")
_OURS = ("sparkext", "static_data", "adaptive", "uvicorn")
# What uvicorn says of a client that was cut off, which is told anyway.
_BROKEN_OFF = "ASGI callable returned without completing response."
_EXTRA = ("status", "seconds", "client")


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        text = f"{when} {record.levelname.lower()} {record.name}: {record.getMessage()}"
        extra = [f"{name}={getattr(record, name)}" for name in _EXTRA if hasattr(record, name)]
        text = " ".join([text, *extra]).replace("\r", "\\r").replace("\n", "\\n")
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return text


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        found = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: getattr(record, name) for name in _EXTRA if hasattr(record, name)},
        }
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False)


@contextmanager
def logging_to(format: LogFormat, level: str, stream: TextIO | None = None) -> Iterator[None]:
    """Have what this project and its HTTP server log go to a stream (standard error), one line each."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.addFilter(lambda record: record.msg != _BROKEN_OFF)
    handler.setFormatter(_JsonLines() if format == "json" else _Lines())
    loggers = [logging.getLogger(name) for name in _OURS]
    before = [(logger, logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(level.upper())
        logger.propagate = False
    try:
        yield
    finally:
        for logger, old, propagates in before:
            logger.removeHandler(handler)
            logger.setLevel(old)
            logger.propagate = propagates
