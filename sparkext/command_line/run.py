"""`cqels run`: recorded streams through a continuous query, answers as JSON Lines."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from sparkext.command_line.inputs import Prepared, prepared
from sparkext.command_line.live import run_live
from sparkext.command_line.output import added_output, check_output, opened_output
from sparkext.command_line.replay import report_lines
from sparkext.command_line.served.page_beside import page_beside, page_listener
from sparkext.errors import InputFileError
from sparkext.runtime.answering.delivered import Delivered, revision_of
from sparkext.runtime.answering.sinks import JsonLinesSink
from sparkext.runtime.streams.replay import ReplayedStream
from sparkext.s2r.event_time import parse_date_time

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers

_BEGINNING = re.compile(r'\{"time": "([^"]+)"(?:, "revision": (\d+))?')


class _FailingFast:
    """A sink whose failure ends the command: an engine itself goes on without a failing subscriber.

    Answers that are `known` are in the file already. Once one could not be written no commit says that it was told: the
    next run answers it again.
    """

    def __init__(self, file: TextIO, skip_empty: bool, known: Delivered, flushes: bool) -> None:
        self._sink = JsonLinesSink(file, skip_empty)
        self._file = file
        self._known = known
        self._flushes = flushes
        self._failure: Exception | None = None

    def __call__(self, answers: Answers) -> None:
        told = answers.time, revision_of(answers)
        if self._failure is None and not self._known.has(*told):
            try:
                self._sink(answers)
                if self._flushes:
                    self._file.flush()
            except Exception as error:
                self._failure = error
            else:
                self._known.note(*told)

    def flush(self) -> None:
        """What a commit waits for, and what refuses it after a failure."""
        self.check()

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
        with _output(arguments, bool(inputs.live)) as (file, known):
            kept = arguments.checkpoint is not None
            sink = _FailingFast(file, arguments.skip_empty, known, kept or bool(inputs.live))
            inputs.query.subscribe(sink)
            try:
                found = _run(inputs, arguments, sink)
            finally:  # an interruption is how a run over live sources ends
                sink.check()
                if inputs.live and kept:
                    inputs.engine.commit()
            file.flush()
            if kept and not inputs.live:
                inputs.engine.commit()
        lines = report_lines(inputs.engine, found)
        if not kept:  # else they may have been given before
            lines += _nothing_lines(inputs)
        for line in lines:
            sys.stderr.write(f"cqels: {line}\n")
        if sys.stderr.isatty():
            sys.stderr.write(f"cqels: {inputs.query.progress}\n")
        stay()


def _nothing_lines(inputs: Prepared) -> list[str]:
    """What to say where nothing was answered: an empty file does not tell why."""
    progress = inputs.query.progress
    if progress.answers:
        return []
    count = sum(stream.accepted_count for stream in inputs.engine.streams.values())
    return [
        f"no answers: {count} element(s) came in, {progress.evaluations} instant(s) were evaluated;"
        " `cqels explain` shows what static data has for each pattern"
    ]


def _run(
    inputs: Prepared, arguments: Namespace, sink: _FailingFast
) -> Mapping[str, ReplayedStream]:
    if not inputs.live:
        return inputs.replay(sink.check, arguments.skipped)
    run_live(inputs.engine, inputs.live, arguments.span, arguments.until, sink.check)
    return {iri: ReplayedStream() for iri in inputs.live}


@contextmanager
def _output(arguments: Namespace, live: bool) -> Iterator[tuple[TextIO, Delivered]]:
    """Where answers go, and which of them are there already."""
    file, known = arguments.out, Delivered()
    if file is None or (arguments.checkpoint is None and not live):
        with opened_output(file) as target:
            yield target, known
        return
    if arguments.checkpoint is None:  # what is live is read as it comes
        with Path(file).open("w", encoding="utf-8", newline="") as target:
            yield target, known
        return
    with added_output(file) as (target, lines):
        for line in lines:
            match = _BEGINNING.match(line)
            try:
                if match is None:
                    raise ValueError(line[:80])
                known.note(parse_date_time(match[1]), None if match[2] is None else int(match[2]))
            except ValueError as error:
                raise InputFileError(
                    file, None, None, f"is not what a run with --checkpoint wrote: {error}"
                ) from None
        yield target, known
