"""What graphs are called: by id and by text."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_GRAPH = 0
"""Id of the default graph."""


@dataclass(frozen=True)
class GraphName:
    """A graph: its id and its canonical text (`<iri>`), 0 and None for the default graph."""

    id: int
    text: str | None


def graph_name_text(graph: str) -> str:
    """The canonical text of a graph name given as an IRI, with or without angle brackets, or as
    `_:label`.

    >>> graph_name_text("http://example.org/g")
    '<http://example.org/g>'
    """
    if graph.startswith("_:") or (graph.startswith("<") and graph.endswith(">")):
        return graph
    return f"<{graph}>"
