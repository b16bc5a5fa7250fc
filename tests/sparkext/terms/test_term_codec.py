"""Inline term ids: what is inline, that its text comes back exactly, and what it is worth."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

XSD = "http://www.w3.org/2001/XMLSchema#"
STEADY = settings(max_examples=200, derandomize=True, deadline=None, database=None)

DERIVED_RANGES = {
    "long": (-(2**53), 2**53 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-128, 127),
    "nonNegativeInteger": (0, 2**53 - 1),
    "positiveInteger": (1, 2**53 - 1),
    "nonPositiveInteger": (-(2**53), 0),
    "negativeInteger": (-(2**53), -1),
    "unsignedLong": (0, 2**53 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 255),
}


class Codec:
    """TermCodec as a plain object: Hypothesis looks for attributes that py4j would call."""

    def __init__(self, java: Any) -> None:
        self.java = java

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_", "hypothesis")) or name.endswith("_example"):
            raise AttributeError(name)
        return getattr(self.java, name)


@pytest.fixture(scope="module")
def codec(spark: Any) -> Codec:
    return Codec(spark._jvm.org.apache.spark.sql.cqels.terms.TermCodec)


def typed(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


INLINE = [
    ("integer", ["0", "1", "-1", "42", str(2**57 - 1), str(-(2**57)), "100000000000000000"]),
    ("decimal", ["0", "0.0", "0.10", "0.00", "21.5", "-0.5", "-21.50", "100", "7.5"]),
    ("decimal", [str(2**52 - 1), str(-(2**52)), "-4503599627.370496", f"0.{'0' * 30}1"]),
    ("decimal", [f"0.{'0' * 15}4503599627370495"]),
    ("double", ["1.0E0", "2.15E1", "-2.15E1", "0.0E0", "-0.0E0", "1.0E-7", "9.99E127", "1.0E-127"]),
    (
        "double",
        ["INF", "-INF", "NaN", "+INF", "21.5", "21.50", "21", "0", "0.0", "-0", "-0.0", "-21.5"],
    ),
    ("double", ["2.81474976710655E14", "-2.81474976710656E14", "281474976710655"]),
    (
        "float",
        ["1.0E0", "2.15E1", "3.4028235E38", "INF", "-INF", "NaN", "0.1", "16777217", "-0.0E0"],
    ),
    ("boolean", ["true", "false"]),
    ("dateTime", ["2024-02-29T23:59:59", "2024-02-29T23:59:59Z", "1970-01-01T00:00:00Z"]),
    ("dateTime", ["1969-12-31T23:59:59.999Z", "2026-11-20T10:00:00.5", "2026-11-20T10:00:00.500Z"]),
    (
        "dateTime",
        ["2026-11-20T10:00:00.00+14:00", "2026-11-20T10:00:00-14:00", "2026-11-20T10:00:00+00:00"],
    ),
    (
        "dateTime",
        ["1500-01-01T00:00:00-05:30", "2500-12-31T23:59:59.001+05:45", "2000-02-29T00:00:00Z"],
    ),
    *[(name, [str(low), str(high)]) for name, (low, high) in DERIVED_RANGES.items()],
]

IN_DICTIONARY = [
    (
        "integer",
        [
            "-0",
            "007",
            "+5",
            "",
            "abc",
            "1.0",
            " 1",
            "1 ",
            "--1",
            "-",
            str(2**57),
            str(-(2**57) - 1),
        ],
    ),
    ("integer", ["9" * 18, "9" * 19, "9" * 40, "٣"]),
    (
        "decimal",
        ["-0", "-0.0", "+1.0", "007.5", ".5", "5.", "-.5", "", "-", ".", "1.2.3", "1E0", "abc"],
    ),
    ("decimal", [str(2**52), "0." + "0" * 31 + "1", "1" * 40, "1" + "0" * 30, "4503599627.370497"]),
    (
        "double",
        ["1E0", "1.0e0", "1.0E400", "1.0E128", "01.0E0", "1.0E+1", "1.00E0", "10.0E0", "0.5E1"],
    ),
    (
        "double",
        ["1.0E00", "1.0E-0", "0.0E1", "inf", "nan", "+1", "1.0E", "E1", "", ".5", "abc", "-00.0"],
    ),
    ("double", ["3.0000000000000004E-1", "2.81474976710657E14", "281474976710656"]),
    ("float", ["1E0", "1.0E-200", "Infinity", "abc", ""]),
    ("boolean", ["1", "0", "True", "TRUE", "", "truee"]),
    (
        "dateTime",
        [
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
            "-0001-01-01T00:00:00Z",
            "10000-01-01T00:00:00Z",
        ],
    ),
    (
        "dateTime",
        [
            "2023-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-00-01T00:00:00Z",
        ],
    ),
    (
        "dateTime",
        [
            "2016-12-31T23:59:60Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:60:00Z",
            "2024-01-00T00:00:00Z",
        ],
    ),
    (
        "dateTime",
        ["2024-01-01T00:00:00.1234Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00-00:00"],
    ),
    (
        "dateTime",
        [
            "2024-01-01T00:00:00+14:01",
            "2024-01-01T00:00:00+5:00",
            "2024-01-01T00:00:00z",
            "2024-01-01",
        ],
    ),
    ("dateTime", ["2024-01-01 00:00:00", "2024-1-1T00:00:00", "", "2024-01-01T00:00:00+01:60"]),
    *[(name, [str(low - 1), str(high + 1)]) for name, (low, high) in DERIVED_RANGES.items()],
    ("positiveInteger", ["0", "+1"]),
    ("date", ["2024-01-01"]),
    ("string", ["1"]),
    ("Integer", ["1"]),
]


@pytest.mark.parametrize(("datatype", "lexicals"), INLINE)
def test_inline_texts_come_back_exactly(codec: Codec, datatype: str, lexicals: list[str]) -> None:
    for lexical in lexicals:
        term = typed(lexical, datatype)
        term_id = codec.inlineId(term)
        assert term_id > 0, f"{term} is not inline"
        assert codec.isInline(term_id)
        assert codec.inlineText(term_id) == term
        assert codec.datatypeIri(term_id) == XSD + datatype


@pytest.mark.parametrize(("datatype", "lexicals"), IN_DICTIONARY)
def test_other_forms_need_the_dictionary(codec: Codec, datatype: str, lexicals: list[str]) -> None:
    for lexical in lexicals:
        assert codec.inlineId(typed(lexical, datatype)) == 0, f"{lexical} as {datatype}"


@pytest.mark.parametrize(
    "term",
    [
        "<http://example.org/a>",
        "_:b",
        '"1"',
        '"1"@en',
        '"1"^^<http://example.org/integer>',
        '"1"^^<http://example.org/XMLSchema#integer>',
        f'"1\\"^^<{XSD}integer>"',
        f'<< <http://a/> <http://b/> "1"^^<{XSD}integer> >>',
    ],
)
def test_other_terms_are_not_inline(codec: Codec, term: str) -> None:
    assert codec.inlineId(term) == 0


def test_distinct_inline_terms_have_distinct_ids(codec: Codec) -> None:
    terms = [typed(lexical, datatype) for datatype, all_ in INLINE for lexical in all_]
    ids = {term: codec.inlineId(term) for term in terms}
    assert len(set(ids.values())) == len(ids) > 80


@STEADY
@given(st.one_of(st.integers(), st.integers(-(2**58), 2**58), st.integers(-100, 100)))
@example(2**57 - 1)
@example(2**57)
@example(-(2**57))
@example(-(2**57) - 1)
def test_integers_are_inline_when_58_bits_hold_them(codec: Codec, value: int) -> None:
    term_id = codec.inlineId(typed(str(value), "integer"))
    assert (term_id != 0) == (-(2**57) <= value < 2**57)
    if term_id:
        assert codec.inlineText(term_id) == typed(str(value), "integer")
        assert codec.integerValue(term_id) == value
        assert codec.integerId(value) == term_id


LEXICALS = st.one_of(
    st.from_regex(r"[+-]?[0-9]{0,20}(\.[0-9]{0,20})?", fullmatch=True),
    st.from_regex(r"[+-]?[0-9]{1,2}\.[0-9]{1,14}[Ee][+-]?[0-9]{1,3}", fullmatch=True),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda d: f"{d:f}"),
    st.floats().map(repr),
)


@STEADY
@given(LEXICALS, st.sampled_from(["integer", "decimal", "double", "float", "int", "unsignedByte"]))
def test_whatever_is_inline_prints_back(codec: Codec, lexical: str, datatype: str) -> None:
    term_id = codec.inlineId(typed(lexical, datatype))
    if term_id:
        assert codec.inlineText(term_id) == typed(lexical, datatype)
        assert codec.isNumeric(term_id)


def plain_decimal_is_inline(lexical: str) -> bool:
    """Which decimals fit, told independently: printable form, 53-bit mantissa, scale to 31."""
    if not re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", lexical):
        return False
    mantissa = int(lexical.replace(".", ""))
    scale = len(lexical.partition(".")[2])
    if mantissa == 0 and lexical.startswith("-"):
        return False
    return -(2**52) <= mantissa < 2**52 and scale <= 31


@STEADY
@given(st.from_regex(r"[+-]?[0-9]{0,17}(\.[0-9]{0,33})?", fullmatch=True))
def test_decimals_are_inline_when_mantissa_and_scale_fit(codec: Codec, lexical: str) -> None:
    term_id = codec.inlineId(typed(lexical, "decimal"))
    assert (term_id != 0) == plain_decimal_is_inline(lexical)
    if term_id:
        assert codec.decimalValue(term_id) == Decimal(lexical)
        assert codec.doubleValue(term_id) == float(lexical)


@STEADY
@given(st.from_regex(r"-?[1-9]\.[0-9]{1,13}E-?[1-9][0-9]?", fullmatch=True))
@example("1.5E-9")
@example("9.007199254740E100")
def test_doubles_are_worth_what_python_says(codec: Codec, lexical: str) -> None:
    term_id = codec.inlineId(typed(lexical, "double"))
    trimmed = re.fullmatch(r".*\.([0-9]|[0-9]*[1-9])E.*", lexical)
    assert (term_id != 0) == (trimmed is not None)
    if term_id:
        assert codec.doubleValue(term_id) == float(lexical)


@STEADY
@given(st.floats(width=64))
def test_computed_doubles_keep_their_value(codec: Codec, value: float) -> None:
    term_id = codec.doubleIdOrZero(value)
    if term_id:
        lexical = codec.inlineText(term_id).split('"')[1]
        back = float(lexical.replace("INF", "inf"))
        assert back == value or (math.isnan(back) and math.isnan(value))
        assert math.copysign(1, back) == math.copysign(1, value) or math.isnan(value)
        assert codec.inlineId(typed(lexical, "double")) == term_id
    else:
        assert len(repr(value).replace("-", "").replace(".", "").split("e")[0].strip("0")) > 13 or (
            not 1e-127 <= abs(value) < 1e128
        )


@pytest.mark.parametrize(
    ("value", "lexical"),
    [(21.5, "2.15E1"), (0.1, "1.0E-1"), (-1000000.0, "-1.0E6"), (1e100, "1.0E100"), (2.0, "2.0E0")],
)
def test_computed_doubles_take_the_canonical_form(codec: Codec, value: float, lexical: str) -> None:
    assert codec.inlineText(codec.doubleIdOrZero(value)) == typed(lexical, "double")


@STEADY
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_are_rounded_once(codec: Codec, value: float) -> None:
    term_id = codec.floatIdOrZero(value)
    if term_id:
        assert codec.doubleValue(term_id) == value


@pytest.mark.parametrize(
    ("given_text", "lexical"),
    [("2.00", "2"), ("2.50", "2.5"), ("1E+3", "1000"), ("0E-5", "0"), ("-0.10", "-0.1")],
)
def test_computed_decimals_take_the_canonical_form(
    spark: Any, codec: Codec, given_text: str, lexical: str
) -> None:
    value = spark._jvm.java.math.BigDecimal(given_text)
    assert codec.inlineText(codec.decimalIdOrZero(value)) == typed(lexical, "decimal")


def test_computed_values_that_do_not_fit_have_no_id(spark: Any, codec: Codec) -> None:
    assert codec.integerId(2**57) == 0
    assert codec.doubleIdOrZero(0.1 + 0.2) == 0
    assert codec.doubleIdOrZero(1e200) == 0
    assert codec.decimalIdOrZero(spark._jvm.java.math.BigDecimal("1E+40")) == 0


ZONES = st.one_of(st.none(), st.just("Z"), st.integers(-840, 840).filter(bool))


@STEADY
@given(
    st.datetimes(min_value=datetime(1413, 1, 1), max_value=datetime(2526, 12, 31)),
    ZONES,
    st.integers(0, 3),
)
def test_datetimes_round_trip(
    codec: Codec, wall: datetime, zone: str | int | None, digits: int
) -> None:
    micros = wall.microsecond // 10 ** (6 - digits) * 10 ** (6 - digits)
    wall = wall.replace(microsecond=micros)
    lexical = f"{wall:%Y-%m-%dT%H:%M:%S}" + (f".{micros:06d}"[: digits + 1] if digits else "")
    offset = zone if isinstance(zone, int) else 0
    if isinstance(zone, int):
        lexical += f"{'-' if zone < 0 else '+'}{abs(zone) // 60:02d}:{abs(zone) % 60:02d}"
    elif zone:
        lexical += zone
    term_id = codec.inlineId(typed(lexical, "dateTime"))
    assert codec.inlineText(term_id) == typed(lexical, "dateTime")
    instant = wall.replace(tzinfo=UTC) - timedelta(minutes=offset)
    elapsed = instant - datetime(1970, 1, 1, tzinfo=UTC)
    assert codec.dateTimeMillis(term_id) == elapsed // timedelta(milliseconds=1)
    assert codec.dateTimeHasZone(term_id) == (zone is not None)
    assert codec.dateTimeOffsetMinutes(term_id) == offset


def test_computed_instants(codec: Codec) -> None:
    assert codec.inlineText(codec.dateTimeIdOrZero(0)) == typed("1970-01-01T00:00:00Z", "dateTime")
    assert codec.inlineText(codec.dateTimeIdOrZero(1500)) == typed(
        "1970-01-01T00:00:01.500Z", "dateTime"
    )
    assert codec.dateTimeIdOrZero(2**44) == 0


def test_kinds_and_ranks(spark: Any, codec: Codec) -> None:
    hash_only = spark._jvm.org.apache.spark.sql.cqels.dictionary.Dictionary.hashOnly
    iri, blank, plain, tagged, other = (
        hash_only(text)
        for text in ("<http://a/>", "_:a", '"a"', '"a"@en', '"007"^^<' + XSD + "integer>")
    )
    assert [codec.kind(i) for i in (iri, blank, plain, tagged, other)] == [1, 2, 3, 4, 5]
    assert [codec.isIri(i) for i in (iri, blank, plain)] == [True, False, False]
    assert [codec.isBlank(i) for i in (iri, blank, plain)] == [False, True, False]
    assert [codec.isLiteral(i) for i in (iri, blank, plain, tagged, other)] == [False, False] + [
        True
    ] * 3
    assert [codec.isString(i) for i in (plain, tagged, other)] == [True, False, False]
    assert codec.isLanguageString(tagged)
    quoted = hash_only("<< <http://a/> <http://b/> _:c >>")
    assert quoted < 0
    assert codec.isQuoted(quoted)
    assert codec.kind(quoted) == 32
    assert not any((codec.isLiteral(quoted), codec.isInline(quoted), codec.isNumeric(quoted)))
    ranks = {"integer": 1, "byte": 1, "decimal": 2, "float": 3, "double": 4, "boolean": 0}
    for datatype, rank in ranks.items():
        term_id = codec.inlineId(typed("true" if datatype == "boolean" else "1", datatype))
        assert codec.numericRank(term_id) == rank
        assert codec.isNumeric(term_id) == (rank > 0)
        assert math.isnan(codec.doubleValue(term_id)) == (rank == 0)
        assert (codec.decimalValue(term_id) is None) == (rank == 0)
    assert codec.numericRank(other) == 0
    assert codec.booleanValue(codec.booleanId(True))
    assert not codec.booleanValue(codec.booleanId(False))
    assert codec.booleanId(False) == codec.inlineId(typed("false", "boolean")) != 0
    assert codec.datatypeIri(plain) == XSD + "string"
    assert codec.datatypeIri(iri) is None
