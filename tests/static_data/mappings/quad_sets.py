"""Sets of N-Quads-star lines, compared up to the labels of blank nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|_:[^\s<>"]+')


def without_labels(lines: Iterable[str]) -> Counter[str]:
    """Lines whose blank nodes are called by what is said of them; equal where graphs of this size are isomorphic.

    >>> without_labels(["_:a <p> _:b .", "_:b <p> 1 ."]) == without_labels(["_:x <p> 1 .", "_:y <p> _:x ."])
    True
    """
    distinct = set(lines)
    nodes = {m for line in distinct for m in _TOKEN.findall(line) if m.startswith("_:")}
    colours = dict.fromkeys(nodes, "")
    for _ in range(6):
        signatures: dict[str, list[str]] = {node: [] for node in nodes}
        for line in distinct:
            for node in {m for m in _TOKEN.findall(line) if m.startswith("_:")}:
                signatures[node].append(_coloured(line, {**colours, node: "self"}))
        colours = {
            node: sha256("\n".join(sorted(said)).encode()).hexdigest()
            for node, said in signatures.items()
        }
    return Counter(_coloured(line, colours) for line in distinct)


def _coloured(line: str, colours: dict[str, str]) -> str:
    return _TOKEN.sub(lambda m: f"_:{colours[m[0]]}" if m[0] in colours else m[0], line)
