"""What can go wrong while Linked Data are read, loaded, stored or looked up."""

from __future__ import annotations


class StaticDataError(Exception):
    """Base of all errors of this package."""


class ArgumentError(StaticDataError, TypeError):
    """An argument that is not what a call takes; `argument` is its name."""

    def __init__(self, argument: str, message: str) -> None:
        self.argument = argument
        self.message = message
        super().__init__(f"{argument}: {message}")


class UnsupportedFormatError(StaticDataError):
    """The RDF format or the compression of a file is not known; names the file."""

    def __init__(self, file: str, message: str) -> None:
        self.file = file
        super().__init__(f"{file}: {message}")


class MissingFileError(StaticDataError):
    """A file to load does not exist or cannot be opened; names the file."""

    def __init__(self, file: str, message: str = "no such file") -> None:
        self.file = file
        super().__init__(f"{file}: {message}")


class MalformedRdfError(StaticDataError):
    """A file is not valid RDF; names file, line and column (counted from 1; None = unknown)."""

    def __init__(self, file: str, line: int | None, column: int | None, message: str) -> None:
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        place = file
        if line is not None:
            place += f", line {line}"
            if column is not None:
                place += f", column {column}"
        super().__init__(f"{place}: {message}")


class MalformedTermError(StaticDataError):
    """A text is not the N-Triples form of one RDF term, or an id that of none."""


class StoreFormatError(StaticDataError):
    """A folder is not a whole saved store, or one of another format version; names the folder."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        super().__init__(f"{path}: {message}")


class StoreConflictError(StaticDataError):
    """A saved store's ids contradict those the session gave out already."""


class UnknownGraphError(StaticDataError):
    """No such graph was loaded; names the graph."""


class MissingExtensionError(StaticDataError):
    """The JVM extension is not on the session's class path."""
