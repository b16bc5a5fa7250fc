"""The quads that the JVM makes of columns are those of the plain reading of the mapping, row by row."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.runtime.streams.mapped_columns import columns_of, row_block
from sparkext.runtime.streams.stream_mapping import MappingOptions, element_mapping
from static_data.errors import MappedRowError
from static_data.mappings.materialise import Materialiser
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.rows import ArrowRows, JsonRows
from static_data.mappings.source_rows import rows_of_source
from tests.static_data.mappings.mapping_cases import NEW_PREFIXES, TURTLE_PREFIXES, MappingCase
from tests.static_data.mappings.more_mapping_cases import CASES
from tests.static_data.mappings.quad_sets import without_labels

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count()


class Taker:
    """Takes rows into a log of its own, and reads the log's quads back."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        from sparkext.bridge.handover import Handover
        from static_data.jvm import extension

        self.spark = spark
        self.extension = extension(spark)
        self.dictionary = self.extension.dictionary.Dictionary()
        self._texts: dict[int, str] = {}  # an id stands for one text, also in another dictionary
        path = folder / "block"
        java_path = spark._jvm.java.io.File(str(path)).toPath()  # type: ignore[union-attr]
        self.handover = Handover(path, self.extension.ingest.Handover(java_path))

    def take(
        self, options: MappingOptions, rows: Any, tables: Any
    ) -> tuple[dict[str, Any], list[set[str]]]:
        """What became of rows, and the quads of each element that was taken in, in order of time."""
        log = self.extension.streams.StreamLog(f"http://e/s{next(_numbers)}", self.dictionary, None)
        mapping = element_mapping(options, tables)
        jvm = self.extension.mapped.MappedStream(log, mapping.program.json, True)
        if isinstance(rows, pa.Table):
            rows = ArrowRows(rows, mapping.rows.source)
        columns = columns_of(rows, mapping.program.columns, mapping.time)
        length = self.handover.write(row_block(columns))
        outcome = json.loads(self.handover.answer(jvm.take(self.handover.jvm, length, False, "")))
        elements = list(self._elements(log))
        log.dropExpired((1 << 62) - 1)
        jvm.close()
        assert self.dictionary.streamSize() == 0, "something is still held"
        return outcome, elements

    def _elements(self, log: Any) -> Iterator[set[str]]:
        """The quads of each time, of which there is one element."""
        window = log.window("all")
        log.advance(window, -(1 << 62), (1 << 62) - 1)
        panes = log.contentOf(window).iterator()
        while panes.hasNext():
            quads = self.extension.memory.LongTable(4, 16)
            panes.next()._2().write(0, quads)
            arrays = self.spark._jvm.java.util.Arrays  # type: ignore[union-attr]
            cells = json.loads(arrays.toString(quads.toArray()))
            texts = [None if cell == 0 else self._text(cell) for cell in cells]
            yield {
                " ".join(t for t in texts[n : n + 4] if t is not None) + " ."
                for n in range(0, len(texts), 4)
            }
        log.dropWindow("all")

    def _text(self, term: int) -> str:
        if term not in self._texts:
            self._texts[term] = self.dictionary.text(term)
        return self._texts[term]


@pytest.fixture(scope="module")
def taker(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Taker:
    return Taker(spark, tmp_path_factory.mktemp("handover"))


def rows_with_times(rows: Any) -> Any:
    """The rows with their number as their time."""
    if isinstance(rows, JsonRows):
        return JsonRows([{**row, "row_time": n} for n, row in enumerate(rows.rows)], rows.source)
    return rows.table.append_column("row_time", pa.array(range(len(rows)), pa.int64()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(taker: Taker, case: MappingCase, tmp_path: Path) -> None:
    for name, text in case.files.items():
        (tmp_path / name).write_text(text, "utf-8")
    file = tmp_path / f"mapping.{case.ending}"
    file.write_text(case.mapping, "utf-8")
    for mapped in read_mapping(file).rows:
        rows = rows_of_source(mapped.source, str(file), case.tables.get)
        options = MappingOptions(file, "row_time", mapped.source.name)
        outcome, elements = taker.take(options, rows_with_times(rows), case.tables.get)
        others = [source for source in mapped.parents() if source != mapped.source]
        parents = {s: rows_of_source(s, str(file), case.tables.get) for s in others}
        expected = list(Materialiser(mapped, parents).quads_by_row(rows))
        assert outcome["accepted"] == len(expected) and outcome["rejected"] == [0, []]
        for quads, element in zip(expected, elements, strict=True):
            assert not isinstance(quads, MappedRowError)
            assert without_labels(element) == without_labels(q.nquads() for q in quads)


def held_to_plain_reading(taker: Taker, file: Path, rows: ArrowRows | JsonRows) -> None:
    """Elements and flaws are those of the plain reading; the rows' own numbers are their times."""
    mapped = read_mapping(file).of_source()
    options = MappingOptions(file, "row_time")
    outcome, elements = taker.take(options, rows_with_times(rows), {}.get)
    expected = list(Materialiser(mapped, {}).quads_by_row(rows))
    flaws = [
        [None, error.row - 1, error.message]
        for error in expected
        if isinstance(error, MappedRowError)
    ]
    assert outcome["rejected"] == [len(flaws), flaws]
    sound = [quads for quads in expected if not isinstance(quads, MappedRowError)]
    assert outcome["accepted"] == len(sound)
    for quads, element in zip(sound, elements, strict=True):
        assert without_labels(element) == without_labels(quad.nquads() for quad in quads)


_EVERYTHING = (
    TURTLE_PREFIXES.replace("@prefix rml:", "@prefix old:")
    + """
@prefix rml: <http://w3id.org/rml/> .
<#T> old:logicalSource [ old:source "r.csv" ];
  rr:subjectMap [ rr:template "http://example.com/{s}/{v}" ];
  rr:predicateObjectMap [ rr:predicate ex:natural; rr:objectMap [ rr:column "v" ] ];
  rr:predicateObjectMap [ rr:predicate ex:decimal; rr:objectMap [ rr:column "v"; rr:datatype xsd:decimal ] ];
  rr:predicateObjectMap [ rr:predicate ex:double; rr:objectMap [ rr:column "v"; rr:datatype xsd:double ] ];
  rr:predicateObjectMap [ rr:predicate ex:string; rr:objectMap [ rr:column "v"; rr:datatype xsd:string ] ];
  rr:predicateObjectMap [ rr:predicate ex:tagged; rr:objectMap [ rr:column "v"; rr:language "en-GB" ] ];
  rr:predicateObjectMap [ rr:predicate ex:text;
    rr:objectMap [ rr:template "{s}: \\\\{{v}\\\\}"; rr:termType rr:Literal ] ];
  rr:predicateObjectMap [ rr:predicate ex:uri;
    rr:objectMap [ rml:template "http://example.com/ü/{s}"; rr:termType rml:URI ] ];
  rr:predicateObjectMap [ rr:predicate ex:blank; rr:objectMap [ rr:template "{s}{v}"; rr:termType rr:BlankNode ] ];
  rr:predicateObjectMap [ rr:predicate ex:both; rr:objectMap [ rml:quotedTriplesMap <#Q> ] ];
  rr:predicateObjectMap [ rr:predicate ex:own; rr:objectMap [ rr:parentTriplesMap <#Q>;
      rr:joinCondition [ rr:child "s"; rr:parent "v" ] ] ] .
<#Q> a rml:NonAssertedTriplesMap; old:logicalSource [ old:source "r.csv" ];
  rr:subjectMap [ rr:template "http://example.com/{s}" ];
  rr:predicateObjectMap [ rr:predicate ex:q; rr:objectMap [ rr:column "v" ] ] .
"""
)

_TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=6) | st.sampled_from(
    ["a", "b", 'a"\\\n', "ü/ %", "\U0001f600", "\ue000", "E", "7"]
)
_UTC = UTC
_TYPES: Sequence[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.string(), _TEXTS),
    (pa.large_string(), _TEXTS),
    (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["x", "y z", "7"])),
    (pa.int64(), st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-9, 9)),
    (pa.uint64(), st.integers(0, (1 << 64) - 1)),
    (pa.int16(), st.integers(-(1 << 15), (1 << 15) - 1)),
    (pa.float64(), st.floats()),
    (pa.float32(), st.floats(width=32)),
    (pa.bool_(), st.booleans()),
    (pa.decimal128(20, 4), st.decimals(-(10**12), 10**12, places=4)),
    (pa.date32(), st.dates()),
    (pa.timestamp("us"), st.datetimes()),
    (
        pa.timestamp("ms"),
        st.datetimes().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
    ),
    (pa.timestamp("us", "Europe/Berlin"), st.datetimes(timezones=st.just(_UTC))),
    (pa.timestamp("s"), st.datetimes().map(lambda t: t.replace(microsecond=0))),
    (pa.time64("us"), st.times()),
    (pa.binary(), st.binary(max_size=3)),
]


@settings(derandomize=True, max_examples=60)
@given(data=st.data())
def test_any_columns(
    taker: Taker, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    file = tmp_path_factory.getbasetemp() / "everything.ttl"
    file.write_text(_EVERYTHING, "utf-8")
    kind, values = data.draw(st.sampled_from(_TYPES))
    rows = data.draw(
        st.lists(st.tuples(st.none() | _TEXTS, st.none() | values), min_size=1, max_size=12)
    )
    table = pa.table(
        {
            "s": pa.array([s for s, _ in rows], pa.string()),
            "v": pa.array([v for _, v in rows], kind),
        }
    )
    held_to_plain_reading(taker, file, ArrowRows(table, read_mapping(file).of_source().source))


@pytest.mark.usefixtures("persian_digits")
def test_moments_have_the_same_digits_wherever_java_runs(taker: Taker, tmp_path: Path) -> None:
    file = tmp_path / "everything.ttl"
    file.write_text(_EVERYTHING, "utf-8")
    table = pa.table({"s": ["a"], "v": pa.array([1_500_001], pa.timestamp("us"))})
    held_to_plain_reading(taker, file, ArrowRows(table, read_mapping(file).of_source().source))


_JSON = (
    NEW_PREFIXES
    + """
<http://example.com/T> rml:logicalSource [ rml:source "r.json"; rml:referenceFormulation rml:JSONPath ];
  rml:subjectMap [ rml:template "http://example.com/{id}" ];
  rml:predicateObjectMap [ rml:predicate ex:tag; rml:objectMap [ rml:reference "tags[*]" ] ];
  rml:predicateObjectMap [ rml:predicate ex:pair;
    rml:objectMap [ rml:template "{tags[*]}-{at.x}"; rml:termType rml:Literal ] ];
  rml:predicateObjectMap [ rml:predicate ex:x; rml:objectMap [ rml:reference "at.x" ] ];
  rml:predicateObjectMap [ rml:predicate ex:word;
    rml:objectMap [ rml:reference "at.x"; rml:languageMap [ rml:reference "lang" ] ] ];
  rml:predicateObjectMap [ rml:predicate ex:size;
    rml:objectMap [ rml:reference "at.x"; rml:datatypeMap [ rml:reference "type" ] ] ];
  rml:predicateObjectMap [ rml:predicate ex:first;
    rml:objectMap [ rml:reference "$['tags'][0]"; rml:datatype xsd:decimal ] ] .
"""
)


def _documents(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"id": st.none() | st.integers(0, 9) | _TEXTS},
        optional={
            "tags": st.lists(scalars, max_size=3),
            "at": st.fixed_dictionaries({"x": scalars}),
            "lang": st.sampled_from(["de", "EN-gb", "no tag", None]),
            "type": st.sampled_from(
                ["http://example.com/t", "http://www.w3.org/2001/XMLSchema#decimal", "relative"]
            ),
        },
    )


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXTS
_DOCUMENTS = _documents(_SCALARS)
# With values that no literal holds.
_ODD_DOCUMENTS = _documents(_SCALARS | st.sampled_from([{"y": 1}, ["z"], "\ud800"]))


@settings(derandomize=True, max_examples=60)
@given(rows=st.lists(_ODD_DOCUMENTS, min_size=1, max_size=8))
def test_any_json(
    taker: Taker, tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    file = tmp_path_factory.getbasetemp() / "json.ttl"
    file.write_text(_JSON, "utf-8")
    held_to_plain_reading(taker, file, JsonRows(rows, read_mapping(file).of_source().source))


_LINKS = (
    TURTLE_PREFIXES
    + """
<#T> rml:logicalSource [ rml:source "r.csv" ];
  rr:subjectMap [ rr:column "s" ];
  rr:predicateObjectMap [ rr:predicateMap [ rr:column "p" ]; rr:objectMap [ rr:column "o"; rr:termType rr:IRI ] ] .
"""
)
_IRIS = st.sampled_from(["http://e/a", "urn:x:ü", "no", "a:b c", "1:2", "", ":", "http://e/<"])


@settings(derandomize=True, max_examples=40)
@given(rows=st.lists(st.tuples(st.none() | _IRIS, _IRIS, _IRIS), min_size=1, max_size=6))
def test_any_iris(taker: Taker, tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    file = tmp_path_factory.getbasetemp() / "links.ttl"
    file.write_text(_LINKS, "utf-8")
    names = ("s", "p", "o")
    columns = {n: pa.array([row[i] for row in rows], pa.string()) for i, n in enumerate(names)}
    held_to_plain_reading(
        taker, file, ArrowRows(pa.table(columns), read_mapping(file).of_source().source)
    )


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([5, None, 1 << 60]), [5, "no time", "time out of range"]),
        (pa.array([5.9, float("nan"), None]), [5, "no time", "no time"]),
        (
            pa.array(["1970-01-01T00:00:00.005Z", "7", "1970-01-01T01:00:00.123456+01:00", "noon"]),
            [5, 7, 123, "'noon' is neither an xsd:dateTime nor a number of milliseconds"],
        ),
        (pa.array([-1, 1_999], pa.timestamp("us")), [-1, 1]),
        (pa.array([2], pa.timestamp("s", "UTC")), [2000]),
        (pa.array([1], pa.date32()), [86_400_000]),
        (pa.array(["8", "8", None]).dictionary_encode(), [8, 8, "no time"]),
    ],
)
def test_times(taker: Taker, tmp_path: Path, column: pa.Array, expected: list[int | str]) -> None:
    file = tmp_path / "links.ttl"
    file.write_text(_LINKS, "utf-8")
    cells = pa.array(["http://e/a"] * len(column))
    table = pa.table({"s": cells, "p": cells, "o": cells, "row_time": column})
    outcome, _ = taker.take(MappingOptions(file, "row_time"), table, {}.get)
    times = [t for t, n in zip(outcome["times"], outcome["counts"], strict=True) for _ in range(n)]
    assert times == sorted(e for e in expected if isinstance(e, int))
    reasons = [[None, n, e] for n, e in enumerate(expected) if isinstance(e, str)]
    assert outcome["rejected"] == [len(reasons), reasons]
