"""SPARQL's operators over term ids, against SPARQL 1.1, section 17, by hand."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import pytest

from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.term_values.term_samples import (
    BLANK,
    BOOLEANS,
    EQUAL,
    FALSE,
    ILL_TYPED,
    LESS,
    LESS_OR_EQUAL,
    MYSTERY,
    NO_LITERALS,
    NUMBERS,
    QUOTED,
    STRINGS,
    TAGGED,
    TERMS,
    TIMES,
    TRUE,
    UNKNOWN,
    XSD,
    Terms,
    integer,
    number,
    typed,
)


@pytest.fixture(scope="module")
def terms(live: LiveRoom) -> Terms:
    return Terms(live)


@pytest.mark.parametrize(
    "a, b, expected",
    [
        (integer(1), typed("1.0", "decimal"), True),
        (integer(1), typed("1.0E0", "double"), True),
        (integer("007"), integer(7), True),
        (typed("07", "byte"), integer("+7"), True),
        (typed("0.1", "float"), typed("0.10", "float"), True),
        # Promoted to float, or to double, before they are compared.
        (typed("0.1", "float"), typed("0.1", "decimal"), True),
        (typed("0.1", "float"), typed("0.1", "double"), False),
        (typed("1.6777216E7", "float"), integer(16777217), True),
        (typed("1.6777216E7", "double"), integer(16777217), False),
        (integer(2**57), integer(2**57), True),
        (integer(2**57), integer(-(2**57)), False),
        (typed("NaN", "double"), typed("NaN", "double"), False),
        (typed("-0.0E0", "double"), typed("0.0E0", "double"), True),
        (typed("INF", "double"), typed("INF", "double"), True),
        (TRUE, typed("1", "boolean"), True),
        (FALSE, TRUE, False),
        (FALSE, typed("0", "boolean"), True),
        ('"a"', '"a"', True),
        ('"a"', '"b"', False),
        ('"a"@en', '"a"@en', True),
        ('"a"@en', '"a"@fr', False),
        ('"a"@en', '"a"', False),
        (TIMES[0], TIMES[1], True),
        (TIMES[0], TIMES[2], True),
        (TIMES[0], TIMES[3], False),
        (TIMES[5], TIMES[6], True),
        # Known types that have no common values.
        ('"1"', integer(1), False),
        (TRUE, integer(1), False),
        (TIMES[0], '"2026-01-31T10:00:00Z"', False),
        # RDFterm-equal: an error for two literals that are not the same term and cannot be valued.
        (MYSTERY, MYSTERY, True),
        (MYSTERY, '"b"^^<http://example.org/type>', None),
        (MYSTERY, '"a"', None),
        (MYSTERY, integer(1), None),
        (typed("abc", "integer"), typed("abc", "integer"), True),
        (typed("abc", "integer"), integer(1), None),
        # Other terms are equal when they are the same.
        ("<http://example.org/a>", "<http://example.org/a>", True),
        ("<http://example.org/a>", "<http://example.org/b>", False),
        ("<http://example.org/a>", '"http://example.org/a"', False),
        (BLANK, BLANK, True),
        (BLANK, "_:other", False),
        (QUOTED, QUOTED, True),
        (QUOTED, "<http://example.org/a>", False),
    ],
)
def test_equality(terms: Terms, a: str, b: str, expected: bool | None) -> None:
    assert terms.test(EQUAL, a, b) is expected
    assert terms.test(EQUAL, b, a) is expected


@pytest.mark.parametrize(
    "a, b, expected",
    [
        (integer(1), typed("1.5", "decimal"), True),
        (typed("1.5E0", "float"), integer(2), True),
        (integer(2**57), integer(2**62), True),
        (integer(-(2**57)), integer(2**57), True),
        (typed("-INF", "double"), integer(-(2**62)), True),
        (typed("0.1", "decimal"), typed(".5", "decimal"), True),
        ('"a"', '"b"', True),
        ('"B"', '"a"', True),
        ('""', '"a"', True),
        # By code point: U+FF5E comes before U+1F600, whose UTF-16 units come before U+FF5E.
        ('"\uff5e"', '"\U0001f600"', True),
        ('"é"', '"\uff5e"', True),
        (FALSE, TRUE, True),
        (typed("0", "boolean"), TRUE, True),
        (TIMES[0], TIMES[3], True),
        (TIMES[7], TIMES[0], True),
        (TIMES[0], TIMES[8], True),
    ],
)
def test_less(terms: Terms, a: str, b: str, expected: bool) -> None:
    assert [terms.test(LESS, a, b), terms.test(LESS, b, a)] == [expected, not expected]
    assert terms.test(LESS_OR_EQUAL, a, b) is expected
    assert terms.test(LESS_OR_EQUAL, b, a) is not expected


@pytest.mark.parametrize(
    "a, b",
    [
        ('"a"', integer(1)),
        ('"a"@en', '"b"@en'),
        ("<http://example.org/a>", "<http://example.org/b>"),
        (BLANK, BLANK),
        (MYSTERY, MYSTERY),
        (typed("abc", "integer"), integer(1)),
        (TRUE, integer(1)),
        (TIMES[0], integer(1)),
        (QUOTED, QUOTED.replace("/a>", "/c>")),
    ],
)
def test_what_cannot_be_ordered_is_an_error(terms: Terms, a: str, b: str) -> None:
    for function, (x, y) in product((LESS, LESS_OR_EQUAL), ((a, b), (b, a))):
        assert terms.test(function, x, y) is None


def test_nan_is_neither_less_nor_equal_nor_greater(terms: Terms) -> None:
    nan = typed("NaN", "double")
    for other in (nan, integer(1), typed("INF", "double"), typed("NaN", "float")):
        for function in (LESS, LESS_OR_EQUAL, EQUAL):
            assert terms.test(function, nan, other) is False
            assert terms.test(function, other, nan) is False


def test_effective_boolean_values(terms: Terms) -> None:
    expected = dict.fromkeys(NUMBERS + BOOLEANS + STRINGS + TAGGED, True)
    false = [integer(0), FALSE, typed("0", "boolean"), '""', '""@en', *ILL_TYPED]
    false += [typed("0.0", "decimal"), typed("0.0E0", "double"), typed("-0.0E0", "double")]
    false += [typed("NaN", "double"), typed("NaN", "float")]
    expected |= dict.fromkeys(false, False)
    expected |= dict.fromkeys([*UNKNOWN, *TIMES, *NO_LITERALS, BLANK, QUOTED], None)
    rows = [(term,) for term in expected]
    found = terms.evaluate("cqels_effective_boolean($room, a)", rows, True)
    assert dict(zip(expected, found, strict=True)) == expected


def test_a_decimal_nearer_to_zero_than_doubles_is_true(terms: Terms) -> None:
    zero, small = (typed(f"0.{'0' * 330}{digit}", "decimal") for digit in "01")
    for value, truth in ((zero, FALSE), (small, TRUE)):
        assert terms.test("cqels_effective_boolean($room, a)", value) is (truth == TRUE)
        assert terms.term("cqels_cast_boolean($room, a)", value) == truth


def test_tests_of_kinds(terms: Terms) -> None:
    rows = [(term,) for term in TERMS]
    kinds = {
        "cqels_isiri(a)": NO_LITERALS,
        "cqels_isblank(a)": [BLANK],
        "cqels_isliteral(a)": [t for t in TERMS if t not in (*NO_LITERALS, BLANK, QUOTED)],
        "cqels_isnumeric($room, a)": NUMBERS,
    }
    for function, wanted in kinds.items():
        found = terms.evaluate(function, rows, True)
        assert {term for term, yes in zip(TERMS, found, strict=True) if yes} == set(wanted)
        assert None not in found


def test_str_lang_and_datatype(terms: Terms) -> None:
    lang_string = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>"
    expected = {
        integer("007"): ('"007"', '""', f"<{XSD}integer>"),
        typed("1.50", "decimal"): ('"1.50"', '""', f"<{XSD}decimal>"),
        typed("1.5E0", "float"): ('"1.5E0"', '""', f"<{XSD}float>"),
        typed("7", "int"): ('"7"', '""', f"<{XSD}int>"),
        TRUE: ('"true"', '""', f"<{XSD}boolean>"),
        TIMES[2]: ('"2026-01-31T12:00:00+02:00"', '""', f"<{XSD}dateTime>"),
        '"a\\"\\n"': ('"a\\"\\n"', '""', f"<{XSD}string>"),
        '"a"@fr': ('"a"', '"fr"', lang_string),
        MYSTERY: ('"a"', '""', "<http://example.org/type>"),
        "<http://example.org/a>": ('"http://example.org/a"', None, None),
        BLANK: (None, None, None),
        QUOTED: (None, None, None),
    }
    rows = [(term,) for term in expected]
    found = [
        terms.evaluate(f"cqels_{name}($room, a)", rows, False)
        for name in ("str", "lang", "datatype")
    ]
    assert dict(zip(expected, zip(*found, strict=True), strict=True)) == expected


@pytest.mark.parametrize(
    "operator, a, b, datatype, value",
    [
        ("add", integer(1), integer(2), "integer", "3"),
        ("add", integer(2**57 - 1), integer(2**57 - 1), "integer", str(2**58 - 2)),
        ("subtract", integer(-(2**57)), integer(2**57 - 1), "integer", str(1 - 2**58)),
        ("multiply", integer(2**56), integer(2**56), "integer", str(2**112)),
        ("multiply", integer(-(2**32)), integer(2**31), "integer", str(-(2**63))),
        ("multiply", integer(2**32), integer(2**31), "integer", str(2**63)),
        ("multiply", integer(-3), integer(4), "integer", "-12"),
        ("add", integer(2**62), integer("007"), "integer", str(2**62 + 7)),
        ("add", typed("7", "int"), typed("07", "byte"), "integer", "14"),
        ("add", integer(1), typed("1.5", "decimal"), "decimal", "2.5"),
        ("add", typed("0.1", "decimal"), typed("0.2", "decimal"), "decimal", "0.3"),
        ("multiply", typed("1.5", "decimal"), integer(2), "decimal", "3"),
        ("subtract", typed("1.5", "decimal"), typed("1.50", "decimal"), "decimal", "0"),
        # The quotient of two integers is a decimal; division by zero an error, unless it is in doubles.
        ("divide", integer(7), integer(2), "decimal", "3.5"),
        ("divide", integer(6), integer(2), "decimal", "3"),
        ("divide", integer(1), integer(3), "decimal", "0.333333333333333333"),
        ("divide", integer(1), integer(0), None, None),
        ("divide", typed("1.5", "decimal"), typed("0.0", "decimal"), None, None),
        ("divide", integer(1), typed("0.0E0", "double"), "double", "Infinity"),
        ("divide", integer(0), typed("0.0E0", "double"), "double", "NaN"),
        ("divide", integer(-1), typed("0.0E0", "float"), "float", "-Infinity"),
        ("add", typed("1.5", "double"), integer(1), "double", "2.5"),
        ("add", typed("1.5E0", "float"), integer(1), "float", "2.5"),
        ("add", typed("1.5E0", "float"), typed("1.5", "double"), "double", "3"),
        ("add", typed("0.1", "float"), typed("0.10", "float"), "float", "0.2"),
        ("add", typed("1.5E0", "float"), typed("1.5", "decimal"), "float", "3"),
        ("subtract", typed("INF", "double"), typed("INF", "double"), "double", "NaN"),
        ("add", integer(1), '"1"', None, None),
        ("add", integer(1), typed("abc", "integer"), None, None),
        ("add", TRUE, integer(1), None, None),
        ("multiply", "<http://example.org/a>", integer(1), None, None),
        ("subtract", TIMES[0], integer(1), None, None),
        ("add", TIMES[0], TIMES[1], None, None),
        ("add", BLANK, QUOTED, None, None),
    ],
)
def test_arithmetic(
    terms: Terms, operator: str, a: str, b: str, datatype: str | None, value: str | None
) -> None:
    found = number(terms.term(f"cqels_{operator}($room, a, b)", a, b))
    if datatype is None or value is None:
        assert found is None
    else:
        assert found is not None
        assert found[0] == datatype
        assert str(found[1]) == str(Decimal(value)) or found[1] == Decimal(value)


def test_unary_minus_keeps_the_type_and_turns_zero(terms: Terms) -> None:
    expected = {
        integer(5): integer(-5),
        integer(0): integer(0),
        integer(-(2**57)): integer(2**57),
        typed("1.5", "decimal"): typed("-1.5", "decimal"),
        typed("0.0E0", "double"): typed("-0.0E0", "double"),
        typed("INF", "double"): typed("-INF", "double"),
        typed("1.5E0", "float"): typed("-1.5E0", "float"),
        '"1"': None,
        TRUE: None,
        BLANK: None,
    }
    found = terms.evaluate("cqels_negate($room, a)", [(term,) for term in expected], False)
    assert dict(zip(expected, found, strict=True)) == expected


def test_an_unbound_argument_is_an_error(live: LiveRoom) -> None:
    one = live.id(integer(1))
    content = live.static("one", [(one, one)])
    room = f"{live.number}L"
    frame = live.frame(content, "a", "b").selectExpr("a", "if(a = b, null, b) as n")
    for function in ("equal", "less", "less_or_equal", "add", "multiply", "divide"):
        tested = frame.selectExpr(
            f"bigint(isnull(cqels_{function}({room}, a, n))) as x",
            f"bigint(isnull(cqels_{function}({room}, n, a))) as y",
            f"bigint(isnull(cqels_{function}({room}, a, a))) as z",
        )
        assert live.on_driver(live.prepare(tested)) == [(1, 1, 0)], function
