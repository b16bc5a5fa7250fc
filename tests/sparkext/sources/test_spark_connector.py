"""Kafka by Spark's own connector, on the versions of Spark that have one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.sources.kafka_broker import CannotBeHadError, maven_jars
from tests.sparkext.sources.messages import document
from tests.versions import CannotBeMadeError, environment

if TYPE_CHECKING:
    from tests.sparkext.sources.kafka_broker import KafkaBroker

ROOT = Path(__file__).resolve().parents[3]
# Spark brings these itself.
BROUGHT = ("hadoop-", "scala-", "slf4j-", "lz4-java", "snappy-java", "jsr305", "zstd-")


@pytest.mark.slow
@pytest.mark.parametrize(("version", "connector"), [("4.1", "4.1.1"), ("4.2", "4.2.0")])
def test_a_topic_feeds_a_stream(kafka: KafkaBroker, version: str, connector: str) -> None:
    try:
        python = environment(version)
        found = maven_jars("org.apache.spark", "spark-sql-kafka-0-10_2.13", connector)
    except (CannotBeMadeError, CannotBeHadError) as error:
        pytest.skip(f"Spark {version}: {error}")
    topic = kafka.topic(2)
    kafka.send(topic, *(document(n) for n in range(1, 11)), "rubbish")
    jars = ",".join(str(jar) for jar in found if not jar.name.startswith(BROUGHT))
    ran = subprocess.run(
        [python, "-m", "tests.sparkext.sources.on_spark_connector", kafka.servers, topic, jars],
        cwd=ROOT,
        env={**os.environ, "PYSPARK_PYTHON": str(python), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert ran.stdout.splitlines()[-1] == f"values {' '.join(map(str, range(1, 11)))}"
