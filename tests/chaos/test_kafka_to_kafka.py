"""From Kafka to Kafka with `kill -9` between: each instant's answers are in the topic once, and right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.kafka_to_kafka import documents
from tests.chaos.killed import run_killed
from tests.chaos.program import SIGHTINGS, element
from tests.sparkext.sources.kafka_broker import KafkaBroker

PROGRAM = "tests.chaos.kafka_to_kafka"
ELEMENTS = 700


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    pytest.importorskip("confluent_kafka")
    made = KafkaBroker(tmp_path_factory.mktemp("broker"))
    made.start()
    yield made
    made.stop()


def told(broker: KafkaBroker, topic: str) -> dict[str, Any]:
    """What consumers read: the answers by the key of their message, which is the query and the instant."""
    found: dict[str, Any] = {}
    for message in broker.messages(topic):
        key = message.key().decode()
        assert key not in found, f"{key} twice"
        answers = json.loads(message.value())
        rows = answers["results"]["bindings"]
        found[key] = sorted(json.dumps(row, sort_keys=True) for row in rows)
    return found


def run(broker: KafkaBroker, folder: Path, read: str, kills: int, seed: int) -> dict[str, Any]:
    written = broker.topic(1)
    sightings = sum(element(number)[0] == SIGHTINGS for number in range(ELEMENTS))
    arguments = (broker.servers, read, written, str(sightings))
    assert run_killed(PROGRAM, folder, kills, seed, *arguments) >= min(kills, 1)
    return told(broker, written)


@pytest.fixture(scope="module")
def read(broker: KafkaBroker) -> str:
    topic = broker.topic(1)
    broker.send(topic, *documents(ELEMENTS))
    return topic


@pytest.fixture(scope="module")
def unbroken(
    broker: KafkaBroker, read: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    found = run(broker, tmp_path_factory.mktemp("whole") / "run", read, 0, 0)
    assert len(found) > 500
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_ten_kills(
    broker: KafkaBroker, read: str, unbroken: dict[str, Any], tmp_path: Path, seed: int
) -> None:
    assert run(broker, tmp_path / "killed", read, 10, seed) == unbroken
