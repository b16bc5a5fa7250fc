"""From a topic through an engine that is restarted into sinks: what is answered again is stored once."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext import Engine, sources
from sparkext.sinks import JsonLinesSink, KafkaSink, ParquetSink
from tests.sparkext.listening import S, query
from tests.sparkext.sources.messages import document

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.answering.answers import Answers
    from tests.sparkext.sources.kafka_broker import KafkaBroker

TEXT = query("WINDOW :w { ?x :value ?v }", "[RANGE 60000]")


def test_instants_that_are_answered_again_are_stored_once(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path
) -> None:
    pytest.importorskip("confluent_kafka")
    into, out = kafka.topic(1), kafka.topic(1)
    kept, saved = tmp_path / "kept", tmp_path / "saved"
    answered: list[tuple[int, int]] = []

    def run() -> None:
        """As much as there is, by an engine and sinks that are made anew."""

        def note(answers: Answers) -> None:
            answered.append((answers.time, answers.sequence))

        with (
            closing(Engine(spark, checkpoint=str(kept / "engine"))) as engine,
            JsonLinesSink(tmp_path / "a.jsonl", append=True) as lines,
            KafkaSink(kafka.servers, out) as messages,
        ):
            stream = engine.register_stream(S)
            registered = engine.register_query(TEXT)
            for sink in (note, lines, messages, ParquetSink(tmp_path / "parquet")):
                registered.subscribe(sink)
            frame = sources.kafka(spark, kafka.servers, into, starting="earliest")
            reading = stream.read(frame, str(kept / "source"))
            reading.processAllAvailable()
            reading.stop()

    kafka.send(into, *(document(n) for n in (1, 2, 3)))
    run()
    shutil.copytree(kept, saved)
    kafka.send(into, *(document(n) for n in (4, 5, 6)))
    run()
    # As if the process had died before anything of the second run was kept.
    shutil.rmtree(kept)
    saved.rename(kept)
    kafka.send(into, document(7))
    run()
    first, again = [(1000, 1), (2000, 2)], [(3000, 3), (4000, 4), (5000, 5)]
    assert answered == [*first, *again, *again, (6000, 6)]
    instants = [f":0{n}.000Z" for n in range(1, 7)]
    stored = [json.loads(line)["time"] for line in (tmp_path / "a.jsonl").open()]
    assert [time[-8:] for time in stored] == instants
    sent = [json.loads(message.value()) for message in kafka.messages(out)]
    assert [(told["time"][-8:], told["sequence"]) for told in sent] == [
        (time, number) for number, time in enumerate(instants, 1)
    ]
    assert len(list((tmp_path / "parquet").glob("*.parquet"))) == 6
