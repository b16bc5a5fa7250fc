"""Queries: sentences of the grammar, and queries of this repository, damaged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from random import Random

from sparkext.errors import failures_told
from sparkext.language import check_supported, format_algebra, parse_query
from sparkext.rewriting.lift_filters import apply_filter_scope
from static_data.files.rdf_version import RdfVersion
from tests.fuzz.grammar import Sentences
from tests.fuzz.mutations import mutated_text
from tests.fuzz.outcomes import bytes_of, outcome
from tests.sparkext.random_continuous import DIALECTS, random_query

ROOT = Path(__file__).resolve().parents[2]


def read_query(case: bytes) -> None:
    """All that is done with a query's text before Spark has a part in it."""
    # Whoever reads a query has a text: bytes that are none are the business of who decodes them.
    text = case.decode("utf-8", "surrogatepass")
    query = parse_query(text)
    parse_query(text, "http://base/", {"": "http://e/"}, RdfVersion.RDF_1_2)
    with failures_told():
        format_algebra(query.pattern)
        check_supported(apply_filter_scope(query, "lift"))


class GrammarQueries:
    """Sentences of the grammar."""

    name = "queries"
    batch = 1

    def __init__(self) -> None:
        self._sentences = Sentences()

    def case(self, random: Random) -> bytes:
        return bytes_of(self._sentences.write(random))

    def run(self, cases: Sequence[bytes]) -> list[str]:
        return [outcome(partial(read_query, case)) for case in cases]


class DamagedQueries:
    """Queries of docs, benchmarks and generators, damaged."""

    name = "damaged-queries"
    batch = 1

    @cached_property
    def _texts(self) -> list[str]:
        files = [*(ROOT / "bench" / "queries").rglob("*.r*q*"), *(ROOT / "docs").glob("*.md")]
        texts = []
        for file in sorted(files):
            text = file.read_text(encoding="utf-8")
            if file.suffix == ".md":
                blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
                texts += [
                    block for block in blocks if re.search(r"\b(SELECT|ASK|CONSTRUCT)\b", block)
                ]
            else:
                texts.append(text)
        made = (
            random_query(Random(seed), DIALECTS[seed % len(DIALECTS)])[0] for seed in range(150)
        )
        return [*texts, *made]

    def case(self, random: Random) -> bytes:
        return bytes_of(mutated_text(random, random.choice(self._texts), self._texts))

    def run(self, cases: Sequence[bytes]) -> list[str]:
        return [outcome(partial(read_query, case)) for case in cases]
