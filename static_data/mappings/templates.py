r"""Templates and references as mappings write them, and values as they stand in IRIs.

R2RML, section 7.3: a template has references in braces, `\{`, `\}` and `\\` stand for themselves; in an IRI each
character of a value that is none of iunreserved (RFC 3987) is percent-encoded.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from static_data.mappings.row_mapping import Step

_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
# ucschar of RFC 3987.
_UCSCHAR: Final = (
    "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(f"{chr(n << 16)}-{chr((n << 16) + 0xFFFD)}" for n in range(1, 14))
    + "\U000e1000-\U000efffd"
)
_NOT_SAFE: Final = re.compile(rf"[^A-Za-z0-9\-._~{_UCSCHAR}]")
_NOT_ASCII_SAFE: Final = re.compile(r"[^A-Za-z0-9\-._~]")
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_NAME_STEP: Final = re.compile(
    r"""\.?\[\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\d+)|(\*))\s*\]|\.?([^.\[\]*'"\s?@()][^.\[\]]*)|\.?(\*)"""
)


def template_parts(text: str) -> list[str | tuple[str]]:
    r"""Texts, and references as tuples of one; raises ValueError for braces that do not pair.

    >>> template_parts(r"http://e/{room}/a\{b\}")
    ['http://e/', ('room',), '/a{b}']
    """
    parts: list[str | tuple[str]] = []
    literal = ""
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            literal += text[at + 1]
            at += 2
        elif char == "{":
            end = _closing(text, at)
            name = _ESCAPED.sub(r"\1", text[at + 1 : end])
            if not name:
                raise ValueError(f"column {at + 1}: {{}} has no reference in it")
            if literal:
                parts.append(literal)
                literal = ""
            parts.append((name,))
            at = end + 1
        elif char == "}":
            raise ValueError(
                f"column {at + 1}: a }} that closes nothing; write \\}} for the character"
            )
        else:
            literal += char
            at += 1
    return [*parts, literal] if literal else parts


def _closing(text: str, opening: int) -> int:
    at = opening + 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == "}":
            return at
        if text[at] == "{":
            break
        at += 1
    raise ValueError(f"column {opening + 1}: a {{ that is not closed; write \\{{ for the character")


def json_steps(text: str) -> tuple[Step, ...]:
    """The steps of a JSONPath of names, indexes and `*`; raises ValueError for other ones.

    >>> json_steps("$.a['b c'][0].tags[*]"), json_steps("temperature"), json_steps("$")
    (('a', 'b c', 0, 'tags', None), ('temperature',), ())
    """
    rest = text.strip()
    if rest.startswith("$"):
        rest = rest[1:]
    elif rest == "@":
        return ()
    steps: list[Step] = []
    at = 0
    while at < len(rest):
        found = _NAME_STEP.match(rest, at)
        if found is None or rest.startswith("..", at):
            raise ValueError(
                f"{text!r} is not supported: a path is made of names, [n], ['name'] and [*]"
            )
        single, double, index, every, name, star = found.groups()
        quoted = single if single is not None else double
        if quoted is not None:
            steps.append(_ESCAPED.sub(r"\1", quoted))
        elif index is not None:
            steps.append(int(index))
        else:
            steps.append(None if every or star else name)
        at = found.end()
    return tuple(steps)


def sql_column(text: str) -> str:
    """A column name as R2RML writes it: without the double quotes of a delimited identifier.

    >>> sql_column('"Country Code"'), sql_column("name")
    ('Country Code', 'name')
    """
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        return text[1:-1].replace('""', '"')
    return text


@lru_cache(maxsize=65536)
def iri_safe(value: str) -> str:
    """A value as it stands in an IRI.

    >>> iri_safe("a b/ü")
    'a%20b%2Fü'
    """
    return _NOT_SAFE.sub(_percent, value)


@lru_cache(maxsize=65536)
def uri_safe(value: str) -> str:
    """A value as it stands in a URI, which is ASCII.

    >>> uri_safe("ü")
    '%C3%BC'
    """
    return _NOT_ASCII_SAFE.sub(_percent, value)


def ascii_only(iri: str) -> str:
    """An IRI as a URI: characters beyond ASCII percent-encoded (RFC 3987, section 3.1)."""
    return _NOT_ASCII.sub(_percent, iri)


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode())
