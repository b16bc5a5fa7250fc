"""`cqels run`: recorded streams through a continuous query, answers as JSON Lines."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from sparkext.command_line.inputs import prepared
from sparkext.command_line.output import added_output, check_output, opened_output
from sparkext.command_line.replay import report_lines
from sparkext.command_line.served.page_beside import page_beside, page_listener
from sparkext.errors import InputFileError
from sparkext.runtime.answering.sinks import JsonLinesSink
from sparkext.s2r.event_time import parse_date_time

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers


class _FailingFast:
    """A sink whose failure ends the command: an engine itself goes on without a failing subscriber.

    Answers of instants up to `known` are in the file already.
    """

    def __init__(self, file: TextIO, skip_empty: bool, known: int | None, flushes: bool) -> None:
        self._sink = JsonLinesSink(file, skip_empty)
        self._file = file
        self._known = known
        self._flushes = flushes
        self._failure: Exception | None = None

    def __call__(self, answers: Answers) -> None:
        if self._failure is None and (self._known is None or answers.time > self._known):
            try:
                self._sink(answers)
                if self._flushes:
                    self._file.flush()
            except Exception as error:
                self._failure = error

    def check(self) -> None:
        """Raise what went wrong since the last look."""
        if self._failure is not None:
            raise self._failure


def execute(arguments: Namespace) -> None:
    """Run the command; raises what `sparkext.command_line.messages` can put into words."""
    check_output(arguments.out)
    with (
        page_listener(arguments.page) as listener,
        prepared(arguments) as inputs,
        page_beside(inputs.engine, listener) as stay,
    ):
        with _output(arguments) as (file, known):
            kept = arguments.checkpoint is not None
            sink = _FailingFast(file, arguments.skip_empty, known, kept)
            inputs.query.subscribe(sink)
            found = inputs.replay(sink.check, arguments.skipped)
            file.flush()
            if kept:
                inputs.engine.commit()
        for line in report_lines(inputs.engine, found):
            sys.stderr.write(f"cqels: {line}\n")
        if sys.stderr.isatty():
            sys.stderr.write(f"cqels: {inputs.query.progress}\n")
        stay()


@contextmanager
def _output(arguments: Namespace) -> Iterator[tuple[TextIO, int | None]]:
    """Where answers go, and the last instant of which they are there already."""
    if arguments.checkpoint is None or arguments.out is None:
        with opened_output(arguments.out) as file:
            yield file, None
        return
    with added_output(arguments.out) as (file, last):
        try:
            yield file, None if last is None else parse_date_time(json.loads(last)["time"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputFileError(
                arguments.out, None, None, f"is not what a run with --checkpoint wrote: {error}"
            ) from None
