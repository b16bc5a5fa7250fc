"""`cqels run`: recorded streams through a continuous query, answers as JSON Lines."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, TextIO

from sparkext.command_line.inputs import prepared
from sparkext.command_line.output import check_output, opened_output
from sparkext.command_line.replay import replay, report_lines
from sparkext.command_line.row_streams import replay_rows, row_reports
from sparkext.runtime.answering.sinks import JsonLinesSink

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers


class _FailingFast:
    """A sink whose failure ends the command: an engine itself goes on without a failing subscriber."""

    def __init__(self, file: TextIO, skip_empty: bool) -> None:
        self._sink = JsonLinesSink(file, skip_empty)
        self._failure: Exception | None = None

    def __call__(self, answers: Answers) -> None:
        if self._failure is None:
            try:
                self._sink(answers)
            except Exception as error:
                self._failure = error

    def check(self) -> None:
        """Raise what went wrong since the last look."""
        if self._failure is not None:
            raise self._failure


def execute(arguments: Namespace) -> None:
    """Run the command; raises what `sparkext.command_line.messages` can put into words."""
    check_output(arguments.out)
    with prepared(arguments) as inputs:
        with opened_output(arguments.out) as file:
            sink = _FailingFast(file, arguments.skip_empty)
            inputs.query.subscribe(sink)
            if inputs.rows:
                given = (inputs.engine, inputs.rows, inputs.recordings)
                replay_rows(*given, arguments.arrival_order, sink.check)
            else:
                replay(inputs.engine, inputs.recordings, arguments.arrival_order, sink.check)
            file.flush()
        for line in report_lines(inputs.engine, {**inputs.recordings, **row_reports(inputs.rows)}):
            sys.stderr.write(f"cqels: {line}\n")
        if sys.stderr.isatty():
            sys.stderr.write(f"cqels: {inputs.query.progress}\n")
