"""rdflib's nodes and the ids of their terms, remembered as long as the static data stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import rdflib

from sparkext.answers.rdflib_bridge import from_rdflib, to_rdflib
from static_data.errors import StaticDataError
from static_data.store import StaticStore
from static_data.terms import BlankNode

_MOST = 1 << 20
_BRACKETS = ("<", ">")


class NodeTable:
    """Ids in, nodes out, and back; `texts` gives the canonical texts of ids.

    An id that is free again may be given to another term, so nothing is remembered across a change of the data.
    """

    def __init__(self, store: StaticStore, texts: Callable[[Sequence[int]], list[str]]) -> None:
        self._store = store
        self._texts = texts
        self._known: tuple[int, dict[int, Any], dict[str, int]] = (-1, {}, {})

    def _tables(self) -> tuple[dict[int, Any], dict[str, int]]:
        version = self._store.version
        if self._known[0] != version or len(self._known[1]) + len(self._known[2]) > _MOST:
            self._known = (version, {}, {})
        return self._known[1:]

    def nodes(self, ids: Iterable[int]) -> dict[int, Any]:
        """The nodes of ids; raises MalformedTermError for one of no term, TypeError where rdflib has no class."""
        known, _ = self._tables()
        nodes = {i: known.get(i) for i in ids}
        if missing := [i for i, node in nodes.items() if node is None]:
            for i, text in zip(missing, self._texts(missing), strict=True):
                nodes[i] = known[i] = to_rdflib(text)
        return nodes

    def ids(self, pattern: Sequence[Any]) -> tuple[int | None, ...] | None:
        """The ids of what is bound in a triple pattern; None where no data can hold one of them."""
        found = []
        for node in pattern:
            wanted = None if node is None else self.id(node)
            if node is not None and wanted is None:
                return None
            found.append(wanted)
        return tuple(found)

    def id(self, node: Any) -> int | None:
        """The id of a node's term; None where it has none."""
        text = _text(node)
        if text is None:
            return None
        _, known = self._tables()
        wanted = known.get(text)
        if wanted is None:
            try:
                wanted = known[text] = self._store.lookup(text)
            except StaticDataError:  # what is no term in RDF's eyes
                return None
        return wanted or None


def _text(node: Any) -> str | None:
    if isinstance(node, rdflib.BNode):
        return BlankNode(str(node)).n3()  # as it was given out, not as rdflib's own come in
    try:
        term = from_rdflib(node)
    except TypeError:
        return None
    text = term.n3()
    iri = text[1:-1] if text.startswith("<") else ""
    return None if any(bracket in iri for bracket in _BRACKETS) else text
