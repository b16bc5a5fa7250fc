"""C-SPARQL's `timestamp(s, p, o)` by its definition: the greatest time of an element that holds the triple.

The elements are those that the windows of the call's group show: inside WINDOW this one, elsewhere those that the group
reads, or, if it reads none, those of the default graph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import pyoxigraph as ox

from sparkext.language.algebra import Bgp, Graph, Path, Window
from sparkext.language.event_patterns import Match
from sparkext.language.nodes import Node, Variable
from sparkext.oracle.quoted_triples import OWN, StoredTerm
from static_data.terms import XSD

TIMESTAMP: Final = f"{OWN}timestamp"
"""The function of Oxigraph: a triple's terms, and the numbers of windows in the order of their clauses, with blanks."""

Sighted: TypeAlias = tuple[int, Collection[tuple[ox.NamedNode, ox.NamedNode, ox.NamedNode]]]
"""The time of an element and its triples, as the store has them."""


def timestamp(
    windows: Sequence[Sequence[Sighted]],
) -> Callable[[StoredTerm, StoredTerm, StoredTerm, StoredTerm], StoredTerm | None]:
    """The function over what the windows show; None is SPARQL's error."""

    def latest(
        subject: StoredTerm, predicate: StoredTerm, object_: StoredTerm, asked: StoredTerm
    ) -> StoredTerm | None:
        triple = (subject, predicate, object_)
        numbers = map(int, asked.value.split())
        times = [t for n in numbers for t, triples in windows[n] if triple in triples]
        if not times:
            return None
        return ox.Literal(str(max(times)), datatype=ox.NamedNode(f"{XSD}integer"))

    return latest


def windows_read(
    node: Node, default: Sequence[int], named: Mapping[str, Sequence[int]]
) -> Iterator[int]:
    """The numbers of the windows that a pattern reads, one that stands outside of WINDOW.

    `default` are those that its active graph shows, `named` the others by name.
    """
    match node:
        case Window(name=Variable()):
            yield from (number for numbers in named.values() for number in numbers)
        case Window():
            # One that is merged is refused where it is read.
            yield from named.get(node.name.n3(), ())
        case Match():
            for event in node.events:
                yield from named[event.name.n3()]
        case Bgp(patterns=()):
            return
        case Bgp() | Path():
            yield from default
        case _:
            for child in node.children:
                yield from windows_read(child, () if isinstance(node, Graph) else default, named)
