"""Logs of a server: quiet by default, as lines of text or of JSON."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal, TextIO

LogFormat = Literal["text", "json"]
LEVELS = ("error", "warning", "info", "debug")
_OURS = ("sparkext", "static_data", "adaptive", "uvicorn")
# What uvicorn says of a client that was cut off, which is told anyway.
_BROKEN_OFF = "ASGI callable returned without completing response."
_REMEMBERED = 10_000
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


class Seldom(logging.Filter):
    """Lets a warning that is repeated, of the same thing in the same words, pass once in `seconds`, and says how often.

    A query that lags, or a stream with late elements, would fill the log.
    """

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds = seconds
        self._clock = clock
        self._told: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is written."""
        if record.levelno != logging.WARNING:
            return True
        about = record.args[0] if isinstance(record.args, tuple) and record.args else None
        key = (record.name, record.msg, str(about))
        now = self._clock()
        told, kept_back = self._told.get(key, (now - self._seconds, 0))
        if now - told < self._seconds:
            self._told[key] = (told, kept_back + 1)
            return False
        if len(self._told) >= _REMEMBERED:
            self._told.clear()
        self._told[key] = (now, 0)
        if kept_back:
            record.msg = f"{record.getMessage()} ({kept_back} like this since the last)"
            record.args = None
        return True


@contextmanager
def logging_to(format: LogFormat, level: str, stream: TextIO | None = None) -> Iterator[None]:
    """Have what this project and its HTTP server log go to a stream (standard error), one line each."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.addFilter(Seldom())
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
