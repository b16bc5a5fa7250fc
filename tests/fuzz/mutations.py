"""Small damages to texts and bytes, as transmission, people and attackers do them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Final

PIECES: Final = (
    *(
        "<",
        ">",
        "<<",
        ">>",
        "<<(",
        ")>>",
        "{",
        "}",
        "{|",
        "|}",
        "(",
        ")",
        "[",
        "]",
        "[]",
        "()",
        "~",
        "^",
        "^^",
        "@",
        "#",
    ),
    *(
        '"',
        "'",
        '"""',
        "'''",
        "\\",
        "\\u",
        "\\u0000",
        "\\uD800",
        "\\U0010FFFF",
        "\\U00110000",
        "\n",
        "\r",
        "\t",
        "\0",
    ),
    *(
        "\ufeff",
        "\ud800",
        "\U0001f600",
        "\u202e",
        "\u0130",
        "\uffff",
        "_:",
        "_:a",
        "a",
        "?x",
        "$x",
        ":",
        "::",
        ".",
        "..",
        ",",
        ";",
    ),
    *(
        "-",
        "+",
        "*",
        "/",
        "!",
        "=",
        "|",
        "||",
        "&&",
        "%",
        "%41",
        "%zz",
        "&",
        "&amp;",
        "&x;",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
    ),
    *(
        "<?x?>",
        "<!DOCTYPE a [",
        "]>",
        '<!ENTITY a "b">',
        "@prefix",
        "@base",
        "PREFIX",
        "BASE",
        "@version",
        "null",
        "true",
    ),
    *(
        "0",
        "-0",
        "1",
        "9" * 20,
        "9" * 400,
        "1e309",
        "1E-400",
        "NaN",
        "INF",
        ".5",
        "5.",
        "007",
        "1.0e",
        "2147483648",
    ),
    *(
        "9223372036854775808",
        "P1Y",
        "PT",
        "PT0.0001S",
        "-PT1S",
        "2026-02-29T25:61:61Z",
        "0000-00-00T00:00:00Z",
        "99999999-01-01T00:00:00Z",
    ),
    *(
        "@en",
        "@en--ltr",
        "@en-",
        '"@context"',
        '"@id"',
        '"@graph"',
        '"@list"',
        '"@type"',
        '"@value"',
        '"@import"',
    ),
    *(
        "http://e/",
        "file:///etc/passwd",
        "http://[::1",
        "x:",
        "urn:",
        "../..",
        "rr:subjectMap",
        "rml:source",
        "!!python/object",
        "*a",
        "&a",
    ),
)
"""What means something to one of the languages that are read."""

_TOKEN = re.compile(r"\s+|<[^<>\s]*>|\"[^\"\n]*\"|[?$]?\w+|[^\w\s]")


def mutated_text(random: Random, text: str, others: Sequence[str] = ()) -> str:
    """The text with one to four damages; pieces of `others` may come in."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        text = random.choice(_TEXT_DAMAGES)(random, text, others)
    return text


def mutated_bytes(random: Random, content: bytes) -> bytes:
    """Bytes with one to four damages."""
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randint(0, len(content))
        size = min(random.choice((1, 1, 2, 4, 8, 64)), len(content) - at)
        kind = random.randrange(6)
        if kind == 0:
            content = (
                content[:at] + bytes(random.choices(range(256), k=size)) + content[at + size :]
            )
        elif kind == 1:
            content = content[:at] + content[at + size :]
        elif kind == 2:
            content = content[:at] + bytes(random.choices(range(256), k=size)) + content[at:]
        elif kind == 3 and at < len(content):
            flipped = content[at] ^ 1 << random.randrange(8)
            content = content[:at] + bytes((flipped,)) + content[at + 1 :]
        elif kind == 4:
            content = (
                content[:at]
                + random.choice((b"\0", b"\xff", b"\x7f\xff\xff\xff", b"\x80")) * size
                + content[at + size :]
            )
        else:
            content = content[:at]
    return content


def _inserted(random: Random, text: str, others: Sequence[str]) -> str:
    at = random.randint(0, len(text))
    return text[:at] + random.choice(PIECES) + text[at:]


def _replaced(random: Random, text: str, others: Sequence[str]) -> str:
    at = random.randint(0, len(text))
    return text[:at] + random.choice(PIECES) + text[at + random.choice((1, 1, 2, 5)) :]


def _deleted(random: Random, text: str, others: Sequence[str]) -> str:
    at = random.randint(0, len(text))
    return text[:at] + text[at + random.choice((1, 1, 2, 8, 40)) :]


def _cut(random: Random, text: str, others: Sequence[str]) -> str:
    return text[: random.randint(0, len(text))]


def _character(random: Random, text: str, others: Sequence[str]) -> str:
    at = random.randint(0, len(text))
    code = random.choice(
        (random.randrange(128), random.randrange(0x3000), random.randrange(0x110000))
    )
    return text[:at] + chr(code) + text[at:]


def _tokens(random: Random, text: str, others: Sequence[str]) -> str:
    """Tokens that change places, or come again."""
    tokens = _TOKEN.findall(text)
    if len(tokens) < 2:
        return text
    one, other = random.randrange(len(tokens)), random.randrange(len(tokens))
    if random.random() < 0.5:
        tokens[one], tokens[other] = tokens[other], tokens[one]
    else:
        tokens.insert(one, tokens[other])
    return "".join(tokens)


def _repeated(random: Random, text: str, others: Sequence[str]) -> str:
    at = random.randint(0, len(text))
    piece = text[at : at + random.choice((1, 2, 5, 20))]
    return text[:at] + piece * random.choice((2, 3, 10, 60)) + text[at:]


def _crossed(random: Random, text: str, others: Sequence[str]) -> str:
    if not others:
        return text
    other = random.choice(others)
    at, there = random.randint(0, len(text)), random.randint(0, len(other))
    if random.random() < 0.5:
        return text[:at] + other[there:]
    return text[:at] + other[there : there + random.choice((10, 40, 200))] + text[at:]


def _nested(random: Random, text: str, others: Sequence[str]) -> str:
    at = random.randint(0, len(text))
    opening, closing = random.choice(_BRACKETS)
    times = random.choice((2, 5, 30, 400, 3000))
    return text[:at] + opening * times + random.choice(("", closing * times)) + text[at:]


_BRACKETS: Final = (
    *(
        ("(", ")"),
        ("{", "}"),
        ("[", "]"),
        ("[ a ", "]"),
        ("<< <a:a> <a:b> ", " >>"),
        ("<<( <a:a> <a:b> ", " )>>"),
    ),
    *(
        ("!", ""),
        ("-", ""),
        ("^", ""),
        ("{| <a:a> 1 ", "|}"),
        ('{"a":', "}"),
        ("<a>", "</a>"),
        ("- ", ""),
        ("\\", ""),
    ),
)
_TEXT_DAMAGES: Final = (
    *(
        _inserted,
        _inserted,
        _replaced,
        _replaced,
        _deleted,
        _cut,
        _character,
        _tokens,
        _tokens,
        _repeated,
        _crossed,
    ),
    _nested,
)
