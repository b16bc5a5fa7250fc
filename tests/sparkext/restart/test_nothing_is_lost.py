"""What goes wrong between an element's coming and its being kept loses nothing, and hangs nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JError

from sparkext import Engine
from sparkext.errors import (
    CheckpointError,
    ClosedEngineError,
    EvaluationError,
    StreamElementError,
    UnknownStreamError,
)
from sparkext.runtime.checkpoint import keeper, stream_state
from sparkext.runtime.checkpoint.change_log import ChangeLog, LoggedChange
from sparkext.runtime.streams.numbered_batches import Entry
from sparkext.sinks import RetryingSink
from tests.sparkext.listening import E, S, T, listen, query, settings, triple
from tests.sparkext.restart.broken_runs import leave

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkext.runtime.answering.answers import Answers

TEXT = query("WINDOW :w { ?x :at ?y }", "[RANGE 90]", "*", "ISTREAM")


@pytest.fixture
def seldom(spark: SparkSession) -> Iterator[None]:
    with settings(spark, **{"checkpoint.interval": "1h"}):
        yield


def one_batch(spark: SparkSession, *subjects: str) -> DataFrame:
    rows = [(f"{E}{one}", f"{E}at", f"<{E}r>", 1 + n) for n, one in enumerate(subjects)]
    return spark.createDataFrame(rows, "subject STRING, predicate STRING, object STRING, time LONG")


def taken(engine: Engine, number: int, batch: DataFrame) -> bool:
    stream = engine.stream(S)
    return stream.batch("source", number, lambda room: room.read_batch(batch, False, False))(
        Entry()
    )


def there(spark: SparkSession, left: Path) -> tuple[int, dict[str, int]]:
    """How many elements a process that goes on has, and how far sources were read."""
    with closing(Engine(spark, checkpoint=left)) as engine:
        stream = engine.register_stream(S)
        return stream.accepted_count, {str(k): n for k, n in stream.batches.last.items()}


@pytest.mark.usefixtures("seldom")
def test_a_batch_whose_evaluation_fails_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    with closing(Engine(spark, checkpoint=tmp_path / "lived")) as engine:
        engine.register_stream(S)

        def fails(value: object) -> str:
            raise ValueError("not this one")

        engine.register_function(f"{E}fails", fails)
        engine.register_query(query(f"WINDOW :w {{ ?x :at ?y }} BIND(<{E}fails>(?x) AS ?z)"))
        taken(engine, 0, one_batch(spark, "a"))
        with pytest.raises(EvaluationError):
            taken(engine, 1, one_batch(spark, "b", "c", "d"))
        leave(tmp_path / "lived", tmp_path / "left")
    assert there(spark, tmp_path / "left") == (4, {"source": 1})


@pytest.mark.usefixtures("seldom")
def test_commits_go_on_after_more_failed_than_may(spark: SparkSession, tmp_path: Path) -> None:
    failing = Event()

    class Sink:
        def __call__(self, answers: Answers) -> None:
            pass

        def flush(self) -> None:
            if failing.is_set():
                raise OSError("no space is left")

    failing.set()
    with closing(Engine(spark, checkpoint=tmp_path / "c")) as engine:
        stream = engine.register_stream(S)
        engine.register_query(TEXT).subscribe(Sink())
        for n in range(1, 66):
            stream.push(triple(f"x{n}", "at", "r"), n)
            with pytest.raises(CheckpointError, match="no space is left"):
                engine.commit()
        with pytest.raises(CheckpointError, match="nothing more is taken in"):
            stream.push(triple("x", "at", "r"), 90)
        failing.clear()
        engine.commit()
        stream.push(triple("x", "at", "r"), 90)
        assert stream.accepted_count == 66


def test_a_batch_is_not_done_where_the_engine_closes(spark: SparkSession, tmp_path: Path) -> None:
    engine = Engine(spark, checkpoint=tmp_path / "kept")
    stream = engine.register_stream(S)
    engine.close()
    with pytest.raises(ClosedEngineError):
        stream.wait_kept()


def test_a_gap_is_told_each_time(spark: SparkSession, tmp_path: Path) -> None:
    with closing(Engine(spark, checkpoint=tmp_path / "lived")) as engine:
        engine.register_stream(S)
        taken(engine, 0, one_batch(spark, "a"))
        leave(tmp_path / "lived", tmp_path / "left")
    with closing(Engine(spark, checkpoint=tmp_path / "left")) as engine:
        engine.register_stream(S)
        for _ in range(2):
            with pytest.raises(StreamElementError, match="batches 1 to 1 are done"):
                taken(engine, 2, one_batch(spark, "c"))
        assert taken(engine, 1, one_batch(spark, "b"))


def test_a_source_whose_first_messages_are_malformed_is_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Nothing has had what was there taken up yet."""
    with closing(Engine(spark, checkpoint=tmp_path / "lived")) as engine:
        engine.register_stream(S)
        listen(engine, TEXT)
        engine.push(S, triple("a", "at", "r"), time=1)
        engine.commit()
        leave(tmp_path / "lived", tmp_path / "left")
    with closing(Engine(spark, checkpoint=tmp_path / "left")) as engine:
        stream = engine.register_stream(S)
        stream.set_aside_messages(["no triple"])
        stream.wait_kept()
        assert engine.checkpoint_report.commits > 0
        assert list(engine.queries) == [f"{E}q"]


def test_a_query_that_cannot_be_registered_yet_is_not_forgotten(
    spark: SparkSession, tmp_path: Path
) -> None:
    with closing(Engine(spark, checkpoint=tmp_path / "lived")) as engine:
        engine.register_stream(S)
        heard = listen(engine, TEXT)
        engine.push(S, triple("a", "at", "r"), time=1)
        engine.advance_to(1)
        engine.commit()
        leave(tmp_path / "lived", tmp_path / "left")
    assert [a.sequence for a in heard] == [1]
    with closing(Engine(spark, checkpoint=tmp_path / "left")) as engine:
        with pytest.raises(UnknownStreamError):
            engine.register_query(TEXT)  # before its stream
        stream = engine.register_stream(S)
        heard = listen(engine, TEXT)
        stream.push(triple("b", "at", "r"), 2)
        engine.advance_to(2)
        assert [(a.sequence, len(a)) for a in heard] == [(2, 1)]


def test_a_query_that_was_forgotten_is_gone_after_the_next_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    with closing(Engine(spark, checkpoint=tmp_path / "lived")) as engine:
        engine.register_stream(S)
        engine.register_query(TEXT)
        engine.push(S, triple("a", "at", "r"), time=1)
    with closing(Engine(spark, checkpoint=tmp_path / "lived")) as engine:
        engine.register_stream(S)
        engine.forget_query(f"{E}q")
        engine.push(S, triple("b", "at", "r"), time=2)
    with closing(Engine(spark, checkpoint=tmp_path / "lived")) as engine:
        assert engine.restore() == []
        assert engine.register_stream(S).accepted_count == 2


def test_changes_with_odd_separators_of_lines_are_joined_whole() -> None:
    """Canonical N-Triples has line feeds and returns escaped, and no other character."""
    log = ChangeLog()
    texts = [f'<http://e/s{n}> <http://e/p> "a\u2028b\x0bc\x85{n}" .\n' for n in range(40)]
    for n, text in enumerate(texts):
        log.add(LoggedChange("insert", None, (text,), turn=n))
    (joined,) = log.described(1_000)
    assert joined["texts"][0].split("\n") == [*(text.strip("\n") for text in texts), ""]
    assert ChangeLog(json.loads(json.dumps([joined]))).made[0].texts == joined["texts"]


def test_who_was_taken_over_long_ago_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Two others have had the folder since, and the first of them has left it."""
    folder = tmp_path / "kept"
    first = Engine(spark, checkpoint=folder)
    first.register_stream(S).push(triple("a", "at", "r"), 1)
    second = Engine(spark, checkpoint=folder)
    second.register_stream(T)
    second.commit()
    second.close()
    third = Engine(spark, checkpoint=folder)
    with closing(third), pytest.raises(CheckpointError, match="has taken it over"):
        first.commit()
    with pytest.raises(CheckpointError, match="has taken it over"):
        first.close()


@pytest.mark.parametrize("retried", [False, True])
def test_a_sink_apart_lets_out_what_it_holds(
    spark: SparkSession, tmp_path: Path, retried: bool
) -> None:
    class Holding:
        def __init__(self) -> None:
            self.held: list[int] = []
            self.out: list[int] = []

        def __call__(self, answers: Answers) -> None:
            self.held.append(answers.time)

        def flush(self) -> None:
            self.out, self.held = [*self.out, *self.held], []

    sink = Holding()
    with closing(Engine(spark, checkpoint=tmp_path / "kept")) as engine:
        engine.register_stream(S)
        made = engine.register_query(TEXT)
        made.subscribe(RetryingSink(sink) if retried else sink, apart=True)
        engine.push(S, triple("a", "at", "r"), time=1)
        engine.advance_to(1)
        engine.commit()
        assert (sink.out, sink.held) == ([1], [])


def test_a_commit_that_is_interrupted_is_made_by_the_next(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = Event()

    def interrupt(*_: object) -> None:
        interrupted.set()
        raise KeyboardInterrupt

    with closing(Engine(spark, checkpoint=tmp_path / "lived")) as engine:
        stream = engine.register_stream(S)
        engine.register_query(TEXT)
        stream.push(triple("a", "at", "r"), 1)
        with monkeypatch.context() as patched:
            patched.setattr(stream_state, "state_of", interrupt)
            with pytest.raises(KeyboardInterrupt):
                engine.commit()
        assert interrupted.is_set()
        stream.push(triple("b", "at", "r"), 2)
        engine.commit()
        leave(tmp_path / "lived", tmp_path / "left")
    with closing(Engine(spark, checkpoint=tmp_path / "left")) as engine:
        stream = engine.register_stream(S)
        assert stream.accepted_count == 2
        assert stream.held()["quads"] == 2


class Full:
    """The JVM's part of an engine, with no memory for a segment."""

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jvm, name)

    def cutSegment(self) -> None:  # noqa: N802
        self.asked += 1
        raise Py4JError("Java heap space")


def test_a_commit_that_cannot_be_made_stops_nobody_and_is_made_by_the_next(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        settings(spark, **{"checkpoint.interval": "10ms"}),
        closing(Engine(spark, checkpoint=tmp_path / "lived")) as engine,
    ):
        stream = engine.register_stream(S)
        heard = listen(engine, TEXT)
        with monkeypatch.context() as patched:
            full = Full(engine.parts.room.jvm)
            patched.setattr(engine.parts.room, "jvm", full)
            for time in range(1, 101):
                stream.push(triple(f"x{time}", "at", "r"), time)
            until = monotonic() + 60
            while full.asked < 3 and monotonic() < until:
                sleep(0.01)  # that is the thread that makes commits in a silence
            assert full.asked >= 3
            assert "Java heap space" in str(engine.checkpoint_report.failure)
            with pytest.raises(CheckpointError, match="Java heap space"):
                engine.commit()
        assert len(heard) == 99
        engine.commit()
        leave(tmp_path / "lived", tmp_path / "left")
    assert there(spark, tmp_path / "left") == (100, {})


@pytest.mark.parametrize("failing", ["state_of", "oldest_needed"])
def test_silences_are_kept_after_one_in_which_that_failed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    failed = Event()

    def fail(*_: object) -> None:
        failed.set()
        raise Py4JError("the answer got lost")

    with settings(spark, **{"checkpoint.interval": "10ms"}):
        engine = Engine(spark, checkpoint=tmp_path / "kept")
    with closing(engine):
        stream = engine.register_stream(S)
        listen(engine, query("WINDOW :w { ?x :at ?y }", "[RANGE 1000 STEP 1000]"))
        with monkeypatch.context() as patched:
            patched.setattr(stream_state, failing, fail)
            stream.push(triple("a", "at", "r"), 1)
            assert failed.wait(60)
            until = monotonic() + 60
            while engine.checkpoint_report.failure is None and monotonic() < until:
                sleep(0.01)
            assert "the answer got lost" in str(engine.checkpoint_report.failure)
        while not engine.checkpoint_report.commits and monotonic() < until:
            sleep(0.01)
        assert engine.checkpoint_report.commits
        assert engine.checkpoint_report.failure is None


def test_an_engine_that_cannot_make_its_last_commit_leaves_the_one_before(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(spark, checkpoint=tmp_path / "kept")
    stream = engine.register_stream(S)
    listen(engine, TEXT)
    stream.push(triple("a", "at", "r"), 1)
    engine.commit()
    stream.push(triple("b", "at", "r"), 2)
    monkeypatch.setattr(engine.parts.room, "jvm", Full(engine.parts.room.jvm))
    with pytest.raises(CheckpointError, match="Java heap space"):
        engine.close()
    sleep(1.2)  # the interval: nothing is committed any more
    assert there(spark, tmp_path / "kept") == (1, {})


def test_many_elements_are_kept_before_it_is_time(
    spark: SparkSession, tmp_path: Path, seldom: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "_MOST_AT_ONCE", 10)
    with closing(Engine(spark, checkpoint=tmp_path / "kept")) as engine:
        stream = engine.register_stream(S)
        listen(engine, TEXT)
        for time in range(1, 10):
            stream.push(triple(f"x{time}", "at", "r"), time)
        assert engine.checkpoint_report.commits == 0
        for time in range(10, 31):
            stream.push(triple(f"x{time}", "at", "r"), time)
        until = monotonic() + 60
        while engine.checkpoint_report.commits < 3 and monotonic() < until:
            sleep(0.01)
        assert engine.checkpoint_report.commits == 3


def test_what_is_found_again_may_be_more_than_one_answer_may_be(
    spark: SparkSession, tmp_path: Path
) -> None:
    told: list[list[str]] = []
    with settings(spark, **{"limits.answerRows": "5"}):
        for times in (range(1, 21), range(21, 24)):
            with closing(Engine(spark, checkpoint=tmp_path / "kept")) as engine:
                engine.register_stream(S)
                heard = listen(
                    engine, query("WINDOW :w { ?x :p ?y }", "[RANGE 100]", "?x", "ISTREAM")
                )
                for time in times:
                    engine.push(S, triple(f"x{time}", "p", "y"), time=time)
            told += [[str(row[0]) for row in answers.rows()] for answers in heard]
    assert told == [[f"<{E}x{time}>"] for time in range(1, 23)]
