"""Answers as what a message or a file holds: a line of JSON, or an element of an RDF stream."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError, SourceError
from sparkext.runtime.answering.delivered import revision_of
from sparkext.runtime.answering.sinks import numbered_line
from sparkext.s2r.event_time import format_date_time

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers

RDF_FORMATS = ("nquads", "trig")
FORMATS = ("json", *RDF_FORMATS)
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*")
_TIME = "<http://www.w3.org/ns/prov#generatedAtTime>"
_DATE_TIME = "<http://www.w3.org/2001/XMLSchema#dateTime>"


def checked_format(format: object, known: tuple[str, ...] = FORMATS) -> str:
    """A format; raises ArgumentError for another one."""
    text = check.text("format", format)
    if text not in known:
        raise ArgumentError("format", f"must be one of {', '.join(known)}, not {format!r}")
    return text


def payload(answers: Answers, format: str) -> str:
    """Answers in a format of `FORMATS`; an empty text where there is nothing to tell: triples that there are none of.

    Raises SourceError for RDF of what is no CONSTRUCT.
    """
    return numbered_line(answers) if format == "json" else element(answers, format)


def element(answers: Answers, format: str) -> str:
    """The triples of CONSTRUCT or DESCRIBE as an element: a named graph, then the triple that dates it.

    The graph is named as in a stream that the query makes, by the query's IRI and the instant.
    """
    if answers.form not in ("CONSTRUCT", "DESCRIBE"):
        raise SourceError(
            f"{answers.query}: {answers.form} answers no triples that could be {format}"
        )
    triples = answers.triples()
    if not triples:
        return ""
    name = graph_of(answers)
    time = f'{name} {_TIME} "{format_date_time(answers.time)}"^^{_DATE_TIME} .\n'
    if format == "nquads":
        return "".join(f"{s} {p} {o} {name} .\n" for s, p, o in triples) + time
    inside = " . ".join(f"{s} {p} {o}" for s, p, o in triples)
    return f"{name} {{ {inside} }}\n{time}"


def graph_of(answers: Answers) -> str:
    """The name of an element: <query#milliseconds>, and the revision of an instant that was answered anew."""
    query = answers.query if _ABSOLUTE.fullmatch(answers.query) else f"urn:cqels:{answers.query}"
    revision = revision_of(answers)
    revised = "" if revision is None else f".{revision}"
    return f"<{query}#{answers.time}{revised}>"


def instant_of(time_triple: bytes) -> tuple[str, int, int | None] | None:
    """Query, instant and revision of a line that dates an element; None for another line.

    >>> instant_of(b'<http://e/q#5.2> <http://www.w3.org/ns/prov#generatedAtTime> "1"^^<http://e/t> .')
    ('http://e/q', 5, 2)
    """
    match = _DATING.match(time_triple)
    if match is None:
        return None
    query, time, revision = match.groups()
    return query.decode(), int(time), None if revision is None else int(revision)


_DATING = re.compile(rb"<([^<>]*)#(-?\d+)(?:\.(\d+))?> " + re.escape(_TIME.encode()) + rb" ")
