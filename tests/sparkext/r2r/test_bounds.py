"""Expressions that ask for too much: SPARQL's error, and soon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from sparkext.engine import Engine
from sparkext.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

XSD = "http://www.w3.org/2001/XMLSchema#"
LONG = f'CONCAT("{"a" * 3000}", "{"a" * 3000}")'


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with closing(Engine(spark)) as made:
        yield made


def values(engine: Engine, *expressions: str) -> list[str | None]:
    """The value of each, None for an error."""
    columns = " ".join(f"({one} AS ?v{place})" for place, one in enumerate(expressions))
    answer = engine.select(
        f"PREFIX : <http://e/> PREFIX xsd: <{XSD}> SELECT {columns} {{}}"
    ).answer()
    (row,) = answer.rows()
    return list(row)


def repeated(engine: Engine, first: str, step: str, times: int, last: str) -> str | None:
    """A value that is put into an expression again and again, by BINDs."""
    binds = " ".join(f"BIND({step.replace('?y', f'?y{n}')} AS ?y{n + 1})" for n in range(times))
    text = f"PREFIX : <http://e/> SELECT ({last.replace('?y', f'?y{times}')} AS ?v) {{ BIND({first} AS ?y0) {binds} }}"
    ((value,),) = engine.select(text).answer().rows()
    return value


def test_matches_without_end(engine: Engine) -> None:
    patterns = (
        "(a+)+b",
        "(a|aa)+b",
        "(.*)*b",
        "a*a*a*a*a*a*b",
        "((a*)*)*b",
        "(a+)\\\\1+b",
        "(a{1,30}){1,30}{1,30}b",
        "(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)(|)b",
        "(a*|b*)(a*|b*)(a*|b*)(a*|b*)(a*|b*)(a*|b*)(a*|b*)(a*|b*)(a*|b*)(a*|b*)(a*|b*)b",
        "(" * 5000 + "a" + ")" * 5000,
    )
    found = values(engine, *(f'REGEX({LONG}, "{pattern}")' for pattern in patterns))
    # Java tells some of them soon; what it may not do is go on.
    assert set(found) <= {None, f'"false"^^<{XSD}boolean>'}
    assert found[4:5] == [None] and found[7:] == [None, None, None]


def test_usual_patterns_match_as_ever(engine: Engine) -> None:
    true, false = f'"true"^^<{XSD}boolean>', f'"false"^^<{XSD}boolean>'
    wanted = {
        'REGEX("foobar", "^(foo|bar)+$")': true,
        'REGEX("a1b22", "^[a-z0-9]{2,5}$")': true,
        'REGEX("x", "a*1*b?(c|d)*$")': true,
        f'REGEX({LONG}, "a{{10}}b")': false,
        f'REGEX({LONG}, "^.*a$")': true,
        'REGEX("\\u00e9", "^\\\\p{L}$")': true,
        'REGEX("\\u00e9", "^\\\\p{IsBasicLatin}$")': false,
        'REGEX("a b", "a\\\\sb|c{2}|(d?)?")': true,
        'REPLACE("abcabc", "(b)(c)", "$2$1")': '"acbacb"',
        'REPLACE("a.b.c", "[.]", "")': '"abc"',
    }
    assert values(engine, *wanted) == list(wanted.values())


def test_texts_that_grow_without_end(engine: Engine) -> None:
    assert repeated(engine, '"aaaaaaaa"', "CONCAT(?y, ?y)", 30, "STRLEN(?y)") is None
    assert (
        repeated(engine, '"aaaaaaaa"', 'REPLACE(?y, "a", "aaaaaaaaaaaa")', 12, "STRLEN(?y)") is None
    )
    assert (
        repeated(engine, '"aaaaaaaa"', "CONCAT(?y, ?y)", 10, "STRLEN(?y)")
        == f'"8192"^^<{XSD}integer>'
    )


def test_numbers_that_grow_without_end(engine: Engine) -> None:
    assert repeated(engine, "7", "?y * ?y", 20, "?y") is None
    assert repeated(engine, "7.5", "?y * ?y", 20, "?y") is None
    digits = "9" * 20_000
    assert values(
        engine,
        f'"{digits}"^^xsd:integer + 1',
        f'xsd:integer("{digits}")',
        f'"{digits[:5000]}"^^xsd:integer + 1',
    ) == [
        None,
        None,
        f'"1{"0" * 5000}"^^<{XSD}integer>',
    ]


def test_seconds_with_digits_without_end(engine: Engine) -> None:
    digits = "1" * 20_000
    assert values(
        engine,
        f'SECONDS("2026-01-31T10:00:00.{digits}Z"^^xsd:dateTime)',
        f'SECONDS("2026-01-31T10:00:00.{digits[:5000]}Z"^^xsd:dateTime)',
        f'"PT0.{digits}S"^^xsd:dayTimeDuration * 2',
        f'"PT0.{digits[:5000]}S"^^xsd:dayTimeDuration * 2',
    ) == [
        None,
        f'"0.{digits[:5000]}"^^<{XSD}decimal>',
        None,
        f'"PT0.{"2" * 5000}S"^^<{XSD}dayTimeDuration>',
    ]


def test_long_texts_that_are_nearly_found_everywhere(engine: Engine) -> None:
    beginning = "SUBSTR(?y, 1, 2000000)"  # of 4,194,304 characters
    searches = (
        f'CONTAINS(?y, CONCAT({beginning}, "b"))',
        f'STRBEFORE(?y, CONCAT({beginning}, "b"))',
        f'CONTAINS(CONCAT(?y, "b"), CONCAT({beginning}, "b"))',
        f'STRLEN(STRBEFORE(CONCAT(?y, "bc"), CONCAT({beginning}, "b")))',
        f'STRAFTER(CONCAT(?y, "bc"), CONCAT({beginning}, "b"))',
    )
    asked = ', "|", '.join(f"STR({search})" for search in searches)
    found = repeated(engine, '"aaaaaaaa"', "CONCAT(?y, ?y)", 19, f"CONCAT({asked})")
    assert found == '"false||true|2194304|c"'


def test_triples_that_grow_without_end(engine: Engine) -> None:
    assert repeated(engine, ":a", "TRIPLE(?y, :p, ?y)", 25, "?y") is None
    made = repeated(engine, ":a", "TRIPLE(?y, :p, ?y)", 5, "?y")
    assert made is not None and made.count("<< ") == 31


def test_a_tag_without_end(engine: Engine) -> None:
    assert values(engine, f'STRLANG("a", "a{"-a" * 20_000}")', 'STRLANG("a", "en-GB")') == [
        None,
        '"a"@en-gb',
    ]


@pytest.mark.parametrize(
    "pattern",
    [
        "?s ?p ?o " + "FILTER EXISTS { ?s ?p ?o " * 160 + "}" * 160,
        "?s ?p ?o " + " ".join(f"BIND(?s AS ?x{n})" for n in range(500)),
        "?s ?p ?o " + "FILTER(?s) " * 1200,
        "?s ?p " + "<< ?s ?p " * 2000 + "?o" + ">>" * 2000,
    ],
    ids=["exists", "binds", "filters", "quoted"],
)
def test_queries_that_nest_too_deep(engine: Engine, pattern: str) -> None:
    with pytest.raises(Exception, match="the query is nested too deeply") as raised:
        engine.select(f"SELECT * {{ {pattern} }}")
    assert type(raised.value).__name__ in (UnsupportedFeatureError.__name__, "QuerySyntaxError")
