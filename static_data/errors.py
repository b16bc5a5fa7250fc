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


class MappingError(StaticDataError):
    """A mapping of rows to RDF that is wrong, or asks for what is not supported.

    Names the file; and where they are known the line (from 1), the triples map and the property.
    """

    def __init__(
        self,
        file: str,
        line: int | None,
        triples_map: str | None,
        property: str | None,
        message: str,
    ) -> None:
        self.file = file
        self.line = line
        self.triples_map = triples_map
        self.property = property
        self.message = message
        place = file if line is None else f"{file}, line {line}"
        inside = [] if triples_map is None else [f"triples map {triples_map}"]
        inside += [] if property is None else [property]
        super().__init__(": ".join([place, *([", ".join(inside)] if inside else []), message]))


class MappedRowError(StaticDataError):
    """A row from which a mapping cannot make terms; names the source and the row, counted from 1."""

    def __init__(self, source: str, row: int, message: str) -> None:
        self.source = source
        self.row = row
        self.message = message
        super().__init__(f"{source}, row {row}: {message}")


class MalformedTermError(StaticDataError):
    """A text is not the N-Triples form of one RDF term, or an id that of none."""


class StoreFormatError(StaticDataError):
    """A folder is not a whole saved store, or one of another format version; names the folder."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        super().__init__(f"{path}: {message}")


class StoreConflictError(StaticDataError):
    """A saved store's ids contradict those the session gave out already."""


class IndexSizeError(StaticDataError):
    """A table has more rows of one subject or object than an index in files can; names predicate, graph and rows."""


class UnknownGraphError(StaticDataError):
    """No such graph was loaded; names the graph."""


class MissingExtensionError(StaticDataError):
    """The JVM extension is not on the session's class path."""
