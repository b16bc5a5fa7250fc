"""Limits of a query's text: its size, how deep it is nested, how long its property paths are."""

from __future__ import annotations

import re

from sparkext.serving.options import Limits
from sparkext.serving.problems import ProblemError

# What brackets and paths are made of, and what they are no part of: strings, IRIs, comments, variables. A text is gone
# through once, however it is made: what a repetition has taken it keeps, a string without an end goes to the end of its
# line, and an escape is one piece, also in a name, so that the quote in it begins no string.
_TOKENS = re.compile(
    r"""(?P<other>\"{3}(?:[^"\\]++|\\.|"(?!""))*+"{3}|'{3}(?:[^'\\]++|\\.|'(?!''))*+'{3}"""
    r"""|"(?:[^"\\\n]++|\\.)*+"?|'(?:[^'\\\n]++|\\.)*+'?|[?$]\w+|[;,])"""
    r"""|(?P<iri><[^\x00-\x20<>"{}|^`\\]*+>)|(?P<comment>\#[^\n]*)"""
    r"""|(?P<open><<|[({\[])|(?P<close>>>|[)}\]])|(?P<step>[/|])|(?P<mark>[\^!*+?])"""
    r"""|(?P<word>(?:[^\s{}()\[\]<>"'/|^!*+?;,$\#\\]++|\\.)++)""",
    re.DOTALL,
)
_IN_PATHS = frozenset({"iri", "comment", "step", "mark"})


def check_query_text(text: str, limits: Limits) -> None:
    """Refuse a text that is larger, deeper nested or has longer paths than it may, before it is parsed.

    >>> check_query_text('SELECT * { ?s ?p "}}}((((" }', Limits(query_depth=2))
    >>> check_query_text("SELECT * { { { } } }", Limits(query_depth=2))
    Traceback (most recent call last):
    ...
    sparkext.serving.problems.ProblemError: nested more than 2 deep
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > limits.query_bytes:
        raise ProblemError(413, f"a query of {size} bytes: at most {limits.query_bytes} are read")
    depth = steps = 0
    for token in _TOKENS.finditer(text):
        kind, word = token.lastgroup, token.group()
        if kind == "open":
            depth += 1
            if depth > limits.query_depth:
                raise _refused(text, token.start(), f"nested more than {limits.query_depth} deep")
        elif kind == "close":
            depth = max(0, depth - 1)
        if kind == "step":
            steps += 1
            if steps > limits.path_steps:
                said = f"a path of more than {limits.path_steps} steps"
                raise _refused(text, token.start(), said)
        elif kind == "word" and word.endswith(".") and not word.endswith("\\."):
            steps = 0
        elif kind not in _IN_PATHS and kind != "word" and word not in ("(", ")"):
            steps = 0  # a path has neither variables nor strings nor braces


def _refused(text: str, place: int, said: str) -> ProblemError:
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    return ProblemError(422, said, line=line, column=column)
