"""Terms, layers and narrow dictionaries for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

XSD = "http://www.w3.org/2001/XMLSchema#"


def raised(java_error: pytest.ExceptionInfo[Py4JJavaError]) -> tuple[str, Any]:
    exception = java_error.value.java_exception
    return exception.getClass().getSimpleName(), exception


def layer_of(cqels: Any, texts: Iterable[str], hasher: Any = None) -> Any:
    hasher = hasher or cqels.terms.TermHasher()
    builder = cqels.dictionary.CompactDictionary.Builder(4, hasher)
    for text in texts:
        builder.add(text)
    return builder.build()


TERMS = [
    "<http://example.org/a>",
    "<http://example.org/é\U0001f600>",
    "_:a",
    '"a"',
    '"a\\"> ^^<b>"',
    '"a"@en',
    '"a"@en--ltr',
    f'"007"^^<{XSD}integer>',
    '"a"^^<http://example.org/type>',
    '""',
    f'"{"x" * 100_000}"',
    '<< <http://example.org/a> <http://example.org/p> "a \\" >> b"@en >>',
    f'<< << _:a <http://example.org/p> "1"^^<{XSD}integer> >> <http://example.org/q> "b" >>',
]


INLINE = [f'"7"^^<{XSD}integer>', f'"2.5"^^<{XSD}decimal>', f'"true"^^<{XSD}boolean>']


def narrow(cqels: Any, bits: int) -> Any:
    made = cqels.dictionary.Dictionary()
    made.setHashBits(bits)
    return made


def many_terms(count: int) -> list[str]:
    made = []
    for n in range(count):
        made.append(f"<http://example.org/{n}>")
        made.append(f'"{n}"')
        if n % 4 == 0:
            made.append(f'<< <http://example.org/{n}> <http://example.org/0> "{n}" >>')
    return made


def colliding(cqels: Any, bits: int) -> tuple[str, str]:
    """Two blank nodes with one plain id."""
    hasher = cqels.terms.TermHasher(bits)
    seen: dict[int, str] = {}
    for n in range(1000):
        text = f"_:n{n}"
        first = seen.setdefault(hasher.id(text), text)
        if first != text:
            return first, text
    raise AssertionError("no collision found")
