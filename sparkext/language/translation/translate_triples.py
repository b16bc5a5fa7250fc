"""Parse tree to triple patterns and paths (SPARQL 1.1, 18.2.2.3 and 18.2.2.4; RDF-star)."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from typing import Final

from lark import Token, Tree

from sparkext.language.algebra import Path
from sparkext.language.nodes import PatternTerm, Position, TriplePattern, Variable
from sparkext.language.paths import (
    Alternative,
    Inverse,
    Link,
    NegatedSet,
    OneOrMore,
    PathExpression,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from sparkext.language.translation.translate_terms import (
    ParseNode,
    TermTranslation,
    fail,
    kind_of,
    position_of,
    quote,
    trees,
    variable,
)
from static_data.terms import RDF, RDF_FIRST, RDF_NIL, RDF_REST, Iri

RDF_REIFIES: Final = Iri(RDF + "reifies")
_MODIFIERS: Final = {"?": ZeroOrOne, "*": ZeroOrMore, "+": OneOrMore}

TripleOrPath = TriplePattern | Path


class TripleTranslation(TermTranslation):
    """Triples blocks as flat lists of triple patterns and paths, in order of writing."""

    def triples(self, block: Tree[Token]) -> list[TripleOrPath]:
        """Translate a triples block."""
        out: list[TripleOrPath] = []
        for same_subject in trees(block):
            subject_tree, *properties = same_subject.children
            if not properties and kind_of(subject_tree) == "reified_triple":
                self._bare_reified_triple(subject_tree, out)
                continue
            subject = self.node(subject_tree, out)
            if properties:
                self._properties(subject, properties[0], out)
        return out

    def node(self, tree: ParseNode, out: list[TripleOrPath]) -> PatternTerm:
        """Translate a node of a triple; the triples that it is made of go to `out`."""
        if isinstance(tree, Token):
            return variable(tree)
        match kind_of(tree):
            case "iri" | "a":
                return self.iri(tree)
            case "blank_node":
                return self.blank_node(tree)
            case "nil":
                return RDF_NIL
            case "collection":
                return self._collection(tree, out)
            case "blank_node_property_list":
                subject = self.fresh_blank_node()
                self._properties(subject, tree.children[0], out)
                return subject
            case "triple_term":
                return quote(*(self.node(part, out) for part in tree.children))
            case "reified_triple":
                return self._reified_triple(tree, out)
        return self.literal(tree)

    def _collection(self, tree: Tree[Token], out: list[TripleOrPath]) -> PatternTerm:
        position = position_of(tree)
        head = cell = self.fresh_blank_node()
        for index, member in enumerate(tree.children):
            out.append(TriplePattern(cell, RDF_FIRST, self.node(member, out), position))
            last = index == len(tree.children) - 1
            rest = RDF_NIL if last else self.fresh_blank_node()
            out.append(TriplePattern(cell, RDF_REST, rest, position))
            if not isinstance(rest, Iri):
                cell = rest
        return head

    def _reified_triple(self, tree: Tree[Token], out: list[TripleOrPath]) -> PatternTerm:
        """`<< s p o >>` is the quoted triple (RDF-star), or a nameless reifier of it (RDF 1.2);
        `<< s p o ~ r >>` is its reifier r in both.
        """
        subject, predicate, object_, *reifier = tree.children
        quoted = quote(self.node(subject, out), self.node(predicate, out), self.node(object_, out))
        if not reifier and not self.reifies:
            return quoted
        return self._reify(quoted, reifier[0] if reifier else None, position_of(tree), out)

    def _bare_reified_triple(self, tree: ParseNode, out: list[TripleOrPath]) -> None:
        """A quoted triple that stands alone asks, as in RDF 1.2, whether something reifies it."""
        assert isinstance(tree, Tree)
        term = self._reified_triple(tree, out)
        if len(tree.children) == 3 and not self.reifies:
            out.append(TriplePattern(self.fresh_blank_node(), RDF_REIFIES, term, position_of(tree)))

    def _reify(
        self,
        quoted: PatternTerm,
        reifier: ParseNode | None,
        position: Position,
        out: list[TripleOrPath],
    ) -> PatternTerm:
        named = isinstance(reifier, Tree) and bool(reifier.children)
        name = self.node(reifier.children[0], out) if named else self.fresh_blank_node()  # type: ignore[union-attr]
        out.append(TriplePattern(name, RDF_REIFIES, quoted, position))
        return name

    def _properties(self, subject: PatternTerm, tree: ParseNode, out: list[TripleOrPath]) -> None:
        assert isinstance(tree, Tree)
        for verb, objects in zip(tree.children[::2], tree.children[1::2], strict=True):
            assert isinstance(objects, Tree)
            predicate: PatternTerm | PathExpression = (
                variable(verb) if isinstance(verb, Token) else self.path(verb)
            )
            if isinstance(predicate, Link):
                predicate = predicate.predicate
            for object_tree in trees(objects):
                target, *annotations = object_tree.children
                object_ = self.node(target, out)
                position = position_of(verb)
                if isinstance(predicate, PathExpression):
                    if self.in_template:
                        fail(verb, "a property path is not allowed in a CONSTRUCT template")
                    if annotations:
                        fail(annotations[0], "only a triple can be annotated, not a property path")
                    self._path_pattern(subject, predicate, object_, position, out)
                    continue
                out.append(TriplePattern(subject, predicate, object_, position))
                self._annotate(quote(subject, predicate, object_), annotations, out)

    def _annotate(
        self, quoted: PatternTerm, annotations: SequenceOf[ParseNode], out: list[TripleOrPath]
    ) -> None:
        """`{| ... |}` speaks of the reifier written just before it, else of the quoted triple
        (RDF-star) or of a nameless reifier of it (RDF 1.2).
        """
        about: PatternTerm | None = None
        for annotation in annotations:
            assert isinstance(annotation, Tree)
            if kind_of(annotation) == "reifier":
                about = self._reify(quoted, annotation, position_of(annotation), out)
                continue
            if about is None:
                place = position_of(annotation)
                about = self._reify(quoted, None, place, out) if self.reifies else quoted
            self._properties(about, annotation.children[0], out)
            about = None

    def path(self, tree: ParseNode) -> PathExpression:
        """Translate a property path expression (SPARQL 1.1, section 18.2.2.3)."""
        assert isinstance(tree, Tree)
        match kind_of(tree):
            case "path_alternative":
                left, right = tree.children
                return Alternative(self.path(left), self.path(right))
            case "path_sequence":
                left, right = tree.children
                return Sequence(self.path(left), self.path(right))
            case "path_inverse":
                return Inverse(self.path(tree.children[0]))
            case "path_modified":
                return _MODIFIERS[str(tree.children[1])](self.path(tree.children[0]))
            case "path_negated":
                return self._negated(tree)
        return Link(self.iri(tree))

    def _negated(self, tree: Tree[Token]) -> PathExpression:
        members = list(trees(tree))
        forward = tuple(self.iri(m) for m in members if kind_of(m) != "negated_inverse")
        backward = tuple(
            self.iri(m.children[0]) for m in members if kind_of(m) == "negated_inverse"
        )
        if not backward:
            return NegatedSet(forward)
        inverse = Inverse(NegatedSet(backward))
        return Alternative(NegatedSet(forward), inverse) if forward else inverse

    def _path_pattern(
        self,
        subject: PatternTerm,
        path: PathExpression,
        object_: PatternTerm,
        position: Position,
        out: list[TripleOrPath],
    ) -> None:
        """Take a path pattern apart into triples as far as section 18.2.2.4 does."""
        match path:
            case Link(predicate):
                out.append(TriplePattern(subject, predicate, object_, position))
            case Inverse(Link(predicate)):
                out.append(TriplePattern(object_, predicate, subject, position))
            case Sequence(left, right):
                middle: Variable = self.fresh_variable("p")
                self._path_pattern(subject, left, middle, position, out)
                self._path_pattern(middle, right, object_, position, out)
            case _:
                out.append(Path(subject, path, object_, position=position))
