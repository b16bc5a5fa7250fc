"""Parse tree to expressions, with the arities that the grammar leaves open."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from lark import Token, Tree

from sparkext.language.expressions import (
    Aggregate,
    And,
    Arithmetic,
    BuiltinCall,
    Comparison,
    Constant,
    Exists,
    Expression,
    FunctionCall,
    In,
    Not,
    Or,
    QuotedPatternExpression,
    UnaryMinus,
    UnaryPlus,
    VariableReference,
)
from sparkext.language.nodes import Node, PatternTerm, QuotedPattern
from sparkext.language.timestamps import mistaken_timestamp
from sparkext.language.translation.iris import Prologue
from sparkext.language.translation.translate_terms import (
    ParseNode,
    fail,
    kind_of,
    position_of,
    quote,
    trees,
    variable,
)
from sparkext.language.translation.translate_triples import TripleTranslation
from sparkext.language.uncertainty import mistaken_call
from static_data.files.rdf_version import RdfVersion
from static_data.terms import QuotedTriple

_UNLIMITED: Final = 1_000_000


def _taking(least: int, most: int, names: str) -> dict[str, tuple[int, int]]:
    return dict.fromkeys(names.split(), (least, most))


# How many arguments each function takes, from .. to.
_ARITIES: Final = {
    **_taking(0, 0, "RAND NOW UUID STRUUID"),
    **_taking(0, 1, "BNODE"),
    **_taking(1, 1, "STR LANG DATATYPE BOUND IRI ABS CEIL FLOOR ROUND STRLEN UCASE LCASE"),
    **_taking(1, 1, "ENCODE_FOR_URI YEAR MONTH DAY HOURS MINUTES SECONDS TIMEZONE TZ"),
    **_taking(1, 1, "MD5 SHA1 SHA256 SHA384 SHA512 ISIRI ISBLANK ISLITERAL ISNUMERIC"),
    **_taking(1, 1, "ISTRIPLE SUBJECT PREDICATE OBJECT LANGDIR HASLANG HASLANGDIR"),
    **_taking(2, 2, "LANGMATCHES CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER STRLANG STRDT"),
    **_taking(2, 2, "SAMETERM"),
    **_taking(2, 3, "REGEX SUBSTR"),
    **_taking(3, 3, "IF TRIPLE STRLANGDIR"),
    **_taking(3, 4, "REPLACE"),
    **_taking(0, _UNLIMITED, "COALESCE CONCAT"),
}
_SYNONYMS: Final = {"URI": "IRI", "ISURI": "ISIRI"}
_AGGREGATES_ELSEWHERE: Final = "an aggregate is only allowed in SELECT, HAVING and ORDER BY"


class ExpressionTranslation(TripleTranslation):
    """Expressions; EXISTS calls back into the layer of graph patterns above."""

    def __init__(self, prologue: Prologue, rdf: RdfVersion) -> None:
        super().__init__(prologue, rdf)
        self._no_aggregates: str | None = _AGGREGATES_ELSEWHERE

    @abstractmethod
    def exists_pattern(self, tree: Tree[Token]) -> Node:
        """Translate the group of an EXISTS."""

    @contextmanager
    def aggregates_allowed(self, refusal: str | None = None) -> Iterator[None]:
        """Allow aggregates inside the block, or refuse them with a message of its own."""
        before, self._no_aggregates = self._no_aggregates, refusal
        try:
            yield
        finally:
            self._no_aggregates = before

    @contextmanager
    def aggregates_refused(self) -> Iterator[None]:
        """Refuse aggregates inside the block: a nested graph pattern is no place for those of the
        query around it.
        """
        with self.aggregates_allowed(_AGGREGATES_ELSEWHERE):
            yield

    def expression(self, tree: ParseNode) -> Expression:
        """Translate any expression."""
        position = position_of(tree)
        if isinstance(tree, Token):
            return VariableReference(variable(tree), position=position)
        kind = kind_of(tree)
        if kind in ("iri", "literal", "number", "signed_number", "boolean"):
            return Constant(self.constant(tree), position=position)
        return _TRANSLATIONS[kind](self, tree)

    def _or(self, tree: Tree[Token]) -> Expression:
        left, right = map(self.expression, tree.children)
        return Or(left, right, position=position_of(tree))

    def _and(self, tree: Tree[Token]) -> Expression:
        left, right = map(self.expression, tree.children)
        return And(left, right, position=position_of(tree))

    def _comparison(self, tree: Tree[Token]) -> Expression:
        left, operator, right = tree.children
        return Comparison(
            self.expression(left), self.expression(right), str(operator), position=position_of(tree)
        )

    def _arithmetic(self, tree: Tree[Token]) -> Expression:
        left, operator, right = tree.children
        return Arithmetic(
            self.expression(left), self.expression(right), str(operator), position=position_of(tree)
        )

    def _signed_addition(self, tree: Tree[Token]) -> Expression:
        """`?x -1`: the lexer took the sign into the number, the grammar makes it an addition."""
        left, right = map(self.expression, tree.children)
        return Arithmetic(left, right, "+", position=position_of(tree))

    def _not(self, tree: Tree[Token]) -> Expression:
        return Not(self.expression(tree.children[0]), position=position_of(tree))

    def _unary_plus(self, tree: Tree[Token]) -> Expression:
        return UnaryPlus(self.expression(tree.children[1]), position=position_of(tree))

    def _unary_minus(self, tree: Tree[Token]) -> Expression:
        return UnaryMinus(self.expression(tree.children[1]), position=position_of(tree))

    def _in(self, tree: Tree[Token]) -> Expression:
        operand, *rest = tree.children
        negated = bool(rest) and kind_of(rest[0]) == "NOT"
        choices = self._arguments(rest[1:] if negated else rest)
        return In(self.expression(operand), choices, negated, position=position_of(tree))

    def _arguments(self, nodes: list[ParseNode]) -> tuple[Expression, ...]:
        return tuple(
            self.expression(node) for node in nodes if kind_of(node) not in ("NIL", "DISTINCT")
        )

    def _builtin(self, tree: Tree[Token]) -> Expression:
        name_token, *rest = tree.children
        name = str(name_token).upper()
        name = _SYNONYMS.get(name, name)
        arguments = self._arguments(rest)
        least, most = _ARITIES[name]
        if not least <= len(arguments) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            noun = "argument" if wanted == "1" else "arguments"
            fail(tree, f"{name} takes {wanted} {noun}, not {len(arguments)}")
        if name == "BOUND" and not isinstance(arguments[0], VariableReference):
            fail(rest[0], "BOUND takes a variable")
        return BuiltinCall(name, arguments, position=position_of(tree))

    def _function(self, tree: Tree[Token]) -> Expression:
        name, *rest = tree.children
        distinct = any(kind_of(node) == "DISTINCT" for node in rest)
        call = FunctionCall(
            self.iri(name).value, self._arguments(rest), distinct, position=position_of(tree)
        )
        if (mistake := mistaken_call(call) or mistaken_timestamp(call)) is not None:
            fail(tree, mistake)
        return call

    def _exists(self, tree: Tree[Token]) -> Expression:
        (group,) = trees(tree)
        negated = len(tree.children) == 2
        return Exists(self.exists_pattern(group), negated, position=position_of(tree))

    def _aggregate(self, tree: Tree[Token]) -> Expression:
        if self._no_aggregates is not None:
            fail(tree, self._no_aggregates)
        name_token, *rest = tree.children
        name = str(name_token).upper()
        distinct = kind_of(rest[0]) == "DISTINCT"
        if distinct:
            del rest[0]
        argument: Expression | None = None
        if kind_of(rest[0]) != "STAR":
            with self.aggregates_allowed("an aggregate cannot stand inside another one"):
                argument = self.expression(rest[0])
        elif name != "COUNT":
            fail(rest[0], f"{name} takes an expression; only COUNT takes *")
        separator: str | None = " " if name == "GROUP_CONCAT" else None
        if len(rest) == 2:
            clause = rest[1]
            assert isinstance(clause, Tree)
            if name != "GROUP_CONCAT":
                fail(clause, f"{name} takes no SEPARATOR")
            separator = self.string(clause.children[0])
        return Aggregate(name, argument, distinct, separator, position=position_of(tree))

    def _quoted(self, tree: Tree[Token]) -> Expression:
        term = self._quoted_term(tree)
        if isinstance(term, QuotedPattern):
            return QuotedPatternExpression(term, position=position_of(tree))
        assert isinstance(term, QuotedTriple)  # `quote` makes one or the other
        return Constant(term, position=position_of(tree))

    def _quoted_term(self, tree: ParseNode) -> PatternTerm:
        if kind_of(tree) != "expression_triple":
            return self.node(tree, [])
        assert isinstance(tree, Tree)
        return quote(*(self._quoted_term(part) for part in tree.children))


_TRANSLATIONS: Final[dict[str, Callable[[ExpressionTranslation, Tree[Token]], Expression]]] = {
    "or_expression": ExpressionTranslation._or,
    "and_expression": ExpressionTranslation._and,
    "comparison": ExpressionTranslation._comparison,
    "addition": ExpressionTranslation._arithmetic,
    "multiplication": ExpressionTranslation._arithmetic,
    "signed_multiplication": ExpressionTranslation._arithmetic,
    "signed_addition": ExpressionTranslation._signed_addition,
    "not_expression": ExpressionTranslation._not,
    "unary_plus": ExpressionTranslation._unary_plus,
    "unary_minus": ExpressionTranslation._unary_minus,
    "in_expression": ExpressionTranslation._in,
    "builtin_call": ExpressionTranslation._builtin,
    "function_call": ExpressionTranslation._function,
    "exists": ExpressionTranslation._exists,
    "aggregate": ExpressionTranslation._aggregate,
    "expression_triple": ExpressionTranslation._quoted,
}
