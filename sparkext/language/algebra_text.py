"""Algebra as indented text, for people, logs and golden files."""

from __future__ import annotations

from sparkext.language import event_patterns as events
from sparkext.language.algebra import (
    Bgp,
    Extend,
    Filter,
    Graph,
    Group,
    LeftJoin,
    OrderBy,
    Path,
    Project,
    Service,
    Slice,
    Values,
    Window,
)
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
from sparkext.language.nodes import Node, PatternTerm, TriplePattern, Variable
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


def format_algebra(node: Node, indent: int = 0) -> str:
    """Return the algebra, one node a line, inputs indented below.

    >>> from sparkext.language.translation.parser import parse_query
    >>> query = parse_query("SELECT ?s { ?s <http://e/p> ?o FILTER(?o > 3) }")
    >>> print(format_algebra(query.pattern))
    Project ?s
      Filter ?o > 3
        Bgp
          ?s <http://e/p> ?o
    """
    pad = "  " * indent
    lines = [f"{pad}{type(node).__name__}{_detail(node)}"]
    if isinstance(node, Bgp):
        lines += [f"{pad}  {format_triple(pattern)}" for pattern in node.patterns]
    inputs = [format_algebra(child, indent + 1) for child in node.children]
    if isinstance(node, events.Match):
        named = zip(node.names, inputs, strict=True)
        inputs = [f"{pad}  {name}: {text.lstrip()}" for name, text in named]
    lines += inputs
    return "\n".join(lines)


def format_triple(pattern: TriplePattern) -> str:
    """Return a triple pattern as a query would write it."""
    return " ".join(_term(term) for term in pattern)


def _term(term: PatternTerm) -> str:
    return term.n3()


def _detail(node: Node) -> str:
    """Return what a node says beside its inputs, with a leading blank."""
    match node:
        case Path():
            return f" {_term(node.subject)} {format_path(node.path)} {_term(node.object)}"
        case Values():
            rows = (
                " ".join("UNDEF" if cell is None else _constant(cell) for cell in row)
                for row in node.rows
            )
            return f" ({_names(node.names)}) {{ {' '.join(f'({row})' for row in rows)} }}"
        case LeftJoin():
            return "" if node.condition is None else f" {format_expression(node.condition)}"
        case Filter():
            return f" {format_expression(node.condition)}"
        case Extend():
            return f" {node.variable} = {format_expression(node.expression)}"
        case Service():
            return f"{' SILENT' if node.silent else ''} {_term(node.name)}"
        case Graph() | Window():
            return f" {_term(node.name)}"
        case Group():
            keys = (
                str(name)
                if expression == VariableReference(name)
                else f"{name} = {format_expression(expression)}"
                for name, expression in node.keys
            )
            aggregates = (
                f"{name} = {format_expression(aggregate)}" for name, aggregate in node.aggregates
            )
            return f" ({', '.join(keys)}) ({', '.join(aggregates)})"
        case Project():
            return f" {_names(node.names)}" if node.names else ""
        case OrderBy():
            return "".join(
                f" {'DESC' if key.descending else 'ASC'}({format_expression(key.expression)})"
                for key in node.keys
            )
        case events.Match():
            return f"{_selection(node)} {{ {format_events(node.pattern)} }}"
        case Slice():
            return f" offset {node.offset}" + ("" if node.limit is None else f" limit {node.limit}")
    return ""


def _selection(match: events.Match) -> str:
    selection = "" if match.selection is None else f" {match.selection.upper()}"
    kept = match.selection in events.CONSUMING and not match.consumes
    return f"{selection} WITHOUT CONSUMPTION" if kept or match.keeps else selection


def format_events(pattern: events.EventPattern, nested: bool = False) -> str:
    """Return an event pattern as MATCH has it; `nested` puts parentheses around all but a name.

    >>> a, b = events.Event("A"), events.Event("B")
    >>> format_events(events.Within(events.Sequence(events.First(a), b), 5000))
    '(FIRST A) SEQ B WITHIN 5000 ms'
    """
    match pattern:
        case events.Event(name):
            return name
        case events.First() | events.Last():
            text = f"{type(pattern).__name__.upper()} {format_events(pattern.input, True)}"
        case events.Sequence():
            left, *absent, right = (format_events(part, True) for part in events.parts_of(pattern))
            text = " SEQ ".join((left, *(f"NOT {part}" for part in absent), right))
        case events.Conjunction(left, right):
            text = f"{format_events(left, True)} AND {format_events(right, True)}"
        case events.Disjunction(left, right):
            text = f"{format_events(left, True)} OR {format_events(right, True)}"
        case events.Related(relation, left, right):
            text = f"{format_events(left, True)} {relation.upper()} {format_events(right, True)}"
        case events.Repetition(input_, keys, aggregates):
            by = f" BY {_names(keys)}" if keys else ""
            made = "".join(f" ({format_expression(a)} AS {name})" for name, a in aggregates)
            text = f"{format_events(input_, True)}+{by}{made}"
        case events.Within(input_, most):
            text = f"{format_events(input_, _is_limited(input_))} WITHIN {most} ms"
        case events.Timed(input_, start, None):
            text = f"{format_events(input_, True)} AT {start}"
        case events.Timed(input_, start, end):
            limited = _is_limited(input_) and not isinstance(input_, events.Within)
            text = f"{format_events(input_, limited)} FROM {start} TO {end}"
    return f"({text})" if nested else text


def _is_limited(pattern: events.EventPattern) -> bool:
    """Whether WITHIN or FROM .. TO stands at the end of a pattern."""
    interval = isinstance(pattern, events.Timed) and pattern.end is not None
    return interval or isinstance(pattern, events.Within)


def _names(variables: tuple[Variable, ...]) -> str:
    return " ".join(map(str, variables))


def format_expression(expression: Expression, nested: bool = False) -> str:
    """Return an expression in SPARQL's notation; `nested` puts parentheses around operators."""
    match expression:
        case VariableReference(variable):
            return str(variable)
        case Constant(term):
            return _constant(term)
        case Or() | And() | Comparison() | Arithmetic():
            symbol = {Or: "||", And: "&&"}.get(type(expression)) or getattr(
                expression, "operator", ""
            )
            left, right = (format_expression(child, True) for child in expression.children)
            text = f"{left} {symbol} {right}"
        case Not(operand):
            return f"!{format_expression(operand, True)}"
        case UnaryMinus(operand):
            return f"-{format_expression(operand, True)}"
        case UnaryPlus(operand):
            return f"+{format_expression(operand, True)}"
        case In(operand, choices, negated):
            word = "NOT IN" if negated else "IN"
            text = f"{format_expression(operand, True)} {word} ({_list(choices)})"
        case BuiltinCall(name, arguments):
            return f"{name}({_list(arguments)})"
        case FunctionCall(function, arguments, distinct):
            return f"<{function}>({'DISTINCT ' if distinct else ''}{_list(arguments)})"
        case QuotedPatternExpression(pattern):
            return pattern.n3()
        case Exists(pattern, negated):
            inner = " ".join(line.strip() for line in format_algebra(pattern).splitlines())
            return f"{'NOT ' if negated else ''}EXISTS {{ {inner} }}"
        case Aggregate():
            argument = (
                "*" if expression.argument is None else format_expression(expression.argument)
            )
            separator = (
                ""
                if expression.separator in (None, " ")
                else f"; SEPARATOR={expression.separator!r}"
            )
            distinct_word = "DISTINCT " if expression.distinct else ""
            return f"{expression.name}({distinct_word}{argument}{separator})"
        case _:
            raise TypeError(f"not an expression: {expression!r}")
    return f"({text})" if nested else text


def _list(expressions: tuple[Expression, ...]) -> str:
    return ", ".join(format_expression(expression) for expression in expressions)


def _constant(term: PatternTerm) -> str:
    """Write numbers and booleans without quotes, as a query may."""
    text = _term(term)
    quoted, separator, datatype = text.rpartition("^^<http://www.w3.org/2001/XMLSchema#")
    if separator and datatype.rstrip(">") in ("integer", "decimal", "double", "boolean"):
        return quoted.strip('"')
    return text


def format_path(path: PathExpression) -> str:
    """Return a property path in SPARQL's notation.

    >>> from static_data.terms import Iri
    >>> p, q = Link(Iri("http://e/p")), Link(Iri("http://e/q"))
    >>> format_path(ZeroOrMore(Alternative(p, Inverse(q))))
    '(<http://e/p>|(^<http://e/q>))*'
    """
    match path:
        case Link(predicate):
            return predicate.n3()
        case Inverse(inner):
            return f"^{_step(inner)}"
        case Sequence(left, right):
            return f"{_step(left)}/{_step(right)}"
        case Alternative(left, right):
            return f"{_step(left)}|{_step(right)}"
        case ZeroOrMore(inner):
            return f"{_step(inner)}*"
        case OneOrMore(inner):
            return f"{_step(inner)}+"
        case ZeroOrOne(inner):
            return f"{_step(inner)}?"
        case NegatedSet(predicates):
            return f"!({'|'.join(predicate.n3() for predicate in predicates)})"
    raise TypeError(f"not a property path: {path!r}")


def _step(path: PathExpression) -> str:
    return format_path(path) if isinstance(path, Link | NegatedSet) else f"({format_path(path)})"
