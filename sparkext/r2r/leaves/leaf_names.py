"""Short names of leaves and conditions, for plans that people read."""

from __future__ import annotations

import re

from sparkext.language.algebra import Path
from sparkext.language.algebra_text import format_path
from sparkext.language.expressions import (
    And,
    Arithmetic,
    BuiltinCall,
    Comparison,
    Constant,
    Exists,
    Expression,
    FunctionCall,
    Not,
    Or,
    VariableReference,
)
from sparkext.language.nodes import PatternTerm, QuotedPattern, TriplePattern, Variable
from sparkext.language.paths import PathExpression
from sparkext.r2r.leaves.flattening import Bind
from sparkext.r2r.leaves.leaf import (
    DerivedLeaf,
    Leaf,
    MergedLeaf,
    StaticLeaf,
    WindowLeaf,
    has_arrived,
)
from sparkext.r2r.leaves.scopes import DefaultGraph, NamedGraph
from sparkext.r2r.leaves.star_patterns import StarPattern
from sparkext.r2r.patterns.stage_rows import InstanceRows, LatestTime, MatchRows
from static_data.terms import Iri

_IRI = re.compile(r"<([^>]*)>")
_LAST_PART = re.compile(r"[^/#]+(?=[/#]?$)")


def leaf_name(leaf: Leaf) -> str:
    """What a leaf is called in plans.

    >>> from static_data.terms import Iri
    >>> pattern = TriplePattern(Variable("p"), Iri("http://deri.org/schema#at"), Variable("room"))
    >>> leaf_name(WindowLeaf(Iri("http://e/w30"), pattern))
    'w30{?p at ?room}'
    """
    match leaf:
        case WindowLeaf():
            kept = "" if leaf.kept is None else f" distinct {' '.join(map(str, leaf.kept))}"
            text = _pattern(leaf.pattern)
            if has_arrived(leaf):
                text = f"new {text}"
            elif getattr(leaf.pattern, "once", False):
                text = f"time of {text}"
            if leaf.graph is not None:
                text = f"{_short(leaf.graph)}{{{text}}}"
            return f"{_short(leaf.window)}{{{text}}}{kept}"
        case MergedLeaf():
            return f"default graph{{{_pattern(leaf.pattern)}}}"
        case StaticLeaf():
            text = _pattern(leaf.pattern)
            return (
                f"{_short(leaf.graph.name)}{{{text}}}"
                if isinstance(leaf.graph, NamedGraph)
                else text
            )
        case DerivedLeaf(node=Path() as path):
            around = (
                f"{_short(leaf.scope.name)}" if not isinstance(leaf.scope, DefaultGraph) else ""
            )
            text = f"{_short(path.subject)} {path_name(path.path)} {_short(path.object)}"
            return f"{around}{{{text}}}" if around else text
        case DerivedLeaf(node=InstanceRows()):
            return "instances"
        case DerivedLeaf(node=MatchRows(names=names)):
            shown = f"MATCH({' '.join(map(str, names))})"
            return f"new {shown}" if has_arrived(leaf) else shown
        case DerivedLeaf():
            kind = type(leaf.node).__name__.lower()
            return f"{kind}({' '.join(map(str, leaf.variables))})"


def condition_name(condition: Expression) -> str:
    """What a condition is called in plans.

    >>> condition_name(Comparison(*(VariableReference(Variable(v)) for v in "ab"), operator="!="))
    '?a != ?b'
    """
    match condition:
        case VariableReference():
            return str(condition.variable)
        case Constant():
            return (
                _short(condition.term) if isinstance(condition.term, Iri) else condition.term.n3()
            )
        case Comparison() | Arithmetic():
            return f"{condition_name(condition.left)} {condition.operator} {condition_name(condition.right)}"
        case And() | Or():
            sign = "&&" if isinstance(condition, And) else "||"
            return f"({condition_name(condition.left)} {sign} {condition_name(condition.right)})"
        case Not():
            return f"!({condition_name(condition.operand)})"
        case BuiltinCall():
            return f"{condition.name}({', '.join(map(condition_name, condition.arguments))})"
        case Exists():
            word = "NOT EXISTS" if condition.negated else "EXISTS"
            return f"{word}({' '.join(map(str, condition.variables))})"
        case LatestTime(triple=triple):
            return f"timestamp({', '.join(map(_short, triple))})"
        case FunctionCall():
            return f"{_short(Iri(condition.function))}({', '.join(map(condition_name, condition.arguments))})"
        case _:
            return f"{type(condition).__name__.lower()}({' '.join(map(str, condition.variables))})"


def bind_name(bind: Bind) -> str:
    """What a BIND is called in plans.

    >>> bind_name(Bind(Variable("p"), FunctionCall("http://e/f", (VariableReference(Variable("x")),))))
    '?p := f(?x)'
    """
    return f"{bind.variable} := {condition_name(bind.expression)}"


def path_name(path: PathExpression) -> str:
    """A property path with short names.

    >>> from sparkext.language.paths import Link, OneOrMore
    >>> path_name(OneOrMore(Link(Iri("http://e/knows"))))
    'knows+'
    """
    return _IRI.sub(lambda found: _short(Iri(found.group(1))), format_path(path))


def _pattern(pattern: TriplePattern) -> str:
    text = " ".join(_short(term) for term in pattern)
    if isinstance(pattern, StarPattern):
        rest = (f"{_short(part.predicate)} {_short(part.object)}" for part in pattern.others)
        return "; ".join((text, *rest))
    return text


def _short(term: PatternTerm | Iri) -> str:
    if isinstance(term, Variable):
        return str(term)
    if isinstance(term, Iri):
        found = _LAST_PART.search(term.value)
        return found.group() if found else term.n3()
    if isinstance(term, QuotedPattern):
        return f"<< {_short(term.subject)} {_short(term.predicate)} {_short(term.object)} >>"
    return term.n3()
