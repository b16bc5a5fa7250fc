"""What a mapping says, as plain data: which terms and quads a row of a source stands for.

R2RML (W3C Recommendation 2012) and RML say it in triples maps; here each is taken apart into the quads that one row
makes, each of four term maps. What R2RML calls a column and RML a reference is a `Reference`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from static_data.errors import MappingError
from static_data.terms import Term


@dataclass(frozen=True)
class Place:
    """Where something of a mapping stands: its file, the triples map by name, and the line where that is known."""

    file: str
    triples_map: str | None = None
    line: int | None = None

    def error(self, message: str, property: str | None = None) -> MappingError:
        """An error with this place."""
        return MappingError(self.file, self.line, self.triples_map, property, message)


Step: TypeAlias = str | int | None
"""One step of a path into a row: a name, a number from 0, or None for every member."""


@dataclass(frozen=True)
class Reference:
    """A column of a row, or a path into it; `text` is how the mapping writes it.

    >>> Reference("$.tags[*]", ("tags", None)).is_column
    False
    """

    text: str
    steps: tuple[Step, ...]

    @property
    def is_column(self) -> bool:
        """Whether it names a field, perhaps one inside others; it then has one value at most."""
        return bool(self.steps) and all(isinstance(step, str) for step in self.steps)

    @property
    def name(self) -> str:
        """The names of its steps with dots between them, "*" for every member."""
        return ".".join("*" if step is None else str(step) for step in self.steps)


class TermKind(Enum):
    """R2RML's term types, and RML's that tell how an IRI is made."""

    IRI = "IRI"
    URI = "URI"
    BLANK_NODE = "BlankNode"
    LITERAL = "Literal"

    @property
    def is_iri(self) -> bool:
        """Whether terms are IRIs; of a URI they are ASCII only."""
        return self in (TermKind.IRI, TermKind.URI)


@dataclass(frozen=True)
class ConstantTerm:
    """The same term for all rows."""

    term: Term


@dataclass(frozen=True)
class GeneratedTerm:
    """A term that is made of values of the row; none is made where one of them is null.

    `parts` are texts and references one after the other. Of a `template` for IRIs the values are percent-encoded;
    otherwise the one reference is the whole. A literal without `datatype` and `language` has the natural datatype of
    its value. `base` is what relative IRIs are put behind.
    """

    parts: tuple[str | Reference, ...]
    template: bool
    kind: TermKind
    datatype: TermMap | None = None
    language: TermMap | None = None
    base: str | None = None
    place: Place = field(default=Place(""), compare=False, repr=False)

    @property
    def references(self) -> list[Reference]:
        """The references among the parts, in their order."""
        return [part for part in self.parts if isinstance(part, Reference)]


@dataclass(frozen=True)
class QuotedTerm:
    """A quoted triple (RML-star), of terms of the same row."""

    subject: TermMap
    predicate: TermMap
    object: TermMap


@dataclass(frozen=True)
class JoinedTerm:
    """Terms of those rows of `parent` whose values equal the row's, for each pair (own, parent's) of `conditions`."""

    parent: Source
    term: TermMap
    conditions: tuple[tuple[Reference, Reference], ...]
    place: Place = field(default=Place(""), compare=False, repr=False)


TermMap: TypeAlias = ConstantTerm | GeneratedTerm | QuotedTerm | JoinedTerm


class RowForm(Enum):
    """What rows of a source are: records of named columns, or JSON objects into which paths lead."""

    COLUMNS = "columns"
    JSON = "JSON"


@dataclass(frozen=True)
class Source:
    """A logical source: where its rows come from, and how they are read.

    `name` is a path or the name of a table. `iterator` leads from a JSON document to its rows; `nulls` are texts that
    stand for no value; `delimiter` None is that of the file's ending. `unreadable` says why its rows can only be given,
    not read.
    """

    name: str
    form: RowForm = RowForm.COLUMNS
    is_table: bool = False
    iterator: tuple[Step, ...] = ()
    nulls: tuple[str, ...] = ()
    delimiter: str | None = None
    from_working_directory: bool = False
    unreadable: str | None = None
    place: Place = field(default=Place(""), compare=False, repr=False)


@dataclass(frozen=True)
class MappedQuad:
    """One quad that a row makes when all of its terms are made; `graph` None is the default graph."""

    subject: TermMap
    predicate: TermMap
    object: TermMap
    graph: TermMap | None = None


@dataclass(frozen=True)
class MappedRows:
    """The quads of each row of one source."""

    source: Source
    quads: tuple[MappedQuad, ...]

    def term_maps(self) -> Iterator[TermMap]:
        """All term maps of the quads, those inside others too, each once."""
        seen: set[TermMap] = set()
        for quad in self.quads:
            for term in (quad.subject, quad.predicate, quad.object, quad.graph):
                if term is not None:
                    yield from _inside(term, seen)

    def references(self) -> list[Reference]:
        """What is read of a row, each once, in the order of the mapping."""
        return references_of(self.term_maps())

    def parents(self) -> list[Source]:
        """The sources whose rows are joined, each once; its own may be among them."""
        joined = [term.parent for term in self.term_maps() if isinstance(term, JoinedTerm)]
        return list(dict.fromkeys(joined))


def references_of(terms: Iterable[TermMap]) -> list[Reference]:
    """What term maps read of a row, each once; of joins only what their conditions ask of the row itself."""
    found: dict[Reference, None] = {}
    for term in terms:
        if isinstance(term, GeneratedTerm):
            found.update(dict.fromkeys(term.references))
        elif isinstance(term, JoinedTerm):
            found.update(dict.fromkeys(own for own, _ in term.conditions))
    return list(found)


def inner_terms(term: TermMap) -> list[TermMap]:
    """A term map and those inside it, but for those of a join, which are of other rows."""
    return list(_inside(term, set()))


@dataclass(frozen=True)
class RowMapping:
    """A mapping file: what the rows of each of its sources stand for."""

    file: str
    rows: tuple[MappedRows, ...]

    def of_source(self, name: str | None = None) -> MappedRows:
        """The rows of the source of that name; None: of the only one that others do not join with.

        Raises MappingError.
        """
        known = ", ".join(rows.source.name for rows in self.rows) or "none"
        place = Place(self.file)
        if name is None:
            parents = {p for rows in self.rows for p in rows.parents() if p != rows.source}
            own = [rows for rows in self.rows if rows.source not in parents]
            if len(own) == 1:
                return own[0]
            raise place.error(
                f"its triples maps have several sources ({known}): name one by MappingOptions(logical_source=...);"
                " commands take a file for each"
            )
        found = [rows for rows in self.rows if rows.source.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise place.error(f"the source {name} is read in several ways")
        raise place.error(f"no triples map has the source {name}; known: {known}")


def _inside(term: TermMap, seen: set[TermMap]) -> Iterator[TermMap]:
    if term in seen:
        return
    seen.add(term)
    yield term
    inner: tuple[TermMap | None, ...] = ()
    if isinstance(term, QuotedTerm):
        inner = (term.subject, term.predicate, term.object)
    elif isinstance(term, GeneratedTerm):
        inner = (term.datatype, term.language)
    for one in inner:
        if one is not None:
            yield from _inside(one, seen)
