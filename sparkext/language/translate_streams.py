"""Parse tree of REGISTER and FROM [NAMED] WINDOW to declarations (RSP-QL)."""

from __future__ import annotations

from lark import Token, Tree

from sparkext.language.algebra import Position
from sparkext.language.durations import DurationError, parse_duration_ms, parse_instant_ms
from sparkext.language.query import Registration, StreamOperator, WindowDeclaration
from sparkext.language.translate_terms import (
    ParseNode,
    TermTranslation,
    fail,
    kind_of,
    position_of,
    trees,
)
from static_data.terms import XSD, Iri


def translate_registration(terms: TermTranslation, tree: Tree[Token]) -> Registration:
    """Translate a REGISTER clause; STREAM alone means RSTREAM."""
    operator, name, *computed = tree.children
    every_ms = None
    if computed:
        (duration,) = trees(computed[0])  # type: ignore[arg-type]
        every_ms = _duration_ms(terms, duration)
    return Registration(
        _operator(str(operator)), terms.iri(name), every_ms, position=position_of(tree)
    )


def _operator(text: str) -> StreamOperator:
    match text.upper():
        case "ISTREAM":
            return "ISTREAM"
        case "DSTREAM":
            return "DSTREAM"
    return "RSTREAM"


def translate_windows(
    terms: TermTranslation, clauses: list[Tree[Token]]
) -> tuple[WindowDeclaration, ...]:
    """Translate the window clauses in order; a name declared twice is an error."""
    declared: dict[Iri, Position] = {}
    windows = []
    for clause in clauses:
        *iris, window = trees(clause)
        stream = terms.iri(iris[-1])
        name = terms.iri(iris[0]) if len(iris) == 2 else None
        if name is not None:
            if name in declared:
                line, column = declared[name]
                fail(
                    iris[0],
                    f"window <{name.value}> is already declared at line {line}, column {column}",
                )
            declared[name] = position_of(iris[0])
        windows.append(_window(terms, name, stream, window, position_of(clause)))
    return tuple(windows)


def _window(
    terms: TermTranslation, name: Iri | None, stream: Iri, tree: Tree[Token], position: Position
) -> WindowDeclaration:
    kind = kind_of(tree)
    if kind == "now_window":
        return WindowDeclaration(name, stream, "now", position=position)
    if kind == "elements_window":
        width, *slide = (_positive_count(token) for token in tree.children)
        return WindowDeclaration(
            name,
            stream,
            "elements",
            width_elements=width,
            slide_elements=slide[0] if slide else None,
            position=position,
        )
    duration, *options = trees(tree)
    parts = {kind_of(option): option.children[0] for option in options}
    return WindowDeclaration(
        name,
        stream,
        "range",
        width_ms=_duration_ms(terms, duration),
        slide_ms=_duration_ms(terms, parts["step"]) if "step" in parts else None,
        start_ms=_instant_ms(terms, parts["starting_at"]) if "starting_at" in parts else None,
        position=position,
    )


def _positive_count(token: ParseNode) -> int:
    number = int(str(token))
    if number == 0:
        fail(token, "a window holds at least one element")
    return number


def _text(terms: TermTranslation, tree: ParseNode, datatypes: tuple[str, ...]) -> str:
    """Return the bare token, or the value of a string after a look at its datatype."""
    assert isinstance(tree, Tree)
    first, *datatype = tree.children
    if isinstance(first, Token):
        return str(first)
    if datatype:
        iri = terms.iri(datatype[0])
        if iri.value not in [XSD + name for name in datatypes]:
            fail(
                datatype[0],
                f"expected a literal of xsd:{' or xsd:'.join(datatypes)}, not {iri.n3()}",
            )
    return terms.string(first)


def _duration_ms(terms: TermTranslation, tree: ParseNode) -> int:
    try:
        milliseconds = parse_duration_ms(_text(terms, tree, ("duration", "dayTimeDuration")))
    except DurationError as error:
        fail(tree, str(error))
    if milliseconds <= 0:
        fail(tree, "a duration must be longer than nothing")
    return milliseconds


def _instant_ms(terms: TermTranslation, tree: ParseNode) -> int:
    try:
        return parse_instant_ms(
            _text(terms, tree, ("dateTime", "dateTimeStamp", "integer", "long"))
        )
    except DurationError as error:
        fail(tree, str(error))
