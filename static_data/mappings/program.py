"""What a mapping says of rows as a program for the JVM: columns by number, term maps, quads of them by number.

Read by MappedProgram.scala.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from static_data.mappings.materialise import Materialiser
from static_data.mappings.row_mapping import (
    ConstantTerm,
    GeneratedTerm,
    JoinedTerm,
    MappedRows,
    QuotedTerm,
    Reference,
    Source,
    TermKind,
    TermMap,
)
from static_data.mappings.rows import Rows
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple, Term

_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


@dataclass(frozen=True)
class RowProgram:
    """A program as JSON, and the references whose values it takes as columns, in this order."""

    json: str
    columns: tuple[Reference, ...]


def program_of(
    mapped: MappedRows, parents: Mapping[Source, Rows], scope: str | None = None
) -> RowProgram:
    """The program for rows, with the rows that it joins with in it.

    A join with a source that is none of `parents` finds the row itself. `scope` is the prefix of all blank nodes of
    what is loaded together; in a stream (None) each element has its own. Raises MappedRowError for a row of a parent
    that is wrong, and MappingError for what cannot be joined.
    """
    return _Compilation(mapped, parents, scope).program()


@dataclass
class _Compilation:
    mapped: MappedRows
    parents: Mapping[Source, Rows]
    scope: str | None
    columns: dict[Reference, int] = field(default_factory=dict)
    terms: dict[TermMap, int] = field(default_factory=dict)
    written: list[dict[str, Any]] = field(default_factory=list)

    def program(self) -> RowProgram:
        quads = [
            [-1 if term is None else self._number(term) for term in _cells(quad)]
            for quad in self.mapped.quads
        ]
        program: dict[str, Any] = {"columns": [], "terms": self.written, "quads": quads}
        source = self.mapped.source
        program |= {"nulls": list(source.nulls), "iterator": list(source.iterator)}
        program["columns"] = [reference.name for reference in self.columns]
        program["paths"] = [list(reference.steps) for reference in self.columns]
        return RowProgram(json.dumps(program), tuple(self.columns))

    def _number(self, term: TermMap) -> int:
        if term not in self.terms:
            node = self._written(term)
            self.terms[term] = len(self.written)
            self.written.append(node)
        return self.terms[term]

    def _column(self, reference: Reference) -> int:
        return self.columns.setdefault(reference, len(self.columns))

    def _written(self, term: TermMap) -> dict[str, Any]:
        if isinstance(term, ConstantTerm):
            return {"op": "constant", "text": term.term.n3()}
        if isinstance(term, QuotedTerm):
            parts = (term.subject, term.predicate, term.object)
            return {"op": "triple", "terms": [self._number(part) for part in parts]}
        if isinstance(term, JoinedTerm):
            return self._joined(term)
        return self._generated(term)

    def _generated(self, term: GeneratedTerm) -> dict[str, Any]:
        if term.kind.is_iri:
            return self._iri(term)
        if term.kind is TermKind.BLANK_NODE:
            return {"op": "blank", "parts": self._parts(term)}
        reference = term.parts[0]
        natural = not term.template and term.datatype is None and term.language is None
        if natural and isinstance(reference, Reference):
            return {"op": "natural", "column": self._column(reference)}
        node = {"op": "literal", "template": term.template, "parts": self._parts(term)}
        if term.datatype is not None:
            node["datatype"] = self._end(term.datatype)
        if term.language is not None:
            node["language"] = self._end(term.language)
        return node

    def _iri(self, term: GeneratedTerm) -> dict[str, Any]:
        first = term.parts[0]
        absolute = term.template and isinstance(first, str) and bool(_WITH_SCHEME.match(first))
        return {
            "op": "iri",
            "template": term.template,
            "ascii": term.kind is TermKind.URI,
            "absolute": absolute,
            "base": term.base,
            "parts": self._parts(term),
        }

    def _parts(self, term: GeneratedTerm) -> list[str | int]:
        return [part if isinstance(part, str) else self._column(part) for part in term.parts]

    def _end(self, term: TermMap) -> dict[str, Any]:
        if isinstance(term, ConstantTerm):
            value = term.term
            return {"fixed": value.value if isinstance(value, Iri) else _lexical(value)}
        assert isinstance(term, GeneratedTerm)
        return (
            self._generated(term)
            if term.kind.is_iri
            else {"op": "text", "parts": self._parts(term)}
        )

    def _joined(self, term: JoinedTerm) -> dict[str, Any]:
        if term.parent not in self.parents:
            if not all(r.is_column for pair in term.conditions for r in pair):
                raise term.place.error("a row is joined with itself by fields of one value only")
            equal = [[self._column(own), self._column(parent)] for own, parent in term.conditions]
            return {"op": "own", "equal": equal, "term": self._number(term.term)}
        rows = []
        for key, found in Materialiser(self.mapped, self.parents).joined(term).items():
            for one in found:
                quoted = isinstance(one, QuotedTriple) and _has_blank_node(one)
                if quoted and self.scope is None:
                    raise term.place.error(
                        "a quoted triple with a blank node of another source cannot be joined in a stream"
                    )
            rows.append([list(key), [self._scoped(one).n3() for one in found]])
        columns = [self._column(own) for own, _ in term.conditions]
        scoped = self.scope is not None
        return {"op": "join", "columns": columns, "rows": rows, "scoped": scoped}

    def _scoped(self, term: Term) -> Term:
        if self.scope is None:
            return term
        if isinstance(term, BlankNode):
            return BlankNode(self.scope + term.label)
        if isinstance(term, QuotedTriple):
            parts = (self._scoped(t) for t in (term.subject, term.predicate, term.object))
            return QuotedTriple(*parts)  # type: ignore[arg-type]
        return term


def _cells(quad: Any) -> Sequence[TermMap | None]:
    return (quad.subject, quad.predicate, quad.object, quad.graph)


def _lexical(term: Term) -> str:
    assert isinstance(term, Literal)
    return term.lexical


def _has_blank_node(term: Term) -> bool:
    if isinstance(term, QuotedTriple):
        return any(_has_blank_node(part) for part in (term.subject, term.predicate, term.object))
    return isinstance(term, BlankNode)
