"""Errors as one line for the user of the command: file:line:column, or the key, comes first."""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError

from sparkext.errors import CqelsError, InputFileError, first_line
from static_data.errors import MalformedRdfError, StaticDataError

_PLACE = re.compile(r"line \d+, column \d+: ")


def message_of(error: BaseException) -> str:
    """The line that tells a user what is wrong.

    >>> message_of(MalformedRdfError("people.nt", 3, 7, "not an IRI"))
    'people.nt:3:7: not an IRI'
    """
    if isinstance(error, MalformedRdfError):
        return str(InputFileError(error.file, error.line, error.column, error.message))
    if isinstance(error, CqelsError | StaticDataError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    kind = "Spark failed" if isinstance(error, Py4JJavaError) else type(error).__name__
    return f"{kind}: {first_line(error) or 'no message'} (with --debug: all of it)"


def in_query_file(file: str, error: CqelsError, position: tuple[int, int] | None) -> InputFileError:
    """An error about a query with the file it stands in.

    `position` is where in the file, for errors that do not know it themselves.

    >>> from sparkext.errors import UnknownStreamError
    >>> str(in_query_file("q.rspql", UnknownStreamError("http://e/s"), (2, 5)))
    'q.rspql:2:5: unknown stream <http://e/s>'
    """
    line, column = position or (None, None)
    line, column = getattr(error, "line", line), getattr(error, "column", column)
    return InputFileError(file, line, column, _PLACE.sub("", str(error), count=1))
