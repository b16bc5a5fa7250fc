"""Answers of an engine, read from JSON Lines: one object for each evaluation instant, as `cqels run` writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sparkext.errors import InputFileError
from sparkext.language.durations import DurationError, parse_instant_ms
from sparkext.language.query import Query
from sparkext.oracle.evaluation import Answer, Row
from sparkext.recorded_streams.nquads_lines import MalformedLineError, parse_line
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple, Term


class _MalformedAnswerError(ValueError):
    """What is wrong with one line, without its place."""


def read_answers(file: str | Path, query: Query) -> dict[int, Answer]:
    """The answers by instant, in the query's form and with its columns.

    A time is an xsd:dateTime (no zone: UTC) or a number of milliseconds. An object with a `revision` may come anywhere,
    and replaces the one before it of its time; one that is `retracted` takes it away. Raises InputFileError with file
    and line.
    """
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputFileError(str(file), None, None, "no such file") from None
    except UnicodeDecodeError as error:
        raise InputFileError(str(file), None, None, f"not UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise InputFileError(str(file), None, None, error.strerror or str(error)) from error
    found: dict[int, Answer] = {}
    lines: dict[int, int] = {}
    # Not splitlines: JSON leaves U+2028 and its like inside strings as they are.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            time, answer = _answer(value, query)
            if "revision" in value:
                found.pop(time, None)
                if value.get("retracted") is not True:
                    found[time], lines[time] = answer, number
                continue
            if found and time < max(found):
                raise _MalformedAnswerError("its time lies before that of the object before")
            if time in found:
                raise _MalformedAnswerError(f"a second object for the time of line {lines[time]}")
        except json.JSONDecodeError as error:
            place = error.colno
            raise InputFileError(str(file), number, place, f"not JSON: {error.msg}") from None
        except _MalformedAnswerError as error:
            raise InputFileError(str(file), number, None, str(error)) from None
        except RecursionError:
            raise InputFileError(str(file), number, None, "nested too deeply") from None
        found[time], lines[time] = answer, number
    return dict(sorted(found.items()))


def _answer(value: Any, query: Query) -> tuple[int, Answer]:
    if not isinstance(value, dict):
        raise _MalformedAnswerError("not a JSON object")
    time = _time(value)
    if query.form == "ASK":
        if not isinstance(value.get("boolean"), bool):
            raise _MalformedAnswerError('an answer of ASK has "boolean": true or false')
        return time, Answer("ASK", boolean=value["boolean"])
    if query.form == "CONSTRUCT":
        triples = value.get("triples")
        if not isinstance(triples, list) or not all(isinstance(t, str) for t in triples):
            raise _MalformedAnswerError(
                'an answer of CONSTRUCT has "triples", a list of N-Triples statements'
            )
        return time, Answer(
            "CONSTRUCT", ("s", "p", "o"), tuple(dict.fromkeys(map(_triple, triples)))
        )
    variables = tuple(variable.name for variable in query.variables)
    return time, Answer("SELECT", variables, _rows(value, variables))


def _time(value: Mapping[str, Any]) -> int:
    time = value.get("time")
    if isinstance(time, int) and not isinstance(time, bool):
        return time
    try:
        return parse_instant_ms(time if isinstance(time, str) else "")
    except DurationError:
        raise _MalformedAnswerError(
            '"time" must be an xsd:dateTime or a number of milliseconds'
        ) from None


def _triple(statement: str) -> Row:
    try:
        parsed = parse_line(statement)
    except MalformedLineError as error:
        message = (
            f"not an N-Triples statement: {statement!r} (column {error.column}: {error.message})"
        )
        raise _MalformedAnswerError(message) from None
    if parsed is None or parsed[3] is not None:
        raise _MalformedAnswerError(f"not an N-Triples statement: {statement!r}")
    return parsed[:3]


def _rows(value: Mapping[str, Any], variables: tuple[str, ...]) -> tuple[Row, ...]:
    head, results = value.get("head"), value.get("results")
    bindings = results.get("bindings") if isinstance(results, dict) else None
    if not isinstance(bindings, list):
        raise _MalformedAnswerError('an answer of SELECT has "results": {"bindings": [...]}')
    named = head.get("vars") if isinstance(head, dict) else None
    columns = set(map(str, named)) if isinstance(named, list) else None
    if named is not None and columns != set(variables):
        wanted = ", ".join(variables)
        raise _MalformedAnswerError(
            f"its columns must be those of the query ({wanted}), not {named}"
        )
    rows = []
    for binding in bindings:
        if not isinstance(binding, dict):
            raise _MalformedAnswerError("a binding is an object of terms by variable")
        unknown = [name for name in binding if name not in variables]
        if unknown:
            raise _MalformedAnswerError(f"the query has no variable ?{unknown[0]}")
        rows.append(tuple(_term(binding[v]).n3() if v in binding else None for v in variables))
    return tuple(rows)


def _in_language(lexical: str, language: str, direction: Any) -> Literal:
    try:
        return Literal(lexical, language=language, direction=direction)
    except ValueError as error:
        raise _MalformedAnswerError(str(error)) from None


def _term(value: Any) -> Term:
    kind = value.get("type") if isinstance(value, dict) else None
    content = value.get("value") if isinstance(value, dict) else None
    if kind == "triple" and isinstance(content, dict):
        subject, predicate, object_ = (
            _term(content.get(part)) for part in ("subject", "predicate", "object")
        )
        if isinstance(subject, Literal) or not isinstance(predicate, Iri):
            raise _MalformedAnswerError(f"no triple: {json.dumps(value, ensure_ascii=False)}")
        return QuotedTriple(subject, predicate, object_)
    if isinstance(content, str):
        match kind:
            case "uri":
                return Iri(content)
            case "bnode":
                return BlankNode(content)
            case "literal" | "typed-literal":
                language, datatype = value.get("xml:lang"), value.get("datatype")
                if language is not None:
                    return _in_language(content, str(language), value.get("its:dir"))
                return Literal(content, None if datatype is None else Iri(str(datatype)))
    raise _MalformedAnswerError(f"no RDF term: {json.dumps(value, ensure_ascii=False)}")
