"""JSON Lines: one JSON object for each evaluation instant of a continuous query.

`{"time": "2026-01-31T10:00:00.000Z", "head": ..., "results": ...}` in the form of SPARQL 1.1 JSON
results; `"boolean"` for ASK, `"triples"` (sorted N-Triples statements) for CONSTRUCT. Lines have no
line end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from sparkext.answers.term_parts import Row, in_order, json_of
from sparkext.s2r.event_time import format_date_time

_NOTHING: Mapping[str, object] = {}


def select_line(
    time: int,
    variables: Sequence[str],
    rows: Iterable[Row],
    ordered: bool = False,
    said: Mapping[str, object] = _NOTHING,
) -> str:
    """The answers of a SELECT query at an instant, sorted by N-Triples text unless `ordered`; `said` comes before them.

    >>> print(select_line(0, ["a", "b"], [("<http://e/2>", None), ("<http://e/1>", '"x"')]))
    {"time": "1970-01-01T00:00:00.000Z", "head": {"vars": ["a", "b"]}, "results": {"bindings":
    [{"a": {"type": "uri", "value": "http://e/1"}, "b": {"type": "literal", "value": "x"}},
    {"a": {"type": "uri", "value": "http://e/2"}}]}}
    """
    head = json.dumps({"time": format_date_time(time), **said})[:-1]
    return f"{head}, {select_members(variables, rows, ordered)}}}"


def ask_line(time: int, answer: bool, said: Mapping[str, object] = _NOTHING) -> str:
    """The answer of an ASK query at an instant.

    >>> ask_line(0, True)
    '{"time": "1970-01-01T00:00:00.000Z", "head": {}, "boolean": true}'
    """
    return json.dumps({"time": format_date_time(time), **said, "head": {}, "boolean": answer})


def construct_line(
    time: int, triples: Iterable[tuple[str, str, str]], said: Mapping[str, object] = _NOTHING
) -> str:
    """The triples of a CONSTRUCT query at an instant: a graph, so each triple once.

    >>> construct_line(0, [("<http://e/s>", "<http://e/p>", "_:b")])
    '{"time": "1970-01-01T00:00:00.000Z", "triples": ["<http://e/s> <http://e/p> _:b ."]}'
    """
    statements = sorted_statements(triples)
    line = {"time": format_date_time(time), **said, "triples": statements}
    return json.dumps(line, ensure_ascii=False)


def select_members(variables: Sequence[str], rows: Iterable[Row], ordered: bool) -> str:
    """The members `head` and `results` of a SPARQL 1.1 JSON result, as JSON text."""
    names = [f"{json.dumps(variable, ensure_ascii=False)}: " for variable in variables]
    bindings = ", ".join(
        "{"
        + ", ".join([n + json_of(t) for n, t in zip(names, row, strict=True) if t is not None])
        + "}"
        for row in in_order(rows, ordered)
    )
    head = json.dumps({"vars": list(variables)}, ensure_ascii=False)
    return f'"head": {head}, "results": {{"bindings": [{bindings}]}}'


def sorted_statements(triples: Iterable[tuple[str, str, str]]) -> list[str]:
    """N-Triples statements of a graph, sorted, each once."""
    return sorted({f"{subject} {predicate} {object_} ." for subject, predicate, object_ in triples})
