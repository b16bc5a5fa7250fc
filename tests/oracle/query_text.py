"""A continuous query taken apart with regular expressions, and its pattern as SPARQL 1.1 over named graphs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.oracle.window_definitions import Now, Range, Sliding, Window

WINDOW_GRAPHS = "urn:oracle:window:"

_PREFIX = re.compile(r"PREFIX\s+(\S*):\s*<([^>]*)>", re.IGNORECASE)
_REGISTER = re.compile(
    r"REGISTER\s+(\w+)\s+\S+\s+(?:COMPUTED\s+EVERY\s+(\S+)\s+)?AS\s", re.IGNORECASE
)
_WINDOW_CLAUSE = re.compile(
    r"FROM\s+NAMED\s+WINDOW\s+(\S+)\s+ON\s+(\S+)\s+\[([^\]]*)\]", re.IGNORECASE
)
_WINDOW = re.compile(r"\bWINDOW\s+(\S+?)\s*(?=\{)", re.IGNORECASE)
_GRAPH_VARIABLE = re.compile(r"\bGRAPH\s+\?(\w+)\s*\{", re.IGNORECASE)
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)


@dataclass(frozen=True)
class ContinuousQuery:
    """A query's parts: `windows` by name with their stream's IRI; `sparql` reads them as graphs."""

    operator: str
    every: int | None
    windows: dict[str, tuple[str, Window]]
    sparql: str


def read_query(text: str) -> ContinuousQuery:
    """Take a query apart; durations are PTnS or whole milliseconds.

    >>> query = read_query("SELECT * FROM NAMED WINDOW <http://e/w> ON <http://e/s> [RANGE PT2S] "
    ...                    "WHERE { WINDOW <http://e/w> { ?s ?p ?o } }")
    >>> query.windows
    {'http://e/w': ('http://e/s', Range(width=2000))}
    >>> query.sparql.split()
    ['SELECT', '*', 'WHERE', '{', 'GRAPH', '<urn:oracle:window:http://e/w>', '{', '?s', '?p', '?o', '}', '}']
    """
    text = _COMMENT.sub("", text)
    prefixes = dict(_PREFIX.findall(text))
    windows = {
        _iri(name, prefixes): (_iri(stream, prefixes), _window(window))
        for name, stream, window in _WINDOW_CLAUSE.findall(text)
    }
    registered = _REGISTER.search(text)
    operator = registered.group(1).upper() if registered else "RSTREAM"
    every = registered.group(2) if registered else None
    pattern = _REGISTER.sub("", _WINDOW_CLAUSE.sub("", text))
    pattern = _WINDOW.sub(lambda m: f"GRAPH <{WINDOW_GRAPHS}{_iri(m[1], prefixes)}> ", pattern)
    return ContinuousQuery(
        "RSTREAM" if operator == "STREAM" else operator,
        None if every is None else _milliseconds(every),
        windows,
        pattern,
    )


def _iri(text: str, prefixes: dict[str, str]) -> str:
    if text.startswith("<"):
        return text[1:-1]
    prefix, _, local = text.partition(":")
    return prefixes[prefix] + local


def _window(text: str) -> Window:
    words = text.split()
    if words[0].upper() == "NOW":
        return Now()
    given = dict(zip((w.upper() for w in words[::2]), words[1::2], strict=False))
    width = _milliseconds(given["RANGE"])
    if "STEP" not in given:
        return Range(width)
    start = text.split()[-1] if "STARTING" in text.upper() else "0"
    return Sliding(width, _milliseconds(given["STEP"]), int(start))


def _milliseconds(text: str) -> int:
    seconds = re.fullmatch(r"PT(\d+)S", text)
    return int(seconds.group(1)) * 1000 if seconds else int(text)


def spell_out_graphs(sparql: str, graphs: Sequence[str]) -> str:
    """GRAPH ?g as its definition has it: the union over these graphs, with the name joined (SPARQL 1.1, section 18.6).

    The store holds windows as graphs too, over which ?g does not range; and Oxigraph leaves ?g unbound around what
    reads no triple.

    >>> spell_out_graphs("{ GRAPH ?g { ?s ?p ?o } }", ["http://e/1"])
    '{ { { GRAPH <http://e/1> {  ?s ?p ?o  } VALUES ?g { <http://e/1> } } } }'
    """
    done, rest = "", sparql
    while found := _GRAPH_VARIABLE.search(rest):
        end = _closing_brace(rest, found.end())
        inner = spell_out_graphs(rest[found.end() : end], graphs)
        name = f"?{found.group(1)}"
        parts = [f"{{ GRAPH <{g}> {{ {inner} }} VALUES {name} {{ <{g}> }} }}" for g in graphs]
        done += rest[: found.start()]
        done += f"{{ {' UNION '.join(parts) or f'VALUES {name} {{}}'} }}"
        rest = rest[end + 1 :]
    return done + rest


def _closing_brace(text: str, start: int) -> int:
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return place
    raise ValueError("a brace is not closed")
