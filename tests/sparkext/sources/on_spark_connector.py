"""A topic through Spark's own connector into a stream, run by another PySpark's Python with SERVERS TOPIC JARS."""

from __future__ import annotations

import sys
from contextlib import closing

from pyspark.sql import SparkSession

import sparkext
from sparkext import sources
from tests.sparkext.listening import S
from tests.sparkext.sources.messages import values


def main(servers: str, topic: str, jars: str) -> None:
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.cqels.classArchive", "false")
        .config("spark.cqels.allowedLateness", "PT1H")
    )
    spark = sparkext.configure(builder).getOrCreate()
    assert sources.kafka_connector(spark) == "spark"
    with closing(sparkext.Engine(spark)) as engine:
        stream = engine.register_stream(S)
        seen = values(engine)
        for format, time in ((None, "payload"), ("auto", "broker")):
            frame = sources.kafka(
                spark, servers, topic, format=format, time=time, starting="earliest", max_records=4
            )
            query = stream.read(frame)
            query.processAllAvailable()
            query.stop()
        # It rounds up what each partition brings.
        assert max(batch["numInputRows"] for batch in query.recentProgress) <= 5
        assert stream.malformed_count == 2
        assert list(stream.set_aside)[-1].startswith(f"message {topic}/")
        sys.stdout.write(f"values {' '.join(map(str, seen()))}\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
