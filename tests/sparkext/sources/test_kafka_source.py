"""Kafka as a source, with a real broker: what it brings, from where, how much at once, and through its restart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext import sources
from sparkext.errors import ArgumentError
from sparkext.sources.by_url import KafkaTopics, source_of
from tests.sparkext.listening import PROV_TIME, E, S, settings
from tests.sparkext.sources.messages import document, reading, until, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from tests.sparkext.sources.kafka_broker import KafkaBroker


@pytest.fixture
def patient(spark: SparkSession) -> Iterator[Engine]:
    """An engine that waits for elements of other partitions, which come in no order of time."""
    from sparkext import Engine

    with settings(spark, allowedLateness="PT1H"), closing(Engine(spark)) as made:
        yield made


def test_documents_of_quads_feed_a_stream(
    spark: SparkSession, engine: Engine, kafka: KafkaBroker, tmp_path: Path
) -> None:
    topic = kafka.topic()
    kafka.send(topic, document(1, 2), "rubbish", document(3))
    frame = sources.kafka(spark, kafka.servers, topic, starting="earliest")
    stream = engine.register_stream(S, source=frame, checkpoint=str(tmp_path / "c"))
    seen = values(engine)
    stream.sources[0].processAllAvailable()
    kafka.send(topic, document(4))
    stream.sources[0].processAllAvailable()
    assert stream.accepted_count == 4
    assert stream.malformed_count == 1
    assert seen() == [1, 2, 3, 4]


def test_the_broker_s_time_dates_turtle_and_flaws_name_their_place(
    spark: SparkSession, engine: Engine, kafka: KafkaBroker
) -> None:
    topic = kafka.topic(1)
    kafka.send(topic, "@prefix : <http://e/> . :r1 :value 1 . :r2 :value 2 .", at=5000)
    kafka.send(topic, None, "@prefix : <http://e/> . :r1 :value", at=6000)
    frame = sources.kafka(
        spark, kafka.servers, topic, format="turtle", time="broker", starting="earliest"
    )
    stream = engine.register_stream(S, source=frame)
    seen = values(engine)
    stream.sources[0].processAllAvailable()
    assert (stream.accepted_count, stream.newest_time) == (1, 5000)
    assert list(stream.set_aside) == [
        f"message {topic}/0@1: no payload",
        f"message {topic}/0@2: line 1: Unexpected end",
    ]
    assert seen() == [1, 2]


def test_a_command_names_a_property_of_times(
    spark: SparkSession, engine: Engine, kafka: KafkaBroker
) -> None:
    topic = kafka.topic(1)
    kafka.send(topic, document(1, 2).replace(PROV_TIME, f"{E}at"))
    options = {"format": "nquads", "starting": "earliest"}
    url = f"kafka://{kafka.servers}/{topic}"
    topics = source_of(url, options, None, time_properties=[f"{E}at"])
    assert isinstance(topics, KafkaTopics)
    stream = engine.register_stream(S, source=topics.frame(spark))
    seen = values(engine)
    stream.sources[0].processAllAvailable()
    assert seen() == [1, 2]


def test_rows_feed_a_stream_with_a_mapping(
    spark: SparkSession, engine: Engine, kafka: KafkaBroker, tmp_path: Path
) -> None:
    mapping = tmp_path / "readings.yml"
    mapping.write_text(
        "prefixes: {e: 'http://e/'}\nmappings:\n  r:\n    sources: [['r.json~jsonpath', '$']]\n"
        "    s: e:r$(id)\n    po: [[e:value, $(id), xsd:integer]]\n"
    )
    topic = kafka.topic(1)
    kafka.send(topic, '{"id": 1}', '{"id": 2, "more": true}', "no json", at=7000)
    frame = sources.kafka(
        spark, kafka.servers, topic, format="json", schema="id INT", starting="earliest"
    )
    stream = engine.register_stream(S, source=frame, mapping=mapping, time="timestamp")
    seen = values(engine)
    stream.sources[0].processAllAvailable()
    assert (stream.accepted_count, stream.malformed_count) == (2, 1)
    assert stream.newest_time == 7000
    assert seen() == [1, 2]


def test_batches_are_bounded_and_begin_where_they_are_told(
    spark: SparkSession, patient: Engine, kafka: KafkaBroker
) -> None:
    topic = kafka.topic(2)
    for number in range(1, 21):
        kafka.send(topic, document(number), partition=number % 2)
    starting = {topic: {0: 4, 1: -2}}  # of partition 0 without 2, 4, 6, 8
    frame = sources.kafka(spark, kafka.servers, topic, starting=starting, max_records=5)
    stream = patient.register_stream(S, source=frame)
    seen = values(patient)
    stream.sources[0].processAllAvailable()
    sizes = [batch["numInputRows"] for batch in stream.sources[0].recentProgress]
    assert max(sizes) <= 5
    assert sum(sizes) == 16
    assert seen() == [1, 3, 5, 7, 9, *range(10, 21)]


def test_latest_leaves_out_what_is_there(
    spark: SparkSession, engine: Engine, kafka: KafkaBroker
) -> None:
    topic = kafka.topic(1)
    kafka.send(topic, document(1))
    stream = engine.register_stream(S, source=sources.kafka(spark, kafka.servers, topic))
    seen = values(engine)
    stream.sources[0].processAllAvailable()
    kafka.send(topic, document(2))
    stream.sources[0].processAllAvailable()
    assert seen() == [2]


def test_nothing_is_lost_while_the_broker_is_away(
    spark: SparkSession, patient: Engine, kafka: KafkaBroker
) -> None:
    topic = kafka.topic(2)
    kafka.send(topic, *(document(n) for n in range(1, 11)))
    frame = sources.kafka(spark, kafka.servers, topic, starting="earliest")
    stream = patient.register_stream(S, source=frame)
    seen = values(patient)
    (query,) = stream.sources
    query.processAllAvailable()
    kafka.send(topic, *(document(n) for n in range(11, 21)))
    kafka.stop(kill=True)  # in the midst of what was sent
    kafka.start()
    kafka.send(topic, *(document(n) for n in range(21, 31)))
    query.processAllAvailable()
    assert query.isActive
    assert seen() == list(range(1, 31))


def test_a_restart_from_the_checkpoint_goes_on(
    spark: SparkSession, engine: Engine, kafka: KafkaBroker, tmp_path: Path
) -> None:
    topic = kafka.topic(1)
    stream = engine.register_stream(S)
    seen = values(engine)
    for first in (1, 3):
        kafka.send(topic, document(first), document(first + 1))
        frame = sources.kafka(spark, kafka.servers, topic, starting="earliest")
        query = stream.read(frame, str(tmp_path / "c"))
        query.processAllAvailable()
        query.stop()
    assert stream.accepted_count == 4
    assert seen() == [1, 2, 3, 4]


def test_a_second_session_reads_beside_the_first(spark: SparkSession, kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, document(1))
    for session in (spark, spark.newSession(), spark):
        frame = sources.kafka(session, kafka.servers, topic, starting="earliest")
        query = frame.writeStream.format("noop").trigger(availableNow=True).start()
        query.awaitTermination(60)
        assert sum(batch.numInputRows for batch in query.recentProgress) == 1


def test_a_topic_that_is_not_there_is_told(
    spark: SparkSession, engine: Engine, kafka: KafkaBroker
) -> None:
    from pyspark.errors import StreamingQueryException

    frame = sources.kafka(spark, kafka.servers, "not-there", connector="python")
    stream = engine.register_stream(S, source=frame)
    with pytest.raises(StreamingQueryException, match="not-there: no such topic"):
        stream.sources[0].processAllAvailable()


@pytest.mark.parametrize("factor", [10**3, 10**6])
def test_a_time_that_is_none_costs_its_message(
    spark: SparkSession, engine: Engine, kafka: KafkaBroker, tmp_path: Path, factor: int
) -> None:
    topic = kafka.topic(1)
    turtle = "@prefix : <http://e/> . :r%d :value %d ."
    now = 1_700_000_000_000
    kafka.send(topic, turtle % (1, 1), at=now)
    kafka.send(topic, turtle % (2, 2), at=now * factor)
    kafka.send(topic, turtle % (3, 3), at=now)
    frame = sources.kafka(
        spark,
        kafka.servers,
        topic,
        format="turtle",
        time="broker",
        starting="earliest",
        connector="python",
    )
    stream = engine.register_stream(S, source=frame)
    seen = values(engine)
    stream.sources[0].processAllAvailable()
    (reason,) = stream.set_aside
    assert ("carries no time" in reason) == (factor == 10**6)
    assert seen() == [1, 3]


@pytest.mark.parametrize("fails", [True, False])
def test_a_topic_that_is_made_anew_is_data_loss(
    spark: SparkSession, engine: Engine, kafka: KafkaBroker, fails: bool
) -> None:
    from pyspark.errors import StreamingQueryException

    topic = kafka.topic(1)
    kafka.send(topic, *(document(n) for n in (1, 2, 3, 4)))
    frame = sources.kafka(
        spark,
        kafka.servers,
        topic,
        starting="earliest",
        max_records=2,
        fail_on_data_loss=fails,
        connector="python",
    )
    stream = engine.register_stream(S, source=frame)
    seen = values(engine)
    (query,) = stream.sources
    query.processAllAvailable()
    kafka.make_anew(topic)
    kafka.send(topic, *(document(n) for n in (5, 6, 7)))
    if fails:
        with pytest.raises(StreamingQueryException, match="the topic was begun anew"):
            query.processAllAvailable()
        return
    until(lambda: stream.accepted_count == 7, "what the new topic has")
    assert seen() == [1, 2, 3, 4, 5, 6, 7]


def test_a_frame_is_written_to_a_topic(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path
) -> None:
    into, out = kafka.topic(1), kafka.topic(1)
    kafka.send(into, reading(1), reading(2))
    frame = sources.kafka(spark, kafka.servers, into, starting="earliest")
    kind = "kafka" if sources.kafka_connector(spark) == "spark" else "cqels-kafka"
    writing = (
        frame.selectExpr("key", "upper(cast(value AS STRING)) AS value")
        .writeStream.format(kind)
        .option("kafka.bootstrap.servers", kafka.servers)
        .option("topic", out)
        .option("checkpointLocation", str(tmp_path / "c"))
        .trigger(availableNow=True)
        .start()
    )
    writing.awaitTermination()
    assert [m.value().decode() for m in kafka.messages(out)] == [
        reading(1).upper(),
        reading(2).upper(),
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"topics": []}, "topics: must be"),
        ({"topics": "a b"}, "topics: 'a b' cannot"),
        ({"starting": "now"}, "starting: must be earliest"),
        ({"starting": {"t": {"0": 1}}}, r"starting\['t'\]: must be a whole number"),
        ({"max_records": 0}, "max_records: must be above 0"),
        ({"connector": "java"}, "connector: must be"),
        ({"format": "rdf"}, "format: must be one of auto"),
        ({"format": "turtle", "time": "never"}, "time: must be one of payload"),
        ({"format": "json"}, "schema: rows of json"),
        ({"format": "csv", "schema": "a NOTHING"}, "schema: 'a NOTHING'"),
    ],
)
def test_odd_arguments_are_refused(
    spark: SparkSession, given: dict[str, object], message: str
) -> None:
    pytest.importorskip("confluent_kafka")
    arguments = {"servers": "127.0.0.1:9", "topics": "t", **given}
    with pytest.raises(ArgumentError, match=message):
        sources.kafka(spark, **arguments)  # type: ignore[arg-type]
