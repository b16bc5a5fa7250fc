"""Rows in, the quads that a mapping makes of them out: term by term, as the specifications put it.

R2RML, sections 7 and 11 (term maps, the generated RDF term, the output dataset), RML-star for quoted triples. Slow
and plain: what is compiled is held to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from static_data.errors import MappedRowError
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
    inner_terms,
    references_of,
)
from static_data.mappings.rows import JsonRows, Rows, Values
from static_data.mappings.templates import ascii_only, iri_safe, uri_safe
from static_data.mappings.term_maps import LANGUAGE
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple, Term

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|\\^`]*")
_NOT_IN_LABEL = re.compile(r"[^A-Za-z0-9]")


class Quad(NamedTuple):
    """A quad of terms; graph None is the default graph."""

    subject: Term
    predicate: Term
    object: Term
    graph: Term | None = None

    def nquads(self) -> str:
        """The N-Quads-star line."""
        terms = self if self.graph is not None else self[:3]
        return " ".join(term.n3() for term in terms if term is not None) + " ."


class RowFlawError(ValueError):
    """What keeps a row from being mapped."""


class Materialiser:
    """Makes the quads of rows of one source.

    `parents` are the rows of the sources it joins with. A join with its own source finds the rows of `parents`, too;
    where these are not given, the row itself: a row of a stream is all that there is of its source.
    """

    def __init__(self, mapped: MappedRows, parents: Mapping[Source, Rows]) -> None:
        self._mapped = mapped
        self._parents = parents
        self._joins = {
            term: self._index(term, parents[term.parent])
            for term in mapped.term_maps()
            if isinstance(term, JoinedTerm) and term.parent in parents
        }

    def quads_by_row(self, rows: Rows) -> Iterator[list[Quad] | MappedRowError]:
        """The distinct quads of each row, or what is wrong with it; raises MappingError for missing columns."""
        references = dict.fromkeys([*self._mapped.references(), *self._own_parents_references()])
        flaws = rows.unread() if isinstance(rows, JsonRows) else {}
        values = {reference: rows.values(reference, flaws) for reference in references}
        for number in range(len(rows)):
            if number in flaws:
                yield MappedRowError(self._mapped.source.name, number + 1, flaws[number])
                continue
            row = {reference: column[number] for reference, column in values.items()}
            try:
                yield list(dict.fromkeys(self._quads(row)))
            except RowFlawError as flaw:
                yield MappedRowError(self._mapped.source.name, number + 1, str(flaw))

    def quads(self, rows: Rows) -> list[Quad]:
        """The distinct quads of all rows together; raises MappedRowError for the first row that is wrong."""
        found: dict[Quad, None] = {}
        for quads in self.quads_by_row(rows):
            if isinstance(quads, MappedRowError):
                raise quads
            found.update(dict.fromkeys(quads))
        return list(found)

    def joined(self, term: JoinedTerm) -> Mapping[tuple[str, ...], list[Term]]:
        """The terms of another source's rows by the values that the conditions of a join ask for."""
        return self._joins[term]

    def _own_parents_references(self) -> Iterator[Reference]:
        """What joins with the row itself read of it as a parent."""
        for term in self._mapped.term_maps():
            if isinstance(term, JoinedTerm) and term not in self._joins:
                yield from (parent for _, parent in term.conditions)
                yield from references_of(inner_terms(term.term))

    def _quads(self, row: Mapping[Reference, Values]) -> Iterator[Quad]:
        for quad in self._mapped.quads:
            # In this order, which decides what is said of a row that is wrong in several ways.
            subjects = self._terms(quad.subject, row)
            predicates = self._terms(quad.predicate, row)
            objects = self._terms(quad.object, row)
            graphs: Sequence[Term | None] = [None]
            if quad.graph is not None:
                graphs = self._terms(quad.graph, row)
            for s, p, o, g in product(subjects, predicates, objects, graphs):
                yield Quad(s, p, o, g)

    def _terms(self, term: TermMap, row: Mapping[Reference, Values]) -> list[Term]:
        if isinstance(term, ConstantTerm):
            return [term.term]
        if isinstance(term, QuotedTerm):
            inner = (self._terms(t, row) for t in (term.subject, term.predicate, term.object))
            return [QuotedTriple(*terms) for terms in product(*inner)]  # type: ignore[arg-type]
        if isinstance(term, JoinedTerm):
            return self._joined(term, row)
        return self._generated(term, row)

    def _joined(self, term: JoinedTerm, row: Mapping[Reference, Values]) -> list[Term]:
        index = self._joins.get(term)
        if index is None:
            fits = all(
                {v.lexical for v in row[own]} & {v.lexical for v in row[parent]}
                for own, parent in term.conditions
            )
            return self._terms(term.term, row) if fits else []
        keys = product(*({v.lexical for v in row[own]} for own, _ in term.conditions))
        return [found for key in keys for found in index.get(key, ())]

    def _index(self, term: JoinedTerm, rows: Rows) -> dict[tuple[str, ...], list[Term]]:
        """The terms of the parent's rows by the values that the conditions ask for."""
        conditions = [parent for _, parent in term.conditions]
        needed = {*conditions, *references_of(inner_terms(term.term))}
        flaws: dict[int, str] = {}
        values = {reference: rows.values(reference, flaws) for reference in needed}
        if flaws:
            number = min(flaws)
            raise MappedRowError(term.parent.name, number + 1, flaws[number])
        index: dict[tuple[str, ...], dict[Term, None]] = {}
        for number in range(len(rows)):
            row = {reference: column[number] for reference, column in values.items()}
            keys = list(product(*([v.lexical for v in row[c]] for c in conditions)))
            if keys:
                try:
                    terms = self._terms(term.term, row)
                except RowFlawError as flaw:
                    raise MappedRowError(term.parent.name, number + 1, str(flaw)) from None
                for key in keys:
                    index.setdefault(key, {}).update(dict.fromkeys(terms))
        return {key: list(terms) for key, terms in index.items()}

    def _generated(self, term: GeneratedTerm, row: Mapping[Reference, Values]) -> list[Term]:
        if term.kind is TermKind.LITERAL:
            return self._literals(term, row)
        found: list[Term] = []
        for parts in _choices(term, row):
            if term.kind is TermKind.BLANK_NODE:
                found.append(blank_node("".join(parts)))
            else:
                found.append(iri_of(term, parts))
        return found

    def _literals(self, term: GeneratedTerm, row: Mapping[Reference, Values]) -> list[Term]:
        if any(not row[reference] for reference in term.references):
            return []  # what would be wrong with its datatype or language does not matter then
        datatypes: Sequence[Term | None] = [None]
        if term.datatype is not None:
            datatypes = self._terms(term.datatype, row)
        languages: Sequence[Term | None] = [None]
        if term.language is not None:
            languages = self._terms(term.language, row)
        found: list[Term] = []
        for datatype, language in product(datatypes, languages):
            tag = None
            if language is not None:
                assert isinstance(language, Literal)
                tag = language.lexical
                if LANGUAGE.fullmatch(tag) is None:
                    raise RowFlawError(f"{tag!r} is not a language tag")
            for value in self._natural(term, row, datatype):
                found.append(Literal(value.lexical, None if tag else value.datatype, tag))
        return found

    def _natural(
        self, term: GeneratedTerm, row: Mapping[Reference, Values], datatype: Term | None
    ) -> Iterator[Literal]:
        stated = datatype if isinstance(datatype, Iri) else None
        reference = term.parts[0]
        if not term.template and isinstance(reference, Reference):
            for value in row[reference]:
                if stated is None:
                    natural = value.datatype if term.language is None else None
                    yield Literal(value.lexical, natural)
                else:
                    yield Literal(value.as_datatype(stated), stated)
        else:
            for parts in _choices(term, row):
                yield Literal("".join(parts), stated)


def _choices(term: GeneratedTerm, row: Mapping[Reference, Values]) -> Iterator[tuple[str, ...]]:
    """The texts of a term's parts, for each choice among several values; texts in templates of IRIs are safe."""
    choices = []
    for part in term.parts:
        if isinstance(part, str):
            choices.append([part])
            continue
        texts = [value.lexical for value in row[part]]
        if term.template and term.kind.is_iri:
            safe = uri_safe if term.kind is TermKind.URI else iri_safe
            texts = [safe(text) for text in texts]
        choices.append(texts)
    return product(*choices)


def iri_of(term: GeneratedTerm, parts: tuple[str, ...]) -> Iri:
    """The IRI of the texts of a term's parts; raises RowFlawError."""
    text = "".join(parts)
    if _ABSOLUTE.fullmatch(text) is None:
        if term.base is None and ":" not in text:
            raise RowFlawError(f"{text!r} is a relative IRI, and there is no base (base_iri=)")
        text = (term.base or "") + text
        if _ABSOLUTE.fullmatch(text) is None:
            raise RowFlawError(f"{text!r} is not an IRI")
    return Iri(ascii_only(text) if term.kind is TermKind.URI else text)


@lru_cache(maxsize=65536)
def blank_node(value: str) -> BlankNode:
    """The blank node of a value: different labels for different values.

    >>> blank_node("a b").label, blank_node("a20b").label
    ('ba_20-b', 'ba20b')
    """
    escaped = _NOT_IN_LABEL.sub(lambda found: f"_{ord(found[0]):x}-", value)
    return BlankNode(f"b{escaped}")
