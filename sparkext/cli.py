"""The command `cqels`: what to do with its arguments, and how its failures read."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from sparkext.command_line.arguments import build_parser, parse_arguments

if TYPE_CHECKING:
    from argparse import Namespace

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130

# Loaded when asked for: `cqels --help` needs neither Spark nor the parser of queries.
_COMMANDS = {
    "run": "sparkext.command_line.run",
    "explain": "sparkext.command_line.explain",
    "sparql": "sparkext.command_line.sparql",
    "check": "sparkext.command_line.check",
    "serve": "sparkext.command_line.served.serve",
    "status": "sparkext.command_line.served.status",
    "jar": "sparkext.command_line.jar_path",
}


class _Warnings(logging.Handler):
    """Tells warnings on standard error, each once: a mapping is read for every stream that it is for."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if said not in self._told:
            self._told.add(said)
            sys.stderr.write(f"cqels: warning: {said}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run `cqels` with these arguments (those of the process without any); gives the exit status.

    0: done; 1: bad input or a failure, with one message on standard error, or wrong answers (`cqels check`); 2: wrong
    usage. A Spark
    session that is already active in the process is used and left running.
    """
    try:
        arguments = parse_arguments(list(sys.argv[1:] if argv is None else argv))
    except SystemExit as end:  # argparse has said what there is to say
        return end.code if isinstance(end.code, int) else WRONG_USAGE
    if arguments.command is None:
        build_parser().print_help(sys.stderr)
        return WRONG_USAGE
    quiet = logging.NullHandler()
    loggers = [logging.getLogger(name) for name in ("sparkext", "static_data", "adaptive", "py4j")]
    for logger in loggers:
        logger.addHandler(quiet)
    of_mappings, told = logging.getLogger("static_data.mappings"), _Warnings()
    try:
        with warnings.catch_warnings():
            if arguments.debug:
                logging.basicConfig(level=logging.INFO, stream=sys.stderr)
            else:
                warnings.simplefilter("ignore")
                if arguments.command != "serve":  # which has a log
                    of_mappings.addHandler(told)
            return _run(arguments)
    finally:
        of_mappings.removeHandler(told)
        for logger in loggers:
            logger.removeHandler(quiet)


def _run(arguments: Namespace) -> int:
    try:
        command: Callable[[Namespace], int | None] = import_module(
            _COMMANDS[arguments.command]
        ).execute
        status = command(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("cqels: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has left; nothing more may be written there, also not at exit.
        _silence_stdout()
        return FAILED
    except Exception as error:
        if arguments.debug:
            raise
        from sparkext.command_line.messages import message_of

        sys.stderr.write(f"cqels: {message_of(error)}\n")
        _leave_unwritten()
        return FAILED
    return DONE if status is None else status


def _leave_unwritten() -> None:
    """Where standard output takes nothing, as on a full disk, what is left for it is not tried again at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _silence_stdout()


def _silence_stdout() -> None:
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return  # Not a file: nothing is left in a buffer that could fail at exit.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
