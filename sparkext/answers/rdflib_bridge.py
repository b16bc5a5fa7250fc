"""Terms, graphs and answers to and from rdflib, which is needed only when something of it is asked for or given.

rdflib has no quoted triples and no base directions: a TypeError says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sparkext.answers.term_parts import term
from sparkext.argument_checks import check
from static_data.loading.given_statements import GivenStatements, Unwritable
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple, Term

if TYPE_CHECKING:
    import rdflib
    import rdflib.query

# Others are written in hexadecimal digits after an x, those too that look so.
_PLAIN_LABEL = re.compile(r"(?!x(?:[0-9a-f]{2})*\Z)[A-Za-z0-9]+")
_ODD_IRI = re.compile(r"[<>\r\n\\]")
_NO_IRI = re.compile(r"[<>\r\n]")
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"})


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
        if _PLAIN_LABEL.fullmatch(label):
            return BlankNode(label)
        return BlankNode("x" + label.encode("utf-8", "surrogatepass").hex())
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


def node_text(node: Any) -> str:
    """The N-Triples text of an rdflib node, which allows itself more than N-Triples do.

    Raises TypeError for a variable or a graph, and for an IRI that would end within its brackets.
    """
    import rdflib

    if isinstance(node, rdflib.URIRef):
        return _iri_text(str(node))
    if isinstance(node, rdflib.Literal):
        quoted = f'"{str(node).translate(_ESCAPES)}"'
        if node.language is not None:
            return f"{quoted}@{node.language}"
        return quoted if node.datatype is None else f"{quoted}^^{_iri_text(str(node.datatype))}"
    return from_rdflib(node).n3()


def _iri_text(iri: str) -> str:
    if _ODD_IRI.search(iri) is not None:
        if _NO_IRI.search(iri) is not None:
            raise TypeError(f"an IRI with an angle bracket or a line break: {iri!a}")
        iri = iri.replace("\\", "\\u005C")  # itself, not the beginning of an escape
    return f"<{iri}>"


def triples_of(graph: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The triples of a graph, or of the default graph of a dataset.

    Raises ValueError for a dataset with triples in named graphs.
    """
    if _is_dataset(graph):
        default = _default_graph(graph)
        for s, p, o, g in graph.quads():
            name = getattr(g, "identifier", g)
            if name is not None and name != default:
                raise ValueError(f"one graph is wanted, and the dataset has triples in {name.n3()}")
            yield s, p, o
    else:
        yield from graph


def statements_of(graph: Any) -> Iterator[str | Unwritable]:
    """The triples of a graph, or the quads of a dataset, as N-Quads statements."""
    if _is_dataset(graph):
        default = _default_graph(graph)
        for s, p, o, g in graph.quads():
            name = getattr(g, "identifier", g)
            yield _statement((s, p, o) if name is None or name == default else (s, p, o, name))
    else:
        for triple in graph:
            yield _statement(triple)


def given_graph(name: str, graph: Any, **of_files: object) -> GivenStatements:
    """The same to be loaded; `name` is the argument's. Raises ArgumentError for arguments that only files can have."""
    import rdflib

    if not isinstance(graph, rdflib.Graph):
        raise check.wrong(name, "files, or an rdflib Graph or Dataset", graph)
    for argument, value in of_files.items():
        if value is not None:
            raise check.wrong(argument, "None: an rdflib graph has been parsed", value)
    return GivenStatements(f"{name} (an rdflib graph)", lambda: statements_of(graph))


def _is_dataset(graph: Any) -> bool:
    from rdflib import graph as graphs

    # An aggregate is one graph that has its triples from several.
    aggregate = isinstance(graph, graphs.ReadOnlyGraphAggregate)
    return isinstance(graph, graphs.ConjunctiveGraph) and not aggregate


def _default_graph(dataset: Any) -> Any:
    newer = getattr(dataset, "default_graph", None)
    return (dataset.default_context if newer is None else newer).identifier


def _statement(nodes: Iterable[Any]) -> str | Unwritable:
    try:
        return " ".join(map(node_text, nodes)) + " ."
    except TypeError as error:
        return Unwritable(" ".join(map(repr, nodes)), str(error))


def select_result(
    variables: Sequence[str], rows: Iterable[Sequence[str | None]]
) -> rdflib.query.Result:
    """The answers of a SELECT query as an `rdflib.query.Result`."""
    import rdflib
    import rdflib.query

    result = rdflib.query.Result("SELECT")
    names = [rdflib.Variable(name) for name in variables]
    result.vars = names
    nodes = _Nodes()
    result.bindings = [
        {name: nodes[text] for name, text in zip(names, row, strict=True) if text is not None}
        for row in rows
    ]
    return result


class _Nodes(dict[str, Any]):
    """The nodes of texts, each made once."""

    def __missing__(self, text: str) -> Any:
        node = self[text] = to_rdflib(text)
        return node


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
    nodes = _Nodes()
    for s, p, o in triples:
        result.graph.add((nodes[s], nodes[p], nodes[o]))
    return result
