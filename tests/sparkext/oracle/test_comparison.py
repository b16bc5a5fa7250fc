"""Answers are compared as bags, up to the names of blank nodes."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.oracle.comparison import Row, compare_rows
from static_data.terms import XSD

CELLS = st.sampled_from(
    ["_:a", "_:b", "_:c", "_:d", "<http://e/x>", '"1"', None, "<< _:a <http://e/p> _:b >>"]
)
ROWS = st.lists(st.tuples(CELLS, CELLS), max_size=7)


def renamed(rows: list[Row], random: Random) -> list[Row]:
    labels = list("abcd")
    random.shuffle(labels)
    names = {f"_:{old}": f"_:n{new}" for old, new in zip("abcd", labels, strict=True)}

    def rename(text: str | None) -> str | None:
        for old, new in names.items():
            text = None if text is None else text.replace(old, new)
        return text

    result = [tuple(map(rename, row)) for row in rows]
    random.shuffle(result)
    return result


@settings(derandomize=True, max_examples=150, database=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_renaming_and_order_mean_nothing(rows: list[Row], random: Random) -> None:
    assert not compare_rows(rows, renamed(rows, random))


@settings(derandomize=True, max_examples=100, database=None)
@given(ROWS, st.tuples(CELLS, CELLS))
def test_one_row_more_is_told(rows: list[Row], row: Row) -> None:
    difference = compare_rows(rows, [*rows, row])
    assert len(difference.extra) == len(difference.missing) + 1


def test_alike_blank_nodes_are_told_apart_by_trial() -> None:
    """Two triangles and one ring of six look the same from every node."""
    triangles = [(f"_:{a}", f"_:{b}") for a, b in ("ab", "bc", "ca", "de", "ef", "fd")]
    ring = [(f"_:{a}", f"_:{b}") for a, b in ("ab", "bc", "cd", "de", "ef", "fa")]
    assert compare_rows(triangles, ring)
    assert not compare_rows(ring, [(b.replace(":", ":x"), a.replace(":", ":x")) for a, b in ring])


def test_thousands_of_alike_blank_nodes_are_compared() -> None:
    """By what stands beside them where that is no other blank node, else one after the other."""

    def other_names(rows: list[tuple[str, str]]) -> list[Row]:
        return [(a.replace("_:b", "_:x"), b.replace("_:b", "_:x")) for a, b in reversed(rows)]

    alone = [(f"_:b{n}", f'"{n % 50}"') for n in range(3_000)]
    assert not compare_rows(alone, other_names(alone))
    other = [*alone[1:], ("_:b0", '"1"')]
    assert compare_rows(alone, other)
    pairs = [(f"_:b{n}", f"_:b{n ^ 1}") for n in range(200)]
    assert not compare_rows(pairs, other_names(pairs))


def test_numbers_on_two_sides_of_where_rounding_changes_are_the_same() -> None:
    """Engines add in another order: what they find differs by a place or two."""
    double = f"^^<{XSD}double>"
    ours = [(f'"1.000000000015"{double}', '"a"'), (f'"NaN"{double}', '"b"'), ("_:a", '"c"')]
    theirs = [(f'"1.0000000000149998"{double}', '"a"'), (f'"NaN"{double}', '"b"'), ("_:x", '"c"')]
    assert not compare_rows(ours, theirs)
    assert compare_rows(ours, [(f'"1.0000000001"{double}', '"a"'), *theirs[1:]])
    assert compare_rows(ours, [(theirs[0][0], '"b"'), *theirs[1:]])
    assert compare_rows(ours, [theirs[0], *theirs])


def test_base_directions_are_told_apart() -> None:
    assert compare_rows([('"x"@en--ltr',)], [('"x"@en--rtl',)])
    assert compare_rows([('"x"@en--ltr',)], [('"x"@en',)])


def test_numbers_are_compared_by_value_in_their_datatype() -> None:
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert not compare_rows([(f'"1.0E0"^^<{xsd}double>',)], [(f'"1"^^<{xsd}double>',)])
    assert compare_rows([(f'"1"^^<{xsd}double>',)], [(f'"1"^^<{xsd}integer>',)])
    assert compare_rows([(f'"1.5"^^<{xsd}decimal>',)], [(f'"1.6"^^<{xsd}decimal>',)])
    assert not compare_rows([(f'"7"^^<{xsd}integer>',)], [(f'"07"^^<{xsd}unsignedByte>',)])
    assert compare_rows([(f'"7"^^<{xsd}integer>',)], [(f'"8"^^<{xsd}unsignedByte>',)])
    assert not compare_rows([(f'"INF"^^<{xsd}double>',)], [(f'"1e400"^^<{xsd}double>',)])
    assert not compare_rows([(f'"PT1M"^^<{xsd}duration>',)], [(f'"PT60S"^^<{xsd}duration>',)])
    zoned = [(f'"2026-01-01T00:00:00{end}"^^<{xsd}dateTime>',) for end in (".500Z", ".5+00:00")]
    assert not compare_rows(zoned[:1], zoned[1:])
