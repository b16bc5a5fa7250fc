"""Quads of the parser as canonical N-Quads-star lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pyoxigraph as ox

from static_data.blank_node_labels import LABEL
from static_data.files.odd_iris import reveal
from static_data.files.reifiers import GENERATED_LABEL

_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
_XML_LITERAL = "http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral"
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_NEVER_IN_IRI = re.compile(r"[\x00-\x1f<>]")
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
_LABEL = re.compile(LABEL)


def unwritable(terms: Iterable[Any], accepts: bool) -> tuple[str, str] | None:
    """What of some terms of a parser that checks nothing is no N-Quads, and why; with `accepts`, IRIs may be odd ones.

    >>> unwritable([ox.Literal("a", language="en"), ox.BlankNode("b")], accepts=False)
    """
    for term in terms:
        iri = term.value if isinstance(term, ox.NamedNode) else ""
        if isinstance(term, ox.Literal):
            if term.language and not _LANGUAGE.fullmatch(term.language):
                return term.language, f"{term.language!r} is no language tag"
            iri = term.datatype.value
        elif isinstance(term, ox.Triple):
            inside = unwritable((term.subject, term.predicate, term.object), accepts)
            if inside is not None:
                return inside
        if (_NEVER_IN_IRI if accepts else _NOT_IN_IRI).search(iri):
            return iri, f"a character that is not allowed in an IRI, in <{iri}>"
    return None


class LineWriter:
    """Writes quads as lines, with repeatable labels for blank nodes that the parser made up, or whose labels are none.

    With `reveals`, IRIs are as they were before `static_data.files.odd_iris.hide`.
    """

    def __init__(self, reveals: bool = False) -> None:
        self._labels: dict[str, str] = {}
        self._reveals = reveals

    def line(self, quad: Any) -> str:
        """The N-Quads-star line of a quad of the parser, or of a tuple (s, p, o, g) with nested tuples."""
        if isinstance(quad, ox.Quad) and not self._reveals:
            text = str(quad)
            # The text of the library is canonical unless one of these occurs: most lines take this
            # way.
            if "_:" not in text and "\\" not in text and "<<" not in text:
                return text + " ."
        parts = [self._term(quad[0]), self._term(quad[1]), self._term(quad[2])]
        if not isinstance(quad[3], ox.DefaultGraph):
            parts.append(self._term(quad[3]))
        return " ".join(parts) + " ."

    def _term(self, term: Any) -> str:
        if isinstance(term, ox.NamedNode):
            return f"<{reveal(term.value)}>" if self._reveals else f"<{term.value}>"
        if isinstance(term, ox.Literal):
            if self._reveals and not term.language and term.datatype.value != _XSD_STRING:
                datatype = reveal(term.datatype.value)
                value = reveal(term.value) if datatype == _XML_LITERAL else term.value
                return f'"{value.translate(_ESCAPES)}"^^<{datatype}>'
            text = str(term)
            if "\\" not in text:
                return text
            quoted = f'"{term.value.translate(_ESCAPES)}"'
            return quoted + _literal_suffix(term)
        if isinstance(term, ox.BlankNode):
            return "_:" + self._label(term.value)
        # One call a level: they may be deep.
        subject = self._term(term[0])
        predicate = self._term(term[1])
        object_ = self._term(term[2])
        return f"<< {subject} {predicate} {object_} >>"

    def _label(self, label: str) -> str:
        if GENERATED_LABEL.fullmatch(label) or not _LABEL.fullmatch(label):
            known = self._labels.get(label)
            if known is None:
                known = f"anon-{len(self._labels)}"
                self._labels[label] = known
            return known
        # Keeps written labels apart from the made-up ones; digits never start with an x.
        return f"anon-x{label[5:]}" if label.startswith("anon-") else label


def _literal_suffix(term: Any) -> str:
    if term.language:
        direction = getattr(term, "direction", None)
        ending = f"--{direction!s}" if direction is not None else ""
        return f"@{term.language.lower()}{ending}"
    return "" if term.datatype.value == _XSD_STRING else f"^^<{term.datatype.value}>"
