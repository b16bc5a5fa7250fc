"""CONSTRUCT templates and DESCRIBE as the JVM is told them: what becomes of a query's solutions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from sparkext.language.nodes import PatternTerm, QuotedPattern, TriplePattern, Variable
from sparkext.language.query import Query
from sparkext.r2r.leaves.leaf import StaticLeaf
from sparkext.r2r.leaves.scopes import DEFAULT_GRAPH
from static_data.terms import BlankNode, Iri, QuotedTriple

if TYPE_CHECKING:
    from sparkext.bridge.engine_room import EngineRoom
    from sparkext.r2r.relations.datasets import Dataset
    from sparkext.r2r.relations.static_relations import StaticRelations

TRIPLE_COLUMNS = ("subject", "predicate", "object")
"""The columns of answers that are triples."""


def answer_form(
    query: Query,
    room: EngineRoom,
    relations: StaticRelations,
    dataset: Dataset,
    constant: Callable[[str], int],
) -> Any:
    """The JVM's AnswerForm of a query; None for SELECT and ASK, which answer their solutions.

    DESCRIBE gives concise bounded descriptions read from the default graph of the static data: all triples with the
    resource as subject, and with the blank nodes that are reached from it.
    """
    if query.form == "CONSTRUCT":
        return room.template(template_text(query.template, query.answered, constant))
    if query.form == "DESCRIBE":
        everything = TriplePattern(Variable("s"), Variable("p"), Variable("o"))
        triples = relations.table(dataset, StaticLeaf(DEFAULT_GRAPH, everything))
        resources = [constant(term.n3()) for term in query.described if isinstance(term, Iri)]
        return room.description(triples, resources)
    return None


def template_text(
    template: Iterable[TriplePattern],
    columns: tuple[Variable, ...],
    constant: Callable[[str], int],
) -> str:
    """A template in the notation of AnswerForms.scala; `columns` are those of the solutions.

    >>> x, e = Variable("x"), Iri("http://e/p")
    >>> triple = TriplePattern(QuotedPattern(x, e, x), e, BlankNode("b1"))
    >>> template_text([triple], (x,), lambda text: 7)
    'q v0 c7 v0 c7 b0'
    """
    blank_nodes: dict[BlankNode, int] = {}

    def words(term: PatternTerm) -> list[str]:
        match term:
            case Variable():
                return [f"v{columns.index(term)}"]
            case BlankNode():
                return [f"b{blank_nodes.setdefault(term, len(blank_nodes))}"]
            case QuotedPattern() | QuotedTriple():
                parts = (term.subject, term.predicate, term.object)
                return ["q", *(word for part in parts for word in words(part))]
        return [f"c{constant(term.n3())}"]

    return " ".join(word for triple in template for term in triple for word in words(term))
