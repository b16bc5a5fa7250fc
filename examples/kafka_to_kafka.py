"""From Kafka to Kafka: readings come from one topic, alarms go to another, each instant exactly once.

A broker is needed, whose address is the argument; topics of their own are made in it.

    docker run -d -p 9092:9092 apache/kafka:3.9.1
    pip install 'spark-cqels[kafka]'
    python examples/kafka_to_kafka.py localhost:9092
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import uuid
from pathlib import Path

from pyspark.sql import SparkSession

import sparkext
from sparkext import sources
from sparkext.sinks import KafkaSink

HOME = "http://example.org/home#"
START = 1_780_300_800  # 2026-06-01, 8 o'clock, in seconds
HOW = """kafka_to_kafka: no broker was given, so there is nothing to show. Start one, and say where it is:

    docker run -d -p 9092:9092 apache/kafka:3.9.1
    pip install 'spark-cqels[kafka]'
    python examples/kafka_to_kafka.py localhost:9092"""

TOO_WARM = """
PREFIX : <http://example.org/home#>
REGISTER RSTREAM :tooWarm AS
SELECT ?name (MAX(?celsius) AS ?most)
FROM NAMED WINDOW :recent ON :readings [RANGE PT10S STEP PT10S]
WHERE {
  WINDOW :recent { ?sensor :celsius ?celsius }
  ?sensor :room ?room . ?room :name ?name ; :limit ?limit .
  FILTER(?celsius > ?limit)
} GROUP BY ?name ORDER BY ?name"""

ROOMS = {"s1": ("kitchen", 26), "s2": ("cellar", 15)}
# Second, sensor, degrees: the cellar gets warm in the second ten seconds, the kitchen in the third.
READINGS = [
    (1, "s1", 21.0), (4, "s2", 12.0), (9, "s1", 22.5),
    (12, "s2", 15.5), (15, "s1", 24.0), (18, "s2", 17.0),
    (22, "s1", 27.0), (25, "s2", 16.0), (28, "s1", 26.5),
    (31, "s1", 25.0),
]  # fmt: skip


def reading(second: int, sensor: str, celsius: float) -> str:
    """A message: an element in Turtle that says its own time."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + second))
    return (
        f"@prefix : <{HOME}> . @prefix prov: <http://www.w3.org/ns/prov#> .\n"
        f":{sensor} :celsius {celsius} .\n"
        f'[] prov:generatedAtTime "{moment}"^^<http://www.w3.org/2001/XMLSchema#dateTime> .'
    )


def main(spark: SparkSession, servers: str) -> None:
    """Send the readings, have them answered, and read what the topic of alarms has got."""
    from confluent_kafka.admin import AdminClient, NewTopic

    run = uuid.uuid4().hex[:6]
    incoming, outgoing = f"readings-{run}", f"alarms-{run}"
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(incoming, 1, 1), NewTopic(outgoing, 1, 1)]).values():
        made.result()
    send(servers, incoming)

    with tempfile.TemporaryDirectory() as folder:
        # With a checkpoint the program could be killed at any moment, and go on where it was when it is begun again.
        engine = sparkext.Engine(spark, checkpoint=Path(folder, "engine"))
        for sensor, (room, limit) in ROOMS.items():
            engine.insert([(HOME + sensor, HOME + "room", HOME + room)])
            engine.insert(
                [(HOME + room, HOME + "name", f'"{room}"'), (HOME + room, HOME + "limit", limit)]
            )
        stream = engine.register_stream(HOME + "readings")
        engine.register_query(TOO_WARM).subscribe(KafkaSink(servers, outgoing))
        messages = sources.kafka(spark, servers, incoming, format="turtle", starting="earliest")
        fed = stream.read(messages, checkpoint=str(Path(folder, "offsets")))
        fed.processAllAvailable()  # an endless program would wait for the end: fed.awaitTermination()
        fed.stop()
        engine.close()

    for message in received(servers, outgoing):
        answer = json.loads(message)
        for row in answer["results"]["bindings"]:
            print(
                f"{answer['time'][11:19]}  {row['name']['value']} is too warm: {float(row['most']['value'])}"
            )


def send(servers: str, topic: str) -> None:
    """Put the readings into a topic, a message each."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers})
    for second, sensor, celsius in READINGS:
        producer.produce(topic, reading(second, sensor, celsius))
    producer.flush(30)
    print(len(READINGS), "readings sent")


def received(servers: str, topic: str) -> list[bytes]:
    """All messages that a topic has; only those of finished transactions count."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {
        "bootstrap.servers": servers,
        "group.id": topic,
        "isolation.level": "read_committed",
    }
    consumer = Consumer({**settings, "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    while (message := consumer.poll(60)) is not None and message.error() is None:
        found.append(message.value())
    consumer.close()
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(HOW)
        sys.exit(0)
    quiet = {"spark.log.level": "ERROR", "spark.ui.enabled": "false"}
    builder = SparkSession.builder.master("local[2]").appName("kafka to kafka").config(map=quiet)
    main(sparkext.configure(builder).getOrCreate(), sys.argv[1])
