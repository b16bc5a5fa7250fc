"""Terms, graphs and answers to and from rdflib, which is needed only when something of it is asked for or given.

rdflib has no quoted triples and no base directions: a TypeError says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sparkext.answers.term_parts import term
from static_data.argument_checks import lone_surrogate
from static_data.errors import MalformedRdfError
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple, Term

if TYPE_CHECKING:
    import rdflib
    import rdflib.query

_PLAIN_LABEL = re.compile(r"[A-Za-z0-9]+")


def is_rdflib(thing: object) -> bool:
    """Whether something is of one of rdflib's classes, told without importing it."""
    return any(kind.__module__.partition(".")[0] == "rdflib" for kind in type(thing).__mro__)


def from_rdflib(node: Any) -> Term:
    """The term of an rdflib node; raises TypeError for a variable or a graph.

    >>> import rdflib
    >>> from_rdflib(rdflib.Literal("chat", lang="fr")).n3()
    '"chat"@fr'
    """
    import rdflib

    if isinstance(node, rdflib.URIRef):
        return Iri(str(node))
    if isinstance(node, rdflib.Literal):
        if node.language is not None:
            return Literal(str(node), language=node.language)
        return Literal(str(node), None if node.datatype is None else Iri(str(node.datatype)))
    if isinstance(node, rdflib.BNode):
        label = str(node)
        # Any text can be a label there.
        return BlankNode(label if _PLAIN_LABEL.fullmatch(label) else "x" + label.encode().hex())
    raise TypeError(f"not an RDF term: {node!r}")


def to_rdflib(value: Term | str) -> Any:
    """The rdflib node of a term, or of its canonical N-Triples text; the lexical form is kept.

    >>> to_rdflib('"01"^^<http://www.w3.org/2001/XMLSchema#integer>')
    rdflib.term.Literal('01', datatype=rdflib.term.URIRef('http://www.w3.org/2001/XMLSchema#integer'))
    """
    import rdflib

    match term(value) if isinstance(value, str) else value:
        case Iri(iri):
            return rdflib.URIRef(iri)
        case BlankNode(label):
            return rdflib.BNode(label)
        case Literal(direction=None) as literal:
            if literal.language is not None:
                return rdflib.Literal(literal.lexical, lang=literal.language)
            datatype = rdflib.URIRef(literal.datatype.value)
            plain = literal.datatype.value.endswith("#string") and literal == Literal(
                literal.lexical
            )
            return rdflib.Literal(
                literal.lexical, datatype=None if plain else datatype, normalize=False
            )
        case QuotedTriple() as quoted:
            raise TypeError(f"rdflib has no quoted triples: {quoted.n3()}")
        case other:
            raise TypeError(f"rdflib has no base directions: {other.n3()}")


def statements_of(graph: rdflib.Graph) -> Iterator[str]:
    """The triples of a graph, or the quads of a dataset, as N-Quads statements."""
    import rdflib

    if isinstance(graph, rdflib.Dataset | rdflib.ConjunctiveGraph):
        newer = getattr(graph, "default_graph", None)
        default = (graph.default_context if newer is None else newer).identifier
        for s, p, o, g in graph.quads():
            name = getattr(g, "identifier", g)
            named = "" if name is None or name == default else f" {from_rdflib(name).n3()}"
            yield f"{_text((s, p, o))}{named} ."
    else:
        for triple in graph:
            yield f"{_text(triple)} ."


def file_lines(graph: rdflib.Graph) -> Iterator[str]:
    """The same as lines of a file; raises MalformedRdfError for text that UTF-8 cannot hold."""
    for number, statement in enumerate(statements_of(graph), 1):
        place = lone_surrogate(statement)
        if place is not None:
            message = f"a lone surrogate in {statement!r}"
            raise MalformedRdfError("files (an rdflib graph)", number, place + 1, message)
        yield f"{statement}\n"


def _text(triple: Iterable[Any]) -> str:
    return " ".join(from_rdflib(node).n3() for node in triple)


def select_result(
    variables: Sequence[str], rows: Iterable[Sequence[str | None]]
) -> rdflib.query.Result:
    """The answers of a SELECT query as an `rdflib.query.Result`."""
    import rdflib
    import rdflib.query

    result = rdflib.query.Result("SELECT")
    names = [rdflib.Variable(name) for name in variables]
    result.vars = names
    result.bindings = [
        {name: to_rdflib(text) for name, text in zip(names, row, strict=True) if text is not None}
        for row in rows
    ]
    return result


def ask_result(answer: bool) -> rdflib.query.Result:
    """The answer of an ASK query as an `rdflib.query.Result`."""
    import rdflib.query

    result = rdflib.query.Result("ASK")
    result.askAnswer = answer
    return result


def graph_result(form: str, triples: Iterable[tuple[str, str, str]]) -> rdflib.query.Result:
    """The triples of CONSTRUCT or DESCRIBE as an `rdflib.query.Result`, whose `graph` holds them."""
    import rdflib
    import rdflib.query

    result = rdflib.query.Result(form)
    result.graph = rdflib.Graph()
    for s, p, o in triples:
        result.graph.add((to_rdflib(s), to_rdflib(p), to_rdflib(o)))
    return result
