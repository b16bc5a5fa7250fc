"""Random sentences of the query language's own grammar: all that its rules allow, sensible or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from random import Random
from typing import Final

from lark.grammar import NonTerminal, Symbol, Terminal

from sparkext.language.translation.parser import make_parser

_SAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "IRIREF": ("<http://e/a>", "<http://e/p>", "<a>", "<>", "<#x>", "<http://e/w>", "<\\u0041:b>"),
    "PNAME_LN": (":a", ":p", "xsd:integer", "x:y", ":w", "ex:%41", "afn:f"),
    "PNAME_NS": (":", "xsd:", "ex:"),
    "VAR": ("?x", "?y", "?z", "$x", "?g", "?w"),
    "BLANK_NODE_LABEL": ("_:a", "_:b", "_:0"),
    "BARE_NAME": ("name", "q1"),
    "EVENT_NAME": ("A", "B", "Ev"),
    "INTEGER": ("0", "1", "7", "99999999999999999999"),
    "NUMBER": ("1", "2.5", "1e3", ".5", "1e400", "0"),
    "SIGNED_NUMBER": ("-1", "+2.5", "-1e3"),
    "DURATION": ("PT5S", "30s", "1", "P1Y", "PT0S", "3 minutes", "P99999999999D"),
    "DATETIME": (
        "2026-01-31T10:00:00Z",
        "0001-01-01T00:00:00",
        "99999-01-01T00:00:00Z",
        "2026-02-30T24:00:00Z",
    ),
    "STRING1": ("'a'", "''", "'\\n'"),
    "STRING2": ('"a"', '""', '"PT5S"', '"\\u00e9"', '"(a+)+"', '"2026-01-31T10:00:00Z"'),
    "STRING_LONG1": ("'''a'''",),
    "STRING_LONG2": ('"""a"b"""',),
    "LANGTAG": ("@en", "@en-GB", "@en--ltr", "@zz--xx"),
    "NIL": ("()", "( )"),
    "ANON": ("[]", "[ ]"),
    "_DASH": ("-",),
    "STREAM_OPERATOR": ("RSTREAM", "ISTREAM", "DSTREAM", "STREAM", "QUERY"),
    "R2S_OPERATOR": ("RSTREAM", "ISTREAM", "DSTREAM"),
    "REPORT_STRATEGY": ("WINDOW CLOSE", "CC", "NON-EMPTY", "NC"),
    "WITHOUT_CONSUMPTION": ("WITHOUT CONSUMPTION",),
    "COMPARISON": ("=", "!=", "<", ">="),
    "A": ("a",),
}
_PROLOGUE: Final = (
    "PREFIX : <http://e/> PREFIX ex: <http://e/> PREFIX x: <http://x/> PREFIX afn: <http://e/f#>"
    " PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
)


class Sentences:
    """Writes sentences; deeper ones the more `steps` they may take."""

    @cached_property
    def _rules(self) -> dict[str, list[Sequence[Symbol]]]:
        rules: dict[str, list[Sequence[Symbol]]] = {}
        for rule in self._parser.rules:
            rules.setdefault(rule.origin.name, []).append(rule.expansion)
        return rules

    @cached_property
    def _parser(self):  # type: ignore[no-untyped-def]
        return make_parser(ascii_only=False)

    @cached_property
    def _terminals(self) -> dict[str, tuple[str, ...]]:
        return {t.name: _samples(t.name, t.pattern.value) for t in self._parser.terminals}

    @cached_property
    def _least(self) -> dict[str, int]:
        """How deep a symbol's shallowest sentence is."""
        least = dict.fromkeys(self._rules, 1 << 20)
        changed = True
        while changed:
            changed = False
            for name, expansions in self._rules.items():
                depth = 1 + min(self._depth(least, e) for e in expansions)
                if depth < least[name]:
                    least[name], changed = depth, True
        return least

    @staticmethod
    def _depth(least: dict[str, int], expansion: Sequence[Symbol]) -> int:
        return max((least[s.name] for s in expansion if isinstance(s, NonTerminal)), default=0)

    def write(self, random: Random, steps: int = 120) -> str:
        """One sentence, with prefixes declared, most of the time."""
        words: list[str] = []
        budget = random.randint(10, steps)
        waiting: list[Symbol] = [NonTerminal("start")]
        while waiting:
            symbol = waiting.pop()
            if isinstance(symbol, Terminal):
                words.append(random.choice(self._terminals[symbol.name]))
                continue
            expansions = self._rules[symbol.name]
            budget -= 1
            if budget < 0:
                depths = [self._depth(self._least, e) for e in expansions]
                expansions = [
                    e for e, d in zip(expansions, depths, strict=True) if d == min(depths)
                ]
            waiting += reversed(random.choice(expansions))
        text = " ".join(words)
        return text if random.random() < 0.1 else _PROLOGUE + text


def _samples(name: str, pattern: str) -> tuple[str, ...]:
    if name in _SAMPLES:
        return _SAMPLES[name]
    bare = pattern.replace("(?!\\w)", "").replace("\\s+", " ").replace("\\s*", " ")
    if match := re.fullmatch(r"\(\?:(.*)\)", bare):
        return tuple(word for word in match.group(1).split("|") if "(" not in word)
    if match := re.fullmatch(r"\[([A-Z]+)\](\w+)", bare):
        return tuple(letter + match.group(2) for letter in match.group(1))
    return (re.sub(r"\\(.)", r"\1", bare),)
