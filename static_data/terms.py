r"""RDF-star terms and their canonical N-Triples text.

A term is an `Iri`, a `BlankNode`, a `Literal` or a `QuotedTriple`. All are immutable, hashable
values: two terms are equal exactly when their canonical texts are equal. The canonical text escapes
only `\"`, `\\`, `\n` and `\r` inside a literal, leaves `^^xsd:string` out and writes language tags
in lower case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from static_data.blank_node_labels import LABEL

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


class TermSyntaxError(ValueError):
    """A text that is not the canonical N-Triples form of one term; `column` is 1-based."""

    def __init__(self, message: str, text: str, column: int) -> None:
        self.message = message
        self.text = text
        self.column = column
        super().__init__(f"column {column}: {message} in {text!r}")


@dataclass(frozen=True, slots=True)
class Iri:
    """An IRI, without its angle brackets.

    >>> Iri("http://example.org/a").n3()
    '<http://example.org/a>'
    """

    value: str

    def n3(self) -> str:
        """Return the canonical N-Triples text."""
        return f"<{self.value}>"


@dataclass(frozen=True, slots=True)
class BlankNode:
    """A blank node by its label, without `_:`; the label's scope is the caller's business.

    >>> BlankNode("b0").n3()
    '_:b0'
    """

    label: str

    def n3(self) -> str:
        """Return the canonical N-Triples text."""
        return f"_:{self.label}"


XSD_STRING: Final = Iri(XSD + "string")
XSD_BOOLEAN: Final = Iri(XSD + "boolean")
XSD_INTEGER: Final = Iri(XSD + "integer")
XSD_DECIMAL: Final = Iri(XSD + "decimal")
XSD_DOUBLE: Final = Iri(XSD + "double")
XSD_FLOAT: Final = Iri(XSD + "float")
XSD_DATETIME: Final = Iri(XSD + "dateTime")
XSD_DURATION: Final = Iri(XSD + "duration")
XSD_INTEGERS: Final = frozenset(
    Iri(XSD + name)
    for name in (
        "integer",
        "long",
        "int",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
    )
)
RDF_LANG_STRING: Final = Iri(RDF + "langString")
RDF_DIR_LANG_STRING: Final = Iri(RDF + "dirLangString")
RDF_TYPE: Final = Iri(RDF + "type")
RDF_FIRST: Final = Iri(RDF + "first")
RDF_REST: Final = Iri(RDF + "rest")
RDF_NIL: Final = Iri(RDF + "nil")

# str.translate is several times faster than a regular expression here, and results pass through it
# row by row.
_ESCAPES: Final = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_UNESCAPES: Final = {'\\"': '"', "\\\\": "\\", "\\n": "\n", "\\r": "\r"}


@dataclass(frozen=True, slots=True, init=False)
class Literal:
    r"""A literal: lexical form, datatype IRI and, for rdf:langString only, a lower-cased language
    tag, for rdf:dirLangString (RDF 1.2) also a base direction, "ltr" or "rtl".

    A missing datatype means xsd:string, or the one that language and direction ask for.

    >>> Literal("5", XSD_INTEGER).n3()
    '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'
    >>> Literal("chat", language="FR").n3()
    '"chat"@fr'
    >>> Literal("chat", language="fr", direction="ltr").n3()
    '"chat"@fr--ltr'
    >>> Literal("a") == Literal("a", XSD_STRING)
    True
    """

    lexical: str
    datatype: Iri
    language: str | None
    direction: str | None

    def __init__(
        self,
        lexical: str,
        datatype: Iri | None = None,
        language: str | None = None,
        direction: str | None = None,
    ) -> None:
        if direction not in (None, "ltr", "rtl") or (direction and language is None):
            raise ValueError(f"not a base direction of a language: {direction}")
        if language is not None:
            fitting = RDF_LANG_STRING if direction is None else RDF_DIR_LANG_STRING
            if datatype is not None and datatype != fitting:
                raise ValueError(f"a literal with a language has no datatype {datatype.n3()}")
            datatype, language = fitting, language.lower()
        object.__setattr__(self, "direction", direction)
        object.__setattr__(self, "lexical", lexical)
        object.__setattr__(self, "datatype", XSD_STRING if datatype is None else datatype)
        object.__setattr__(self, "language", language)

    def n3(self) -> str:
        """Return the canonical N-Triples text."""
        quoted = f'"{self.lexical.translate(_ESCAPES)}"'
        if self.language is not None:
            direction = "" if self.direction is None else f"--{self.direction}"
            return f"{quoted}@{self.language}{direction}"
        return quoted if self.datatype == XSD_STRING else f"{quoted}^^<{self.datatype.value}>"


@dataclass(frozen=True, slots=True)
class QuotedTriple:
    """A triple used as a term (RDF-star), nested to any depth.

    >>> a, p = Iri("http://example.org/a"), Iri("http://example.org/p")
    >>> QuotedTriple(a, p, Literal("x")).n3()
    '<< <http://example.org/a> <http://example.org/p> "x" >>'
    """

    subject: Iri | BlankNode | QuotedTriple
    predicate: Iri
    object: Iri | BlankNode | Literal | QuotedTriple

    def n3(self) -> str:
        """Return the canonical N-Triples text."""
        return f"<< {self.subject.n3()} {self.predicate.n3()} {self.object.n3()} >>"


Term: TypeAlias = Iri | BlankNode | Literal | QuotedTriple

# One alternative a kind of term. IRIs may have been taken as they stood, with any character.
_TOKEN: Final = re.compile(
    rf"""
    <(?P<iri>[^\x00-\x1f<>]*)>
  | (?P<open><<)[ ]
  | "(?P<lexical>(?:[^"\\\n\r]|\\["\\nr])*)"
    (?: @(?P<language>[a-z]+(?:-[a-z0-9]+)*)(?:--(?P<direction>ltr|rtl))?
      | \^\^<(?P<datatype>[^\x00-\x1f<>]*)> )?
  | _:(?P<label>{LABEL})
    """,
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\.")


def parse_term(text: str) -> Term:
    r"""Read one term from its canonical N-Triples text, the inverse of `n3()`.

    Raises `TermSyntaxError` for anything else, spaces around the term included.

    >>> parse_term('"5"^^<http://www.w3.org/2001/XMLSchema#integer>').lexical
    '5'
    >>> parse_term('<< _:x <http://e/p> << _:y <http://e/p> "1\\n2" >> >>').object.object.lexical
    '1\n2'
    >>> parse_term('<http://e/a> ')
    Traceback (most recent call last):
    static_data.terms.TermSyntaxError: column 13: text after the end of the term in '<http://e/a> '
    """
    term, end = _parse_at(text, 0)
    if end != len(text):
        raise TermSyntaxError("text after the end of the term", text, end + 1)
    return term


def _parse_at(text: str, start: int) -> tuple[Term, int]:
    match = _TOKEN.match(text, start)
    if match is None:
        raise TermSyntaxError("not an RDF term", text, start + 1)
    iri, opening, lexical, language, direction, datatype, label = match.groups()
    if iri is not None:
        return Iri(iri), match.end()
    if lexical is not None:
        if "\\" in lexical:
            lexical = _ESCAPE.sub(lambda escape: _UNESCAPES[escape.group()], lexical)
        if datatype is not None:
            if datatype in (XSD_STRING.value, RDF_LANG_STRING.value, RDF_DIR_LANG_STRING.value):
                raise TermSyntaxError(
                    f"the datatype <{datatype}> is not written out", text, start + 1
                )
            return Literal(lexical, Iri(datatype)), match.end()
        return Literal(lexical, None, language, direction), match.end()
    if opening is None:
        return BlankNode(label), match.end()
    subject, position = _parse_at(text, match.end())
    before_predicate = _expect(text, position, " ")
    predicate, position = _parse_at(text, before_predicate)
    object_, position = _parse_at(text, _expect(text, position, " "))
    if isinstance(subject, Literal):
        raise TermSyntaxError("a literal cannot be a subject", text, match.end() + 1)
    if not isinstance(predicate, Iri):
        raise TermSyntaxError("a predicate is an IRI", text, before_predicate + 1)
    return QuotedTriple(subject, predicate, object_), _expect(text, position, " >>")


def _expect(text: str, position: int, expected: str) -> int:
    if not text.startswith(expected, position):
        raise TermSyntaxError(f"expected {expected!r}", text, position + 1)
    return position + len(expected)
