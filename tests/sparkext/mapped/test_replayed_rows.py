"""Files of rows are read while they are replayed, no further than a look-ahead reaches; they answer like tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, seed
from hypothesis import settings as examples
from hypothesis import strategies as st

from sparkext.cli import main
from sparkext.errors import StreamElementError
from sparkext.recorded_streams.recording_files import recording_files
from sparkext.runtime.streams.replay import Replay, ReplayOptions
from sparkext.runtime.streams.replayed_rows import RowsFile
from static_data.errors import MappingError
from static_data.files.on_error import OnError
from static_data.files.reading import Reading
from tests.sparkext.listening import E, S, T, listen, query, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

MAPPING = """\
prefixes: {ex: "http://e/"}
mappings:
  reading:
    sources:
      - [r.csv~csv]
    s: $(x)
    po:
      - [ex:p, $(y)]
"""
COUNTED = query("WINDOW :w { ?x :p ?y }", "[RANGE 1000 STEP 1000]", "(COUNT(*) AS ?n)")
BOTH = query(
    "{ WINDOW :w { ?x :p ?y } } UNION { WINDOW :v { ?x :q ?y } }", "[RANGE 10] and [RANGE 10]"
)


@pytest.fixture(scope="module")
def mapping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rows") / "m.yml"
    file.write_text(MAPPING, "utf-8")
    return file


def registered(spark: SparkSession, mapping: Path, on_error: str = "skip") -> Engine:
    from sparkext import Engine

    engine = Engine(spark)
    engine.register_stream(S, mapping=mapping, time="ms", on_error=on_error)
    engine.register_stream(T)
    return engine


@pytest.fixture
def narrow(spark: SparkSession, mapping: Path) -> Iterator[Engine]:
    """An engine that looks four elements ahead."""
    with (
        settings(spark, **{"replay.lookAhead": "4"}),
        closing(registered(spark, mapping)) as engine,
    ):
        yield engine


def rows(times: Sequence[int | None]) -> pa.Table:
    count = len(times)
    cells = {"x": [f"u:{n}" for n in range(count)], "y": [str(n) for n in range(count)]}
    return pa.table({**cells, "ms": pa.array(times, pa.int64())})


def written(table: pa.Table, file: Path) -> RowsFile:
    if file.suffix == ".parquet":
        pq.write_table(table, file, row_group_size=5000)
    elif file.suffix == ".csv":
        pacsv.write_csv(table, file)
    else:
        lines = (
            json.dumps({k: v for k, v in row.items() if v is not None}) for row in table.to_pylist()
        )
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return RowsFile(str(file), file)


def replay(engine: Engine, files: dict[str, Any], arrival_order: bool = False) -> Replay:
    replayed = Replay(engine, files, ReplayOptions(arrival_order=arrival_order))
    with closing(replayed.steps()) as steps:
        for _ in steps:
            pass
    return replayed


def texts(heard: Sequence[Answers]) -> list[tuple[int, list[tuple[Any, ...]]]]:
    return [(a.time, sorted(tuple(map(str, row)) for row in a.rows())) for a in heard]


def test_no_more_is_read_than_the_replay_needs(narrow: Engine, tmp_path: Path) -> None:
    count = 250_000
    heard = listen(narrow, COUNTED)
    file = written(rows([1 + n // 10 for n in range(count)]), tmp_path / "r.parquet")
    replayed = Replay(narrow, {S: [file]})
    stream = narrow.stream(S)
    furthest = 0
    with closing(replayed.steps()) as steps:
        for _ in steps:
            furthest = max(furthest, replayed.feeds[0].rows_read - stream.accepted_count)
    assert stream.accepted_count == replayed.feeds[0].rows_read == count
    assert 0 < furthest < 100_000
    assert (
        sum(int(str(row[0]).split('"')[1]) for answers in heard for row in answers.rows()) == count
    )


def test_what_comes_later_than_the_look_ahead_reaches_is_late(
    narrow: Engine, tmp_path: Path
) -> None:
    heard = listen(narrow, query("WINDOW :w { ?x :p ?y }", "[NOW]"))
    times = [5, 3, 4, 9, 8, 7, 6, *range(10, 10_000), 2, 10_000]
    replay(narrow, {S: [written(rows(times), tmp_path / "r.csv")]})
    stream = narrow.stream(S)
    assert (stream.accepted_count, stream.late_count) == (len(times) - 1, 1)
    assert [a.time for a in heard] == sorted(set(times) - {2})


def test_rows_that_cannot_be_used(spark: SparkSession, mapping: Path, tmp_path: Path) -> None:
    table = rows([3, None, 1, 2])
    table = table.set_column(0, "x", pa.array(["u:a", "u:b", "no", "u:d"]))
    file = written(table, tmp_path / "r.jsonl")
    with file.path.open("a") as out:
        out.write('{"x": "u:e", "y": {}, "ms": 4}\n{"x": "u:f", "y": "5", "ms": "\\udead"}\n')
    with closing(registered(spark, mapping)) as engine:
        replay(engine, {S: [file]})
        stream = engine.stream(S)
        assert stream.accepted_count == 2
        assert sorted(stream.set_aside) == [
            "row 1: no time",
            "row 2: 'no' is a relative IRI, and there is no base (base_iri=)",
            "row 4: a JSON object has no lexical form: y",
            "row 5: str '\\udead' holds a lone surrogate: ms",
        ]
    with (
        closing(registered(spark, mapping, "fail")) as engine,
        pytest.raises(StreamElementError, match=r"row [12]: "),
    ):
        replay(engine, {S: [file]})


def test_a_file_that_ends_badly(narrow: Engine, tmp_path: Path) -> None:
    file = written(rows(range(20_000)), tmp_path / "r.jsonl")
    with file.path.open("a") as out:
        out.write('{"x"\n')
    strict = Replay(narrow, {S: [file]}, ReplayOptions(on_error=OnError.FAIL))
    with pytest.raises(MappingError, match=r"r\.jsonl, line 20001.*no JSON"):
        list(strict.steps())


def test_a_replay_that_is_given_up(narrow: Engine, tmp_path: Path) -> None:
    file = written(rows(range(100_000)), tmp_path / "r.parquet")
    replayed = Replay(narrow, {S: [file]})
    steps = replayed.steps()
    next(steps)
    steps.close()
    assert replayed.feeds[0].rows_read < 100_000


_TIMES = st.lists(st.integers(0, 30), min_size=1, max_size=25)


@seed(1)
@examples(derandomize=True, max_examples=12, deadline=None)
@given(files=st.lists(_TIMES, min_size=1, max_size=3), moves=_TIMES, arrival_order=st.booleans())
def test_answers_like_whole_tables(
    spark: SparkSession,
    mapping: Path,
    tmp_path_factory: pytest.TempPathFactory,
    files: list[list[int]],
    moves: list[int],
    arrival_order: bool,
) -> None:
    """Rows of several files and a recording beside them, merged by time."""
    folder = tmp_path_factory.mktemp("any")
    endings = (".csv", ".jsonl", ".parquet")
    tables = [rows(times) for times in files]
    named = [written(t, folder / f"r{n}{endings[n]}") for n, t in enumerate(tables)]
    prov = "http://www.w3.org/ns/prov#generatedAtTime"
    recording = folder / "t.nq"
    lines = [
        f'<u:g{n}> <{prov}> "{time}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        f"<u:{n}> <{E}q> <u:m> <u:g{n}> .\n"
        for n, time in enumerate(moves)
    ]
    recording.write_text("".join(lines), "utf-8")
    with (
        settings(spark, allowedLateness="100ms"),
        closing(registered(spark, mapping)) as engine,
    ):
        heard = listen(engine, BOTH)
        ready = recording_files([recording], folder, Reading())
        replay(engine, {S: named, T: ready}, arrival_order)
        assert engine.stream(S).accepted_count == sum(map(len, files))
        found = texts(heard)
    with (
        settings(spark, allowedLateness="100ms"),
        closing(registered(spark, mapping)) as engine,
    ):
        heard = listen(engine, BOTH)
        placed = sorted(
            (time, n, row) for n, times in enumerate(files) for row, time in enumerate(times)
        )
        parts = sorted({*(time for time, _, _ in placed), *moves})
        for time in parts:
            for at, n, row in placed:
                if at == time:
                    engine.stream(S).push_table(tables[n].slice(row, 1))
            for n, at in enumerate(moves):
                if at == time:
                    engine.stream(T).push(f"<u:{n}> <{E}q> <u:m> .", time)
        engine.finish()
        expected = texts(heard)
    if arrival_order:  # late ones are answered again
        assert dict(found) == dict(expected)
    else:
        assert found == expected


def test_the_command_finds_a_missing_column_without_spark(
    mapping: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.rspql").write_text(COUNTED, "utf-8")
    file = written(rows([1, 2]).drop_columns(["y"]), tmp_path / "r.csv")
    arguments = ["run", str(tmp_path / "q.rspql"), "--stream", f"{S}={file.name}"]
    arguments += ["--mapping", str(mapping), "--time-column", "ms"]
    assert main(arguments) != 0
    assert "the rows have no column y; they have x, ms" in capsys.readouterr().err
