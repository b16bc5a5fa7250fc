"""Parse tree of REGISTER, FROM [NAMED] WINDOW and REPORT to declarations (RSP-QL, RSEP-QL)."""

from __future__ import annotations

from dataclasses import replace

from lark import Token, Tree

from sparkext.language.durations import DurationError, parse_duration_ms, parse_instant_ms
from sparkext.language.nodes import Position
from sparkext.language.query import (
    Registration,
    ReportRule,
    ReportStrategy,
    StreamOperator,
    WindowDeclaration,
    WindowReport,
    strategy_named,
)
from sparkext.language.translation.translate_dialects import window_name
from sparkext.language.translation.translate_terms import (
    ParseNode,
    TermTranslation,
    fail,
    kind_of,
    position_of,
    trees,
)
from static_data.terms import XSD, Iri

# Windows number their elements in 32 bits.
_MOST_ELEMENTS = (1 << 31) - 1


def translate_registration(terms: TermTranslation, tree: Tree[Token]) -> Registration:
    """Translate a REGISTER clause."""
    operator, name, *clauses = tree.children
    parts = {kind_of(clause): clause for clause in clauses}
    every_ms = None
    if "computed" in parts:
        (duration,) = trees(parts["computed"])  # type: ignore[arg-type]
        every_ms = duration_ms(terms, duration)
    rules: tuple[ReportRule, ...] = ()
    if "registration_report" in parts:
        rules = tuple(_rule(terms, rule) for rule in trees(parts["registration_report"]))  # type: ignore[arg-type]
    return Registration(
        _operator(str(operator)),
        _registered_name(terms, name),
        every_ms,
        rules,
        position=position_of(tree),
    )


def _registered_name(terms: TermTranslation, tree: ParseNode) -> Iri:
    """The IRI of a registered query; a bare name, as C-SPARQL has it, is a relative IRI."""
    if kind_of(tree) == "bare_name":
        assert isinstance(tree, Tree)
        return Iri(terms.prologue.resolve(str(tree.children[0])))
    return terms.iri(tree)


def _operator(text: str) -> StreamOperator | None:
    match text.upper():
        case "RSTREAM":
            return "RSTREAM"
        case "ISTREAM":
            return "ISTREAM"
        case "DSTREAM":
            return "DSTREAM"
    return None


def _rule(terms: TermTranslation, tree: Tree[Token]) -> ReportRule:
    conditions = []
    for part in trees(tree):
        if kind_of(part) == "report_condition":
            strategy, window = part.children
            conditions.append((_strategy(str(strategy)), terms.iri(window)))
    return ReportRule(tuple(conditions), _period(terms, tree))


def _period(terms: TermTranslation, tree: Tree[Token]) -> int | None:
    """The period of a conjunction; written twice, it is an error."""
    periods = [part for part in trees(tree) if kind_of(part) == "report_every"]
    if len(periods) > 1:
        fail(periods[1], "EVERY stands once in a conjunction of report strategies")
    return duration_ms(terms, periods[0].children[0]) if periods else None


def _strategy(token: str) -> ReportStrategy:
    strategy = strategy_named(token)
    assert strategy is not None  # the grammar knows the same names
    return strategy


def _window_report(terms: TermTranslation, tree: Tree[Token]) -> WindowReport:
    strategies = [_strategy(str(t)) for t in tree.children if isinstance(t, Token)]
    return WindowReport(tuple(strategies), _period(terms, tree))


def translate_windows(
    terms: TermTranslation, clauses: list[Tree[Token]]
) -> tuple[WindowDeclaration, ...]:
    """Translate the window clauses in order; a name declared twice is an error."""
    declared: dict[Iri, Position] = {}
    windows = []
    for clause in clauses:
        iris = [part for part in trees(clause) if kind_of(part) == "iri"]
        if kind_of(clause) == "from_windowed":  # the stream first, the name last
            iris.reverse()
        stream = terms.iri(iris[-1])
        name = terms.iri(iris[0]) if len(iris) == 2 else window_name(clause, stream)
        place = iris[0] if len(iris) == 2 else clause
        if name is not None:
            if name in declared:
                line, column = declared[name]
                fail(
                    place,
                    f"window <{name.value}> is already declared at line {line}, column {column}",
                )
            declared[name] = position_of(place)
        windows.append(_declaration(terms, name, stream, clause))
    return tuple(windows)


def _declaration(
    terms: TermTranslation, name: Iri | None, stream: Iri, clause: Tree[Token]
) -> WindowDeclaration:
    written = [part for part in trees(clause) if kind_of(part).endswith("_window")]
    reports = [part for part in trees(clause) if kind_of(part) == "window_report"]
    report = _window_report(terms, reports[0]) if reports else None
    inner: WindowDeclaration | None = None
    # W1 . W2 is W1 applied to what W2 gives.
    for tree in reversed(written):
        if len(written) > 1 and kind_of(tree) == "elements_window":
            fail(tree, "a window that counts elements cannot be composed with another")
        made = _window(terms, name, stream, tree, position_of(clause))
        inner = replace(made, inner=inner)
    assert inner is not None
    return replace(inner, report=report)


def translate_stream_window(terms: TermTranslation, tree: Tree[Token]) -> WindowDeclaration:
    """Translate the stream and window of CQELS-QL's `STREAM <s> [..] {..}`, as yet without a name."""
    stream, window, _ = trees(tree)
    return _window(terms, None, terms.iri(stream), window, position_of(tree))


def _window(
    terms: TermTranslation, name: Iri | None, stream: Iri, tree: Tree[Token], position: Position
) -> WindowDeclaration:
    match kind_of(tree):
        case "tumbling_window":
            width_ms = duration_ms(terms, next(trees(tree)))
            return WindowDeclaration(name, stream, "range", width_ms, width_ms, position=position)
        case "now_window":
            return WindowDeclaration(name, stream, "now", position=position)
        case "elements_window":
            width, *slide = (_positive_count(token) for token in tree.children)
            return WindowDeclaration(
                name,
                stream,
                "elements",
                width_elements=width,
                slide_elements=slide[0] if slide else None,
                position=position,
            )
        case "landmark_window":
            since = [_instant_ms(terms, instant) for instant in trees(tree)]
            return WindowDeclaration(
                name, stream, "landmark", start_ms=since[0] if since else None, position=position
            )
        case "interval_window":
            first, last = (_instant_ms(terms, instant) for instant in trees(tree))
            if last < first:
                fail(tree, "an interval cannot end before it begins")
            return WindowDeclaration(
                name, stream, "interval", start_ms=first, end_ms=last, position=position
            )
    return _range(terms, name, stream, tree, position)


def _range(
    terms: TermTranslation, name: Iri | None, stream: Iri, tree: Tree[Token], position: Position
) -> WindowDeclaration:
    """A range window, or a past window, [NOW-a TO NOW-b], which is a range seen b later."""
    duration, *options = trees(tree)
    parts = {kind_of(option): next(trees(option)) for option in options}
    width = duration_ms(terms, duration)
    delay = duration_ms(terms, parts["delay"]) if "delay" in parts else None
    if "delay_until" in parts:
        delay = duration_ms(terms, parts["delay_until"], least=0)
        if delay >= width:
            fail(tree, "a past window cannot end before it begins")
        width -= delay
        delay = delay or None
    return WindowDeclaration(
        name,
        stream,
        "range",
        width_ms=width,
        slide_ms=duration_ms(terms, parts["step"]) if "step" in parts else None,
        start_ms=_instant_ms(terms, parts["starting_at"]) if "starting_at" in parts else None,
        delay_ms=delay,
        position=position,
    )


def _positive_count(token: ParseNode) -> int:
    digits = str(token).lstrip("0")
    if not digits:
        fail(token, "a window holds at least one element")
    if len(digits) > len(str(_MOST_ELEMENTS)) or int(digits) > _MOST_ELEMENTS:
        fail(token, f"a window holds at most {_MOST_ELEMENTS:,} elements, and steps by no more")
    return int(digits)


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


def duration_ms(terms: TermTranslation, tree: ParseNode, least: int = 1) -> int:
    """Translate a duration of at least so many milliseconds."""
    try:
        milliseconds = parse_duration_ms(_text(terms, tree, ("duration", "dayTimeDuration")))
    except DurationError as error:
        fail(tree, str(error))
    if milliseconds < least:
        fail(tree, "a duration must be longer than nothing")
    return milliseconds


def _instant_ms(terms: TermTranslation, tree: ParseNode) -> int:
    try:
        return parse_instant_ms(
            _text(terms, tree, ("dateTime", "dateTimeStamp", "integer", "long"))
        )
    except DurationError as error:
        fail(tree, str(error))
