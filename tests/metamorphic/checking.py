"""Relations held to an engine: their queries answered over the same streams, and what does not hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from sparkext.errors import UnsupportedFeatureError
from sparkext.language import parse_query
from tests.metamorphic.relations import PLAIN, Relation
from tests.sparkext.random_answers import Case, Recorded, answered

if TYPE_CHECKING:
    from sparkext import Engine


def check(
    engine: Engine, seed: int, made: Sequence[Relation], streams: Recorded
) -> tuple[Counter[str], list[str]]:
    """How many relations were checked, by kind, with the rows they were about; and those that do not hold."""
    cases = [
        Case(seed, PLAIN, text, parse_query(text), streams) for one in made for text in one.texts
    ]
    results = iter(answered(engine, cases, Random(seed).choice((1, 4, 20))))
    seen: Counter[str] = Counter()
    wrong = []
    for one in made:
        found = [next(results) for _ in one.texts]
        if any(isinstance(history, UnsupportedFeatureError) for history in found):
            seen["refused"] += 1
            continue
        seen[one.name] += 1
        failed = [history for history in found if not isinstance(history, dict)]
        said = str(failed[0]) if failed else one.judge([h for h in found if isinstance(h, dict)])
        seen["rows"] += sum(
            len(a.rows) for h in found[:1] if isinstance(h, dict) for a in h.values()
        )
        if said:
            pushed = "\n".join(
                f"  {n} @{e.time_ms} {' '.join(e.nquads())}"
                for n, es in streams.items()
                for e in es
            )
            wrong.append(f"seed {seed}: {said}\n" + "\n--\n".join(one.texts) + f"\n{pushed}")
    return seen, wrong
