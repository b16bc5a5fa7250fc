"""The look-up of keys of several columns is too much code to be inlined into the loops of joins."""

from __future__ import annotations

import struct
import zipfile

from sparkext import jar

CLASS = "org/apache/spark/sql/cqels/relations/GroupedIndex.class"

# C2 inlines no method of more code than that (FreqInlineSize).
INLINED = 325

# Bytes of a constant by its tag, beside the tag; those of a text follow its length.
CONSTANTS = {5: 8, 6: 8, 15: 3, **dict.fromkeys((3, 4, 9, 10, 11, 12, 17, 18), 4)}
CONSTANTS |= dict.fromkeys((7, 8, 16, 19, 20), 2)


def code_sizes(data: bytes) -> list[tuple[str, int]]:
    """Names of the methods of a class file, and the bytes of their code (JVM Specification, chapter 4)."""
    at = 8

    def number(size: int) -> int:
        nonlocal at
        at += size
        return int.from_bytes(data[at - size : at], "big")

    texts: dict[int, str] = {}
    count, index = number(2), 1
    while index < count:
        tag = number(1)
        if tag == 1:
            length = number(2)
            texts[index] = data[at : at + length].decode("utf-8", "replace")
            at += length
        else:
            at += CONSTANTS[tag]
        index += 2 if tag in (5, 6) else 1
    at += 6
    interfaces = number(2)
    at += 2 * interfaces
    found = []
    for members in ("fields", "methods"):
        for _ in range(number(2)):
            _, name, _, attributes = struct.unpack(">4H", data[at : at + 8])
            at += 8
            for _ in range(attributes):
                attribute, length = texts[number(2)], number(4)
                if members == "methods" and attribute == "Code":
                    found.append((texts[name], int.from_bytes(data[at + 4 : at + 8], "big")))
                at += length
    return found


def test_looking_up_several_columns_is_not_inlined() -> None:
    with zipfile.ZipFile(jar.locate()) as built:
        sizes = code_sizes(built.read(CLASS))
    assert min(size for name, size in sizes if name == "matches") > INLINED
    assert any(size <= INLINED for name, size in sizes if name == "get"), "looking up one column is"
