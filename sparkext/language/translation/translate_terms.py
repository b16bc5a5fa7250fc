"""Parse tree to terms: IRIs, literals, blank nodes, and names that the translation makes up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Final, NoReturn

from lark import Token, Tree

from sparkext.errors import QuerySyntaxError
from sparkext.language.nodes import PatternTerm, Position, QuotedPattern, Variable
from sparkext.language.translation.iris import Prologue, UndeclaredPrefixError
from static_data.files.rdf_version import RdfVersion
from static_data.terms import (
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    RDF_TYPE,
    XSD_BOOLEAN,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_INTEGER,
    BlankNode,
    Iri,
    Literal,
    QuotedTriple,
)

ParseNode = Tree[Token] | Token

_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CHARACTER_ESCAPES: Final = {
    "t": "\t",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "f": "\f",
    '"': '"',
    "'": "'",
    "\\": "\\",
}
_NOT_IN_IRI: Final = re.compile(r'[\x00-\x20<>"{}|^`\\]')


def position_of(node: ParseNode) -> Position:
    """Return where a token or the first token of a tree stands."""
    if isinstance(node, Token):
        assert (
            node.line is not None and node.column is not None
        )  # tokens of the lexer always have both
        return Position(node.line, node.column)
    return Position(node.meta.line, node.meta.column)


def fail(node: ParseNode, message: str) -> NoReturn:
    """Raise a syntax error at the place of a token or tree."""
    line, column = position_of(node)
    raise QuerySyntaxError(message, line, column)


def kind_of(node: ParseNode) -> str:
    """Return the rule name of a tree or the terminal name of a token."""
    return node.type if isinstance(node, Token) else str(node.data)


def trees(node: Tree[Token]) -> Iterator[Tree[Token]]:
    """Yield the children that are trees."""
    return (child for child in node.children if isinstance(child, Tree))


def unescape(node: ParseNode, text: str) -> str:
    """Undo the escapes of a string or an IRI; raises at `node` for a code point that is no
    character.
    """

    def character(match: re.Match[str]) -> str:
        if match.group(3) is not None:
            return _CHARACTER_ESCAPES[match.group(3)]
        code = int(match.group(1) or match.group(2), 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            fail(node, f"{match.group()} is not a character")
        return chr(code)

    return _ESCAPE.sub(character, text) if "\\" in text else text


def variable(token: ParseNode) -> Variable:
    """Return the variable of a VAR token."""
    assert isinstance(token, Token)
    return Variable(token[1:])


def quote(
    subject: PatternTerm, predicate: PatternTerm, object_: PatternTerm
) -> QuotedTriple | QuotedPattern:
    """Return a quoted triple: a plain term when it holds no variable at any depth."""
    if (
        isinstance(subject, Iri | BlankNode | QuotedTriple)
        and isinstance(predicate, Iri)
        and isinstance(object_, Iri | BlankNode | Literal | QuotedTriple)
    ):
        return QuotedTriple(subject, predicate, object_)
    return QuotedPattern(subject, predicate, object_)


class TermTranslation:
    """The lowest layer of the translation: terms and fresh names.

    Blank nodes of patterns become hidden variables, scoped to one basic graph pattern
    (`basic_graph_pattern`); in a CONSTRUCT template (`in_template`) they stay blank nodes.
    """

    def __init__(self, prologue: Prologue, rdf: RdfVersion) -> None:
        self.prologue = prologue
        self.reifies = rdf is RdfVersion.RDF_1_2  # whether << s p o >> is a node that reifies
        self.in_template = False
        self.basic_graph_pattern = 0
        self._basic_graph_patterns = count(1)
        self._fresh: Counter[str] = Counter()
        self._labels: dict[str, tuple[int, Variable]] = {}
        self._template_labels: dict[str, BlankNode] = {}

    def fresh_variable(self, prefix: str) -> Variable:
        """Return a hidden variable that occurs nowhere else; numbered, so that equal texts give
        equal names.
        """
        self._fresh[prefix] += 1
        return Variable(f"_:{prefix}{self._fresh[prefix] - 1}")

    def start_basic_graph_pattern(self) -> None:
        """End the scope of blank node labels."""
        self.basic_graph_pattern = next(self._basic_graph_patterns)

    def fresh_blank_node(self) -> Variable | BlankNode:
        """Return the term of `[]` at this place."""
        if self.in_template:
            self._fresh["template"] += 1
            return BlankNode(f"b{self._fresh['template'] - 1}")
        return self.fresh_variable("b")

    def blank_node(self, tree: Tree[Token]) -> Variable | BlankNode:
        """Translate `_:label` or `[]`; a label may be used in one basic graph pattern only."""
        (token,) = tree.children
        label = str(token)
        if not label.startswith("_:"):
            return self.fresh_blank_node()
        if self.in_template:
            if label not in self._template_labels:
                node = self.fresh_blank_node()
                assert isinstance(node, BlankNode)
                self._template_labels[label] = node
            return self._template_labels[label]
        scope, known = self._labels.setdefault(label, (self.basic_graph_pattern, Variable("")))
        if scope != self.basic_graph_pattern:
            fail(tree, f"blank node label {label} is already used in another basic graph pattern")
        if not known.name:
            known = self.fresh_variable("b")
            self._labels[label] = (scope, known)
        return known

    def iri(self, tree: ParseNode) -> Iri:
        """Translate an IRI, a prefixed name, or the keyword `a`."""
        if kind_of(tree) == "a":
            return RDF_TYPE
        token = tree.children[0] if isinstance(tree, Tree) else tree
        assert isinstance(token, Token)
        try:
            if token.type == "IRIREF":
                value = self.prologue.resolve(self.iri_reference(token))
            else:
                value = self.prologue.expand(token)
        except UndeclaredPrefixError as error:
            fail(token, str(error))
        if not value:
            fail(token, "an empty IRI needs a BASE")
        return Iri(value)

    def iri_reference(self, token: Token) -> str:
        """Return the text between the angle brackets, unescaped."""
        text = unescape(token, token[1:-1])
        if wrong := _NOT_IN_IRI.search(text):
            fail(token, f"{wrong.group()!r} is not allowed in an IRI")
        return text

    def string(self, tree: ParseNode) -> str:
        """Return the value of a string in any of the four quotations."""
        assert isinstance(tree, Tree)
        token = tree.children[0]
        assert isinstance(token, Token)
        width = 3 if token.type.startswith("STRING_LONG") else 1
        return unescape(token, token[width:-width])

    def literal(self, tree: Tree[Token]) -> Literal:
        """Translate a literal in any of its written forms."""
        kind = kind_of(tree)
        if kind in ("number", "signed_number"):
            return number_literal(str(tree.children[0]))
        if kind == "boolean":
            return Literal(str(tree.children[0]).lower(), XSD_BOOLEAN)
        lexical = self.string(tree.children[0])
        if len(tree.children) == 1:
            return Literal(lexical)
        qualifier = tree.children[1]
        if isinstance(qualifier, Token):
            language, mark, direction = qualifier[1:].partition("--")
            if mark and direction not in ("ltr", "rtl"):
                fail(qualifier, f"a base direction is ltr or rtl, not {direction}")
            return Literal(lexical, language=language, direction=direction or None)
        datatype = self.iri(qualifier)
        if datatype in (RDF_LANG_STRING, RDF_DIR_LANG_STRING):
            name = datatype.value.partition("#")[2]
            fail(qualifier, f"a literal of rdf:{name} is written with its language tag")
        return Literal(lexical, datatype)

    def constant(self, tree: Tree[Token]) -> Iri | Literal:
        """Translate an IRI or a literal."""
        return self.iri(tree) if kind_of(tree) in ("iri", "a") else self.literal(tree)

    def data_triple(self, tree: Tree[Token]) -> QuotedTriple:
        """Translate a quoted triple of constants, as VALUES has it."""
        subject, predicate, object_ = (
            self.data_triple(part) if kind_of(part) == "data_triple" else self.constant(part)
            for part in trees(tree)
        )
        assert not isinstance(subject, Literal) and isinstance(
            predicate, Iri
        )  # the grammar allows nothing else
        return QuotedTriple(subject, predicate, object_)


def number_literal(text: str) -> Literal:
    """Return the literal of a number written without quotes, its lexical form kept.

    >>> [number_literal(text).n3().partition("#")[2] for text in ("5", "-5.0", "5e0", ".5")]
    ['integer>', 'decimal>', 'double>', 'decimal>']
    """
    if "e" in text.lower():
        return Literal(text, XSD_DOUBLE)
    return Literal(text, XSD_DECIMAL if "." in text else XSD_INTEGER)
