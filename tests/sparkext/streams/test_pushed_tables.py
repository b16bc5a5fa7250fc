"""Tables into streams: the same as their rows pushed as elements, whatever Arrow makes of the columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sparkext.errors import ArgumentError, StreamElementError
from sparkext.runtime.streams import pushed_tables
from static_data.terms import Iri, Literal
from tests.sparkext.streams.row_elements import elements_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.streams.push_report import PushReport
    from sparkext.runtime.streams.stream import Stream

E = "http://e/"
TIMES = pa.timestamp("us", tz="UTC")
GOOD = {
    "subject": [f"{E}a", f"<{E}b>", "_:x", f"{E}ü", f"<< <{E}a> <{E}p> _:x >>"],
    "predicate": [f"{E}p", f"<{E}p>", f" <{E}q>"],
    "object": [
        '"1"',
        f"<{E}b>",
        "_:x",
        '"a\\u0062"@EN',
        '"5"^^<http://www.w3.org/2001/XMLSchema#integer>',
        '"ü\\n"',
    ],
    "graph": [f"{E}g", f"<{E}g>", "_:x", f"<{E}h>", None],
}
BAD = {
    "subject": ['"a"', "", None, "a b"],
    "predicate": ["_:b", f"<< <{E}a> <{E}p> <{E}o> >>", None, "<nowhere>"],
    "object": [f"{E}bare", "it's", None, "'", '"a', "\t"],
    "graph": ['"g"', "nothing"],
}
TEXTS = [pa.string(), pa.large_string(), pa.string_view(), "dictionary", "binary"]


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    from sparkext import Engine

    with closing(Engine(spark)) as made:
        yield made


NUMBERS = count()
# An example takes a while: what fails is not made smaller.
SHORT = (Phase.explicit, Phase.reuse, Phase.generate)


def fresh(engine: Engine, **options: Any) -> tuple[Stream, list[Any]]:
    """A stream of its own, and what is in a window over it as it moves."""
    iri = f"{E}s{next(NUMBERS)}"
    heard: list[Any] = []
    stream = engine.register_stream(iri, **options)
    for pattern in ("?s ?p ?o", "GRAPH ?g { ?s ?p ?o }"):
        engine.register_query(
            f"REGISTER RSTREAM <{iri}q{len(pattern)}> AS SELECT * FROM NAMED WINDOW <{E}w> ON <{iri}>"
            f" [RANGE 3] WHERE {{ WINDOW <{E}w> {{ {pattern} }} }}"
        ).subscribe(lambda found: heard.append((found.time, sorted(map(_plain, found.rows())))))
    return stream, heard


def _plain(row: tuple[str | None, ...]) -> tuple[str, ...]:
    """Without the labels of blank nodes, which no two elements share."""
    return tuple(re.sub(r"_:\S+", "_:", cell or "") for cell in row)


def column(texts: list[str | None], kind: Any, cuts: list[int]) -> pa.ChunkedArray:
    """Texts as Arrow has them, cut into chunks."""
    parts = [texts[a:b] for a, b in zip([0, *cuts], [*cuts, len(texts)], strict=True)]
    if kind == "dictionary":
        made = [pa.array(part, pa.string()).dictionary_encode() for part in parts]
        return pa.chunked_array(made, pa.dictionary(pa.int32(), pa.string()))
    if kind == "binary":
        kind = pa.binary()
        parts = [[t if t is None else t.encode() for t in part] for part in parts]  # type: ignore[misc]
    return pa.chunked_array([pa.array(part, kind) for part in parts], kind)


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, pa.Table]:
    """A table of terms, mostly good ones, as it is pushed; and the same with plain texts."""
    rows = draw(st.integers(0, 12))
    bad = draw(st.booleans())
    given: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    named = draw(st.booleans())
    cuts = sorted(draw(st.lists(st.integers(0, rows), max_size=2)))
    for role in ("subject", "predicate", "object", *(["graph"] if named else [])):
        pool = st.sampled_from(GOOD[role] * (3 if bad else 1) + (BAD[role] if bad else []))
        texts = draw(st.lists(pool, min_size=rows, max_size=rows))
        given[role] = column(texts, draw(st.sampled_from(TEXTS)), cuts)
        plain[role] = pa.array(texts, pa.string())
    times = st.integers(1, 4)
    if bad:
        times = times | st.none() | st.just(1 << 60)  # type: ignore[assignment]
    moments = draw(st.lists(times, min_size=rows, max_size=rows))
    if not any(t == 1 << 60 for t in moments) and draw(st.booleans()):
        unit = draw(st.sampled_from(["s", "ms", "us", "ns"]))
        factor = {"s": 1, "ms": 1, "us": 999, "ns": 999_999}[unit]
        ticks = pa.array([None if t is None else t * factor for t in moments], pa.int64())
        given["time"] = ticks.cast(pa.timestamp(unit))
    else:
        given["time"] = pa.array(moments, pa.int64())
    if draw(st.booleans()):
        given["time"] = given["time"].dictionary_encode()
    plain["time"] = given["time"]
    return pa.table(given), pa.table(plain)


@pytest.mark.parametrize("block", [1 << 18, 3])
def test_a_table_is_what_its_rows_are(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(pushed_tables, "BLOCK_ROWS", block)

    @settings(max_examples=40, deadline=None, phases=SHORT)
    @given(tables(), tables())
    def holds(first: tuple[pa.Table, pa.Table], second: tuple[pa.Table, pa.Table]) -> None:
        as_table, seen = fresh(engine)
        as_rows, wanted = fresh(engine)
        for pushed, plain in (first, second):
            report = as_table.push_table(pushed)
            found = elements_of(plain)
            expected = as_rows.push_elements(found.elements)
            assert (report.accepted, report.late) == (expected.accepted, expected.late)
            assert report.malformed == len(found.set_aside)
            told = list(as_table.set_aside)[-report.malformed :] if report.malformed else []
            assert sorted(told) == sorted(found.set_aside)
            if block > 12:
                assert told == found.set_aside
        assert as_table.watermark.complete_up_to == as_rows.watermark.complete_up_to
        engine.finish()
        assert seen == wanted

    holds()


VALUES = [
    (pa.array([1, -5, 1 << 60]), [1, -5, 1 << 60]),
    (pa.array([1, 255], pa.uint8()), [1, 255]),
    (pa.array([1, (1 << 64) - 1], pa.uint64()), None),
    (
        pa.array([21.5, 1e16, 1.5e-7, float("inf"), -0.0, 1e300]),
        [21.5, 1e16, 1.5e-7, float("inf"), -0.0, 1e300],
    ),
    (pa.array([0.1, 3.0], pa.float32()), [0.1, 3.0]),
    (pa.array([True, False]), [True, False]),
    (pa.array([7, 7]).dictionary_encode(), [7, 7]),
]


@pytest.mark.parametrize(("values", "numbers"), VALUES)
def test_numbers_are_what_pushed_numbers_are(
    engine: Engine, values: pa.Array, numbers: list[Any] | None
) -> None:
    stream, seen = fresh(engine)
    other, wanted = fresh(engine)
    table = pa.table({"s": [f"{E}a"] * len(values), "value": values, "at": range(len(values))})
    report = stream.push_table(
        table, subject="s", predicate=Iri(f"{E}p"), object="value", time="at"
    )
    assert report.accepted == len(values)
    for time, number in enumerate(numbers or []):
        other.push((f"{E}a", f"{E}p", number), time)
    engine.finish()
    assert seen == wanted or numbers is None
    assert numbers is not None or '"18446744073709551615"' in str(seen)


@pytest.mark.usefixtures("persian_digits")
def test_numbers_have_the_same_digits_wherever_java_runs(engine: Engine) -> None:
    values = [1e20, 1e300, 1.5e-7, 21.5]
    test_numbers_are_what_pushed_numbers_are(engine, pa.array(values), values)


@pytest.mark.parametrize(
    ("value", "kind", "literal"),
    [
        (Decimal("1.50"), None, '"1.50"^^<xsd:decimal>'),
        (date(2026, 1, 31), None, '"2026-01-31"^^<xsd:date>'),
        (datetime(2026, 1, 31, 10), pa.timestamp("s"), '"2026-01-31T10:00:00"^^<xsd:dateTime>'),
        (
            datetime(2026, 1, 31, 10, microsecond=500_000),
            TIMES,
            '"2026-01-31T10:00:00.5Z"^^<xsd:dateTime>',
        ),
        # The year 10000, which no value of Python has.
        (253_402_300_800, pa.timestamp("s"), '"10000-01-01T00:00:00"^^<xsd:dateTime>'),
        (2_932_897, pa.date32(), '"10000-01-01"^^<xsd:date>'),
    ],
)
def test_other_values_are_literals(engine: Engine, value: Any, kind: Any, literal: str) -> None:
    stream, seen = fresh(engine)
    stream.push_table(
        pa.table({"v": pa.array([value], kind)}),
        subject=Iri(f"{E}a"),
        predicate=Iri(f"{E}p"),
        object="v",
        time=5,
        graph=Iri(f"{E}g"),
    )
    engine.finish()
    text = literal.replace("xsd:", "http://www.w3.org/2001/XMLSchema#")
    assert seen == [(5, [(f"<{E}g>", f"<{E}a>", f"<{E}p>", text)])] or text in str(seen)


def test_a_moment_beyond_all_years_is_set_aside(engine: Engine) -> None:
    stream, _ = fresh(engine)
    table = pa.table({"v": pa.array([1 << 60, 0], pa.timestamp("s"))})
    report = stream.push_table(
        table, subject=Iri(f"{E}a"), predicate=Iri(f"{E}p"), object="v", time=5
    )
    assert (report.accepted, report.malformed) == (1, 1)
    assert list(stream.set_aside) == ["row 0: object out of range"]


def rows(**more: Any) -> dict[str, Any]:
    return {"subject": [f"{E}a"], "predicate": [f"{E}p"], "object": ['"1"'], "time": [5], **more}


def test_tables_of_all_kinds(spark: SparkSession, engine: Engine) -> None:
    class Stream:
        def __arrow_c_stream__(self, schema: object = None) -> object:
            return pa.table(rows()).__arrow_c_stream__(schema)

    stream, _ = fresh(engine)
    frame = pd.DataFrame(rows())
    kinds = [
        pa.table(rows()),
        pa.record_batch(rows()),
        frame,
        spark.createDataFrame(frame),
        Stream(),
    ]
    for number, table in enumerate(kinds, start=1):
        assert stream.push_table(table).accepted == 1
        assert stream.accepted_count == number
    engine.push_table(stream.iri, frame, time=datetime(1970, 1, 2, tzinfo=UTC), graph=None)
    assert stream.newest_time == 86_400_000


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (
            rows(),
            {"subject": "sensor"},
            "table: no column sensor for the subject; its columns: subject, predicate",
        ),
        (rows(), {"graph": "source"}, "table: no column source for the graph"),
        (
            rows(time=["now"]),
            {},
            "table: column time must hold timestamps or milliseconds, not string",
        ),
        (
            rows(object=[[1]]),
            {},
            "table: column object: values of type list<item: int64> cannot be read",
        ),
        (rows(object=[b"\xff"]), {}, "table: column object: Invalid UTF8"),
        (rows(), {"time": 5.5}, "time: a time is a whole number of milliseconds"),
        (rows(), {"predicate": object()}, "not an RDF term"),
    ],
)
def test_columns_that_do_not_fit_are_named(
    engine: Engine, table: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    stream, _ = fresh(engine)
    with pytest.raises(StreamElementError) as refused:
        stream.push_table(pa.table(table), **options)
    assert message in str(refused.value)
    assert stream.accepted_count == 0


def test_what_is_no_table_is_refused(engine: Engine) -> None:
    stream, _ = fresh(engine)
    with pytest.raises(ArgumentError, match="table"):
        stream.push_table([1])


def test_a_stream_that_does_not_skip_takes_all_or_nothing(engine: Engine) -> None:
    stream, _ = fresh(engine, on_error="fail")
    table = pa.table({name: cells * 2 for name, cells in rows().items()} | {"object": ['"1"', "?"]})
    with pytest.raises(StreamElementError, match=r"^row 1: object '\?' is not an RDF term"):
        stream.push_table(table)
    assert stream.accepted_count == 0
    accepting, _ = fresh(engine, on_error="accept")
    assert accepting.push_table(pa.table(rows(subject=["<not absolute>"]))).accepted == 1


def test_constants_for_all_rows(engine: Engine) -> None:
    stream, seen = fresh(engine)
    table = pa.table({"room": [f"{E}r1", f"{E}r2"], "subject": ["not", "looked at"]})
    report: PushReport = stream.push_table(
        table,
        subject="room",
        predicate=Iri(f"{E}is"),
        object=Literal("warm"),
        time=7,
        graph=Iri(f"{E}g"),
    )
    assert report.accepted == 1  # of one graph and one time
    engine.finish()
    assert [time for time, _ in seen] == [7, 7]


@pytest.mark.parametrize(
    ("column", "text", "reason"),
    [
        ("subject", '"a"', '"a" cannot be a subject'),
        ("subject", None, "no subject"),
        ("subject", 5, "subject '5' is not an RDF term in N-Triples syntax"),
        ("predicate", "_:b", "_:b cannot be a predicate"),
        ("predicate", "<a> <b>", "predicate '<a> <b>' is not an RDF term in N-Triples syntax"),
        ("object", '"a" <http://e/g> . #', "object '\"a\" <http://e/g> . #' is not an RDF term"),
        ("object", "http://e/bare", "object 'http://e/bare' is not an RDF term"),
        ("graph", "<< <http://e/a> <http://e/b> <http://e/c> >>", "cannot be a graph"),
        ("time", None, "no time"),
        ("time", 1 << 60, "time out of range"),
        ("time", 1.5, "time is no whole number of milliseconds"),
    ],
)
def test_what_is_no_term_is_set_aside(
    engine: Engine, column: str, text: object, reason: str
) -> None:
    stream, _ = fresh(engine)
    report = stream.push_table(pa.table(rows(**{column: [text]})))
    assert (report.accepted, report.malformed) == (0, 1)
    (told,) = stream.set_aside
    assert told.startswith("row 0: ") and reason in told


def test_terms_are_made_canonical_and_quoted_triples_read(engine: Engine) -> None:
    stream, seen = fresh(engine)
    quoted = '<<( <http://e/a> <http://e/b> "\\u0063"@EN )>>'
    stream.push_table(pa.table(rows(subject=[quoted], object=['"x"^^<http://e/%C3>'])))
    engine.finish()
    assert '<< <http://e/a> <http://e/b> "c"@en >>' in str(seen)
    assert '"x"^^<http://e/%C3>' in str(seen)


def test_a_row_costs_its_element_and_no_other(engine: Engine) -> None:
    stream, _ = fresh(engine)
    graphs = ["http://e/g", "http://e/g", "http://e/h", "not an iri", None]
    table = {name: cells * 5 for name, cells in rows().items()}
    table |= {"graph": graphs, "object": ['"1"', "?", '"3"', '"4"', None]}
    report = stream.push_table(pa.table(table))
    assert (report.accepted, report.malformed) == (1, 3)
    assert list(stream.set_aside) == [
        "row 3: graph 'not an iri' is not an RDF term in N-Triples syntax",
        "row 1: <http://e/g>: object '?' is not an RDF term in N-Triples syntax",
        "row 4: no object",
    ]
