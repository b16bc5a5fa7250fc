"""The errors a user can meet; every message names the file, the line and column, or the key it is
about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from static_data import errors


class CqelsError(Exception):
    """Base of all errors raised on purpose by this package."""


class ArgumentError(CqelsError, errors.ArgumentError):
    """An argument that is not what a call takes; `argument` is its name. (It is a TypeError, too.)"""


class ParameterError(CqelsError):
    """A parameter of a query that it does not have, or that cannot have that term."""


class EvaluationError(CqelsError):
    """Evaluations that failed; everything else that was due has been evaluated."""


class LimitError(CqelsError):
    """An evaluation that took more time, memory or rows than `spark.cqels.limits.*` let it; its query is stopped."""


class QuerySyntaxError(CqelsError):
    """A query text that is not RSP-QL*; `line` and `column` are 1-based.

    `expected` names, for a reader, what could have stood there (empty when the text breaks a rule
    that the grammar alone does not say, such as a blank node label used in two basic graph
    patterns).

    >>> print(QuerySyntaxError("unexpected '}'", 3, 7, ["an IRI", "a variable"]))
    line 3, column 7: unexpected '}'; expected an IRI or a variable
    """

    def __init__(self, message: str, line: int, column: int, expected: Sequence[str] = ()) -> None:
        self.message = message
        self.line = line
        self.column = column
        self.expected = tuple(expected)
        wanted = f"; expected {_one_of(self.expected)}" if self.expected else ""
        super().__init__(f"line {line}, column {column}: {message}{wanted}")


class UnsupportedFeatureError(CqelsError):
    """A valid query with something the engine does not run; `line` and `column` are 1-based."""

    def __init__(self, message: str, line: int, column: int) -> None:
        self.message = message
        self.line = line
        self.column = column
        super().__init__(f"line {line}, column {column}: {message}")


class ProfileError(UnsupportedFeatureError):
    """Something in a query that the semantics profile does not have; `line` and `column` are 1-based."""


class UnknownStreamError(CqelsError):
    """A stream IRI that was never registered."""

    def __init__(self, iri: str, known: Sequence[str] = ()) -> None:
        self.iri = iri
        self.known = tuple(known)
        super().__init__(f"unknown stream <{iri}>{_registered(self.known)}")


class UnknownQueryError(CqelsError):
    """A name that no registered query has, or has no more."""

    def __init__(self, name: str, known: Sequence[str] = ()) -> None:
        self.name = name
        self.known = tuple(known)
        known_too = f"; known: {', '.join(self.known)}" if self.known else ""
        super().__init__(f"no query named {name} is registered{known_too}")


class RecursiveQueryError(CqelsError):
    """A query that reads, directly or through other queries, the stream that it makes."""

    def __init__(self, iri: str) -> None:
        self.iri = iri
        super().__init__(f"the query that makes the stream <{iri}> would read it")


class UnknownGraphError(CqelsError):
    """A named graph that holds no data and was never loaded."""

    def __init__(self, iri: str, known: Sequence[str] = ()) -> None:
        self.iri = iri
        self.known = tuple(known)
        super().__init__(f"unknown graph <{iri}>{_registered(self.known)}")


class UnknownWindowError(CqelsError):
    """A window name that the query uses but does not declare; `line` and `column` are 1-based."""

    def __init__(self, iri: str, line: int, column: int, known: Sequence[str] = ()) -> None:
        self.iri = iri
        self.line = line
        self.column = column
        self.known = tuple(known)
        super().__init__(
            f"line {line}, column {column}: window <{iri}> is not declared with FROM NAMED WINDOW"
            f"{_registered(self.known)}"
        )


class ConfigurationError(CqelsError):
    """A configuration key with a value that is not allowed, or an unknown key."""

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        self.message = message
        super().__init__(f"{key}: {message}")


class SessionError(CqelsError):
    """A Spark session in which the engine cannot run."""


class StoppedQueryError(CqelsError):
    """Something was asked of a query that has been stopped."""

    def __init__(self) -> None:
        super().__init__("the query has been stopped")


class ClosedEngineError(CqelsError):
    """Something was asked of an engine that has been closed, or is being closed while it evaluates."""

    def __init__(self, message: str = "the engine has been closed") -> None:
        super().__init__(message)


class ReadOnlyStoreError(CqelsError):
    """A change that somebody tried by way of an rdflib store of static data."""

    def __init__(self) -> None:
        super().__init__(
            "an engine's rdflib store is for reading: static data change by insert, remove, replace_graph and"
            " load_static of the engine"
        )


class DuplicateNameError(CqelsError):
    """A name of a query or function that is already in use."""


class FunctionError(CqelsError):
    """A user's function that is declared wrongly, gave what is no term, or used the engine that called it."""


class DistributionError(CqelsError):
    """A distribution that has no literal, or a literal that no frozen distribution of scipy stands for."""


class LiveViewError(CqelsError):
    """Data that do not fit a live view, a view declared wrongly, or one that has been dropped."""


class PreparationError(CqelsError):
    """A Spark SQL query that cannot be prepared, or a prepared one that has been closed."""


class RunError(CqelsError):
    """A run of a prepared Spark SQL query that failed, with what Spark says of it."""


class StreamElementError(CqelsError):
    """A stream element that cannot be used: no time, two times, a graph name used before, or
    malformed RDF.
    """


class CheckpointError(CqelsError):
    """A checkpoint that cannot be used, read or written; `path` is its folder.

    >>> print(CheckpointError("kept", "process 7 on here is using it"))
    checkpoint kept: process 7 on here is using it
    """

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        super().__init__(f"checkpoint {path}: {message}")


class MissingLibraryError(CqelsError):
    """A library that is not installed and that something needs; `extra` brings it.

    >>> print(MissingLibraryError("a Kafka source", "confluent_kafka", "kafka"))
    a Kafka source needs confluent_kafka: pip install 'spark-cqels[kafka]'
    """

    def __init__(self, what: str, module: str, extra: str) -> None:
        self.module = module
        self.extra = extra
        super().__init__(f"{what} needs {module}: pip install 'spark-cqels[{extra}]'")


class SourceError(CqelsError):
    """A source of messages, or a sink, that cannot be what was asked for; or one that ended with an error."""


class CheckError(CqelsError):
    """Answers that the oracle cannot judge: a query, a profile or a number of candidates beyond it."""


class InputFileError(CqelsError):
    """An input file that cannot be read; `line` and `column` are 1-based, or None when the file as
    a whole is meant.
    """

    def __init__(self, file: str, line: int | None, column: int | None, message: str) -> None:
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        place = "".join(f":{number}" for number in (line, column) if number is not None)
        super().__init__(f"{file}{place}: {message}")


@contextmanager
def failures_told() -> Iterator[None]:
    """Have what fails in Java be an EvaluationError, and a query that goes deeper than a stack, Python's or Java's, an
    UnsupportedFeatureError.
    """
    try:
        yield
    except RecursionError:
        raise UnsupportedFeatureError(_TOO_DEEP, 1, 1) from None
    except Exception as error:
        java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
        if java is None or isinstance(error, CqelsError):
            raise
        if "java.lang.StackOverflowError" in str(java):
            raise UnsupportedFeatureError(_TOO_DEEP, 1, 1) from None
        raise EvaluationError(first_line(error)) from error


_TOO_DEEP = "the query is nested too deeply"


def first_line(error: BaseException) -> str:
    r"""The first line of what an error says, empty when it says nothing.

    Of an error from Java that is its class and message, without the stack trace; of one of Python's
    that came through Java, what Python says.

    >>> first_line(ValueError("\n  no such room\nfound: r1, r2"))
    'no such room'
    """
    java = getattr(error, "java_exception", None)
    text = str(error if java is None else java)
    _, traceback, rest = text.rpartition("Traceback (most recent call last):\n")
    lines = rest.splitlines()
    if traceback:  # the frames are indented, what was raised is not
        lines = [line for line in lines if not line.startswith(" ")]
    return next((line.strip() for line in lines if line.strip()), "")


def _one_of(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _registered(known: tuple[str, ...]) -> str:
    return f"; known: {', '.join(f'<{iri}>' for iri in known)}" if known else ""
