"""SPARQL's operators over all pairs of sample terms, checked against Oxigraph."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import pyoxigraph
import pytest

from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.term_values.term_samples import (
    BLANK,
    BOOLEANS,
    EQUAL,
    ILL_TYPED,
    LESS,
    LESS_OR_EQUAL,
    NO_LITERALS,
    NUMBERS,
    QUOTED,
    TAGGED,
    TERMS,
    TIMES,
    UNKNOWN,
    Terms,
    integer,
    number,
    typed,
)


@pytest.fixture(scope="module")
def terms(live: LiveRoom) -> Terms:
    return Terms(live)


OXIGRAPH_TERMS = [t for t in TERMS if t not in (BLANK, QUOTED)]


def by_oxigraph(expressions: list[str]) -> dict[tuple[str, str], list[str | None]]:
    """The expressions over ?a and ?b for all pairs of terms, None for an error."""
    numbered = " ".join(f"({i} {term})" for i, term in enumerate(OXIGRAPH_TERMS))
    selected = " ".join(f"({e} AS ?x{i})" for i, e in enumerate(expressions))
    query = f"SELECT ?i ?j {selected} {{ VALUES (?i ?a) {{ {numbered} }} VALUES (?j ?b) {{ {numbered} }} }}"
    found = {}
    for solution in pyoxigraph.Store().query(query):
        pair = OXIGRAPH_TERMS[int(solution["i"].value)], OXIGRAPH_TERMS[int(solution["j"].value)]
        values = [solution[f"x{i}"] for i in range(len(expressions))]
        found[pair] = [None if value is None else str(value) for value in values]
    assert len(found) == len(OXIGRAPH_TERMS) ** 2
    return found


def read_otherwise(*terms: str) -> bool:
    """Whether Oxigraph has no value, or another one, for one of the terms."""
    long_integers = [integer(n) for n in (2**56, 2**57, -(2**57), 2**62)]  # its products overflow
    fine_times = [TIMES[3], TIMES[8]]
    return any(t in (*long_integers, *fine_times, *ILL_TYPED, *UNKNOWN) for t in terms)


def compared_otherwise(a: str, b: str) -> bool:
    """Where Oxigraph's < and <= are not those of SPARQL 1.1's table of operators."""
    # It orders language-tagged strings, says that an IRI is <= itself, and neither booleans nor NaN.
    same_kind = any(a in kind and b in kind for kind in (TAGGED, NO_LITERALS, BOOLEANS))
    return same_kind or "NaN" in a + b


def test_all_pairs_compare_as_in_oxigraph(terms: Terms) -> None:
    pairs = list(product(OXIGRAPH_TERMS, repeat=2))
    theirs = by_oxigraph(["?a = ?b", "?a < ?b", "?a <= ?b"])
    ours = [terms.evaluate(function, pairs, True) for function in (EQUAL, LESS, LESS_OR_EQUAL)]
    wrong = []
    for pair, *values in zip(pairs, *ours, strict=True):
        told = [None if v is None else "true" in v for v in theirs[pair]]
        kept = 1 if compared_otherwise(*pair) else 3
        if told[:kept] != values[:kept] and not read_otherwise(*pair):
            wrong.append((*pair, told, values))
    assert wrong == [], len(wrong)


def test_all_pairs_add_up_as_in_oxigraph(terms: Terms) -> None:
    numeric = [term for term in NUMBERS if not read_otherwise(term)]
    pairs = list(product(numeric, repeat=2))
    zeros, decimals = (integer(0), typed("0.0", "decimal")), [n for n in numeric if "#decimal" in n]
    signs = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
    theirs = by_oxigraph([f"?a {sign} ?b" for sign in signs.values()])
    wrong = []
    for place, name in enumerate(signs):
        for pair, value in zip(
            pairs, terms.evaluate(f"cqels_{name}($room, a, b)", pairs, False), strict=True
        ):
            ours, told = number(value), number(theirs[pair][place])
            same = ours == told or (
                ours is not None
                and told is not None
                and ours[0] == told[0]
                and (str(ours[1]) == str(told[1]) or abs(ours[1] - told[1]) < Decimal("1e-6"))
            )
            # Zero over a decimal is an error there.
            if not same and not (name == "divide" and pair[0] in zeros and pair[1] in decimals):
                wrong.append((name, *pair, value, theirs[pair][place]))
    assert wrong == []


def test_effective_boolean_values_are_those_of_oxigraph(terms: Terms) -> None:
    theirs = by_oxigraph(["!?a"])
    kept = [t for t in OXIGRAPH_TERMS if not read_otherwise(t) and t not in TAGGED]
    ours = terms.evaluate("cqels_effective_boolean($room, a)", [(t,) for t in kept], True)
    for term, value in zip(kept, ours, strict=True):
        (told,) = theirs[term, term]
        assert value == (None if told is None else "false" in told), term
