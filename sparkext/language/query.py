"""A parsed query: its form, registration, windows, dataset, and the algebra of its pattern."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sparkext.language.nodes import Node, Position, TriplePattern, Variable, merge_variables
from static_data.terms import Iri

QueryForm = Literal["SELECT", "CONSTRUCT", "ASK", "DESCRIBE"]
StreamOperator = Literal["RSTREAM", "ISTREAM", "DSTREAM"]
WindowKind = Literal["range", "now", "elements", "landmark", "interval"]
ReportStrategy = Literal["CC", "strict CC", "WC", "NC"]
"""Content change by arrival or also by loss, window close, non-empty content (RSP-QL, Definition 23)."""


def strategy_named(text: str) -> ReportStrategy | None:
    """The report strategy of a name, in full or by its letters; None for another text.

    >>> [strategy_named(text) for text in ("Window Close", "strict CC", "NON-EMPTY CONTENT", "x")]
    ['WC', 'strict CC', 'NC', None]
    """
    match text.upper().replace("-", "").split():
        case ["WC"] | ["WINDOW", "CLOSE"]:
            return "WC"
        case ["CC"] | ["CONTENT", "CHANGE"]:
            return "CC"
        case ["STRICT", "CC"] | ["STRICT", "CONTENT", "CHANGE"]:
            return "strict CC"
        case ["NC"] | ["NONEMPTY"] | ["NONEMPTY", "CONTENT"] | ["NON", "EMPTY", *_]:
            return "NC"
    return None


@dataclass(frozen=True)
class WindowReport:
    """The REPORT clause of a window: it reports where all these strategies hold, and, with
    `every_ms`, at that period only.
    """

    strategies: tuple[ReportStrategy, ...]
    every_ms: int | None = None


@dataclass(frozen=True)
class ReportRule:
    """A conjunction of the REPORT clause of REGISTER: strategies, each of the window named."""

    conditions: tuple[tuple[ReportStrategy, Iri], ...]
    every_ms: int | None = None


@dataclass(frozen=True)
class Registration:
    """The REGISTER clause: the streaming operator (None: STREAM alone), the query's IRI, COMPUTED
    EVERY, and when to report: where any of the rules holds. The name is None where only SELECT says the
    operator (SPARQLstream).
    """

    operator: StreamOperator | None
    name: Iri | None
    every_ms: int | None = None
    report: tuple[ReportRule, ...] = ()
    position: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class WindowDeclaration:
    """One FROM [NAMED] WINDOW clause; the name is None for a window merged into the default graph.

    Kind `range` has `width_ms`, and `slide_ms`, `start_ms` and `delay_ms` when written; `now` has
    none of them; `elements` has `width_elements`, and `slide_elements` when written; `landmark` has
    `start_ms`, unless it holds everything; `interval` has `start_ms` and `end_ms`. `inner` is the
    window whose content this one is applied to, when windows are composed.
    """

    name: Iri | None
    stream: Iri
    kind: WindowKind
    width_ms: int | None = None
    slide_ms: int | None = None
    start_ms: int | None = None
    width_elements: int | None = None
    slide_elements: int | None = None
    delay_ms: int | None = None
    end_ms: int | None = None
    inner: WindowDeclaration | None = None
    report: WindowReport | None = None
    position: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class DatasetClause:
    """The graphs of FROM and FROM NAMED; `position` is that of the first such clause."""

    default: tuple[Iri, ...] = ()
    named: tuple[Iri, ...] = ()
    position: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class QueryWarning:
    """Something legal that is probably not meant; `line` and `column` are 1-based."""

    message: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


@dataclass(frozen=True)
class Query:
    """A query, continuous when it has windows or a registration.

    `pattern` is the algebra with all solution modifiers. `variables` are the projected ones in
    order (for the other forms: the visible variables in scope). `template` is CONSTRUCT's,
    `described` are DESCRIBE's resources. Equality looks at the meaning only: text, prefixes and
    warnings take no part.
    """

    form: QueryForm
    pattern: Node
    variables: tuple[Variable, ...]
    windows: tuple[WindowDeclaration, ...] = ()
    dataset: DatasetClause = DatasetClause()
    registration: Registration | None = None
    template: tuple[TriplePattern, ...] = ()
    described: tuple[Iri | Variable, ...] = ()
    default_operator: StreamOperator = "RSTREAM"
    text: str = field(default="", compare=False, repr=False)
    prefixes: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    base_iri: str | None = field(default=None, compare=False, repr=False)
    warnings: tuple[QueryWarning, ...] = field(default=(), compare=False)
    position: Position | None = field(default=None, compare=False, repr=False)

    @property
    def stream_operator(self) -> StreamOperator:
        """The operator that makes the output stream: the one that the query is registered with, or
        else the default, RSTREAM unless a profile has another.
        """
        written = None if self.registration is None else self.registration.operator
        return written or self.default_operator

    @property
    def answered(self) -> tuple[Variable, ...]:
        """The variables that the answer is made of: those projected, in the template, or described."""
        match self.form:
            case "CONSTRUCT":
                return merge_variables(*(triple.variables for triple in self.template))
            case "DESCRIBE":
                found = (term for term in self.described if isinstance(term, Variable))
                return merge_variables(found)
            case "ASK":
                return ()
        return self.variables

    def window(self, name: Iri) -> WindowDeclaration:
        """Return the declaration of a named window; raises KeyError."""
        for declaration in self.windows:
            if declaration.name == name:
                return declaration
        raise KeyError(name.value)
