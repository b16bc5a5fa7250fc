"""A real Kafka broker for tests: one node in KRaft mode, in a Java process of its own on a free port of loopback."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyspark
import pytest

_VERSION = "3.9.1"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "spark-cqels" / "tests"
_SECONDS = 120.0
_GIVEN: set[int] = set()


class CannotBeHadError(Exception):
    """Something that a test needs cannot be fetched."""


def maven_jars(organisation: str, name: str, version: str, most: int = 300) -> list[Path]:
    """The jars of a library and of what it needs, by the Ivy that PySpark brings, kept in a cache folder.

    Raises CannotBeHadError.
    """
    folder = _CACHE / f"{name}-{version}"
    _CACHE.mkdir(parents=True, exist_ok=True)
    # One process of the tests fetches, the others wait.
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            _fetch(folder, organisation, name, version, most)
    return sorted(folder.glob("*.jar"))


def _fetch(folder: Path, organisation: str, name: str, version: str, most: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    jars = Path(pyspark.__file__).parent / "jars"
    command = ["java", "-cp", f"{jars}/*", "org.apache.ivy.Main", "-warn"]
    command += ["-dependency", organisation, name, version, "-confs", "default,runtime"]
    command += ["-cache", str(_CACHE / "ivy")]
    command += ["-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=most, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotBeHadError(f"{name} {version}: {error}") from None
    if not list(folder.glob(f"{name}-{version}.jar")):
        told = [line.strip() for line in ran.stdout.splitlines() if "not found" in line]
        reason = told[0] if told else "no repository answered"
        raise CannotBeHadError(f"{name} {version} from Maven Central: {reason}")
    (folder / "whole").touch()


def free_port() -> int:
    """A port of loopback that nobody uses now, nor will by chance while a broker that had it is away."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 8
    while True:
        # Below those that systems give to outgoing connections, and of none of the other processes of these tests.
        port = 20_000 + 8 * random.randrange(1_500) + worker
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in _GIVEN:
                _GIVEN.add(port)
                return port


class KafkaBroker:
    """A broker that can be stopped, or killed, and started again with what it holds."""

    def __init__(self, folder: Path, chain: Path | None = None) -> None:
        """`chain`, a file of key and certificates in PEM, is that of an encrypted listener."""
        try:
            self._jars = maven_jars("org.apache.kafka", "kafka_2.13", _VERSION)
        except CannotBeHadError as error:
            pytest.skip(f"no Kafka broker: {error}")
        self._folder = folder
        self.port, controller = free_port(), free_port()
        self.servers = f"127.0.0.1:{self.port}"
        encrypted = free_port()
        self.tls_servers = f"127.0.0.1:{encrypted}"
        listener = "" if chain is None else f",SSL://{self.tls_servers}"
        self._process: subprocess.Popen[bytes] | None = None
        self._settings = folder / "server.properties"
        self._settings.write_text(
            f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}{listener}
advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}{listener}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL
{"" if chain is None else "ssl.keystore.type=PEM"}
{"" if chain is None else f"ssl.keystore.location={chain}"}
log.dirs={folder}/log
num.partitions=2
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.flush.interval.messages=1
log.retention.ms=-1
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
controller.quorum.fetch.timeout.ms=1000
controller.quorum.election.timeout.ms=300
replica.socket.timeout.ms=2000
"""
        )
        name = "-"
        while name.startswith("-"):  # the tool takes that for an option
            name = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self._java("kafka.tools.StorageTool", "format", "-t", name, "-c").wait()

    def _java(self, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(map(str, self._jars))
        command = ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path]
        with (self._folder / "said.log").open("ab") as said:
            return subprocess.Popen(
                [*command, main, *arguments, str(self._settings)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        from confluent_kafka.admin import AdminClient

        self._process = self._java("kafka.Kafka")
        end = time.monotonic() + _SECONDS
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1):
                    pass
                AdminClient({"bootstrap.servers": self.servers}).list_topics(timeout=5)
                return
            except Exception as error:
                said = (self._folder / "said.log").read_text()[-2000:]
                if self._process.poll() is not None or time.monotonic() > end:
                    raise AssertionError(f"the broker does not answer: {error}\n{said}") from None
                time.sleep(0.1)

    def stop(self, kill: bool = False) -> None:
        """End its process, by SIGKILL if so asked for."""
        process, self._process = self._process, None
        if process is not None:
            process.kill() if kill else process.terminate()
            process.wait()

    def topic(self, partitions: int = 2) -> str:
        """A new topic."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient, NewTopic

        name = f"t-{uuid.uuid4().hex[:12]}"
        admin = AdminClient({"bootstrap.servers": self.servers})
        end = time.monotonic() + _SECONDS
        while True:
            try:
                admin.create_topics([NewTopic(name, partitions, 1)])[name].result()
                return name
            except KafkaException as error:
                # A broker that got no time for a second and a half is none for its controller, till it tells of itself.
                if time.monotonic() > end or "REPLICATION_FACTOR" not in str(error):
                    raise
                time.sleep(0.2)

    def make_anew(self, topic: str) -> None:
        """Delete a topic of one partition, and make it again."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.servers})
        admin.delete_topics([topic])[topic].result()
        end = time.monotonic() + _SECONDS
        while True:
            try:
                admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
                return
            except KafkaException as error:  # it is not quite gone yet
                if time.monotonic() > end or "ALREADY_EXISTS" not in str(error):
                    raise
                time.sleep(0.2)

    def send(
        self, topic: str, *payloads: str | bytes | None, at: int = 0, partition: int = -1
    ) -> None:
        """Have messages stored, `at` milliseconds since the epoch, 0 being now."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers})
        for payload in payloads:
            given: dict[str, Any] = {} if partition < 0 else {"partition": partition}
            producer.produce(topic, payload, timestamp=at, **given)
        assert producer.flush(30) == 0

    def messages(self, topic: str, committed: bool = True) -> list[Any]:
        """All that a topic holds, by partition and offset."""
        from confluent_kafka import Consumer, KafkaError, TopicPartition

        level = "read_committed" if committed else "read_uncommitted"
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": uuid.uuid4().hex,
                "enable.partition.eof": True,
                "isolation.level": level,
            }
        )
        try:
            partitions = list(consumer.list_topics(topic, 60).topics[topic].partitions)
            consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
            found, ended = [], 0
            while ended < len(partitions):
                message = consumer.poll(60)
                assert message is not None, "the broker says nothing"
                if message.error() is None:
                    found.append(message)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended += 1
            return sorted(found, key=lambda m: (m.partition(), m.offset()))
        finally:
            consumer.close()


def running_kafka(folder: Path, chain: Path | None = None) -> Iterator[KafkaBroker]:
    """A broker that runs; for a fixture."""
    pytest.importorskip("confluent_kafka", reason="the extra kafka is not installed")
    broker = KafkaBroker(folder, chain)
    broker.start()
    yield broker
    broker.stop()
