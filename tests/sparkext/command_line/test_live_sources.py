"""`cqels run` over live sources, with real brokers and servers: answers as they come, positions kept, clear ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.cli import main
from sparkext.command_line.arguments import parse_arguments
from sparkext.command_line.inputs import grouped
from sparkext.command_line.live import LiveInput, live_inputs
from sparkext.sources import MqttSource
from tests.sparkext.listening import PROV_TIME, E, S
from tests.sparkext.sources.messages import document, reading, until
from tests.sparkext.sources.servers import LineServer, MqttBroker, event_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.sparkext.sources.kafka_broker import KafkaBroker

QUERY = f"""PREFIX : <{E}>
REGISTER RSTREAM :all AS SELECT ?s ?v
FROM NAMED WINDOW :w ON <{S}> [RANGE 1S] WHERE {{ WINDOW :w {{ ?s :value ?v }} }}
"""


@pytest.fixture
def query(tmp_path: Path) -> str:
    file = tmp_path / "q.rspql"
    file.write_text(QUERY)
    return str(file)


def seconds(file: Path) -> list[int]:
    """The instants of the answers, which are those of the readings."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [int(line["time"][17:19]) for line in lines]


def test_a_run_ends_when_its_streams_have_come_to_a_time(
    spark: SparkSession, tmp_path: Path, query: str
) -> None:
    server = LineServer((document(1, 2) + "\n" + document(3, 4)).encode())
    out = tmp_path / "answers.jsonl"
    arguments = ["run", query, "--stream", f"{S}={server.url}", "--out", str(out)]
    arguments += ["--source-option", f"{S}=ends=blank line", "--until", "1970-01-01T00:00:03Z"]
    assert main(arguments) == 0
    assert seconds(out) == [1, 2, 3]
    server.close()


def test_another_property_dates_what_comes(spark: SparkSession, tmp_path: Path, query: str) -> None:
    server = LineServer(document(1, 2, 3, 4).replace(PROV_TIME, f"{E}at").encode())
    out = tmp_path / "answers.jsonl"
    arguments = ["run", query, "--stream", f"{S}={server.url}", "--out", str(out)]
    arguments += ["--source-option", "ends=blank line", "--time-property", f"{E}at"]
    assert main([*arguments, "--until", "3000", "--for", "PT2M"]) == 0
    assert seconds(out) == [1, 2, 3]
    server.close()


def test_messages_of_rows_go_through_a_mapping(
    spark: SparkSession, tmp_path: Path, query: str
) -> None:
    mapping, out = tmp_path / "m.yml", tmp_path / "answers.jsonl"
    mapping.write_text(
        f'prefixes: {{ex: "{E}"}}\nmappings:\n  reading:\n    sources: [[readings.csv~csv]]\n'
        "    s: ex:$(sensor)\n    po: [[ex:value, $(value)]]\n"
    )
    server = LineServer(b"a,1,1000\nb,2,2000\nc,3,3000\nd,4,4000\n")
    arguments = ["run", query, "--stream", f"{S}={server.url}", "--out", str(out)]
    arguments += ["--mapping", str(mapping), "--time-column", "ms", "--until", "3000"]
    for option in ("format=csv", "columns=sensor,value,ms"):
        arguments += ["--source-option", option]
    assert main(arguments) == 0
    assert seconds(out) == [1, 2, 3]
    assert '"value": "2"' in out.read_text()
    server.close()


def test_events_go_on_after_the_last_that_is_kept(
    spark: SparkSession, tmp_path: Path, query: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "answers.jsonl"
    events = [(f"e{n}", reading(n)) for n in range(1, 5)]
    kept = ["--out", str(out), "--checkpoint", str(tmp_path / "checkpoint")]
    with event_server(events, 2) as (url, asked):
        arguments = ["run", query, "--stream", f"{S}=sse+{url}", *kept]
        assert main([*arguments, "--until", "1000"]) == 0
        assert seconds(out)[:1] == [1]
        first = len(asked)
        assert main(arguments) == 0  # a status of 204 says that there is no more
        assert seconds(out) == [1, 2, 3]
        assert asked[first] in ("e2", "e3", "e4") and "" not in asked[first:]
        assert main(["run", query, "--stream", f"{S}=sse+{url}/forbidden"]) == 1
    assert "/forbidden: http://127.0.0.1" in capsys.readouterr().err


def test_mqtt_keeps_what_comes_meanwhile(spark: SparkSession, tmp_path: Path, query: str) -> None:
    pytest.importorskip("paho.mqtt", reason="the extra mqtt is not installed")
    broker = MqttBroker(tmp_path)
    broker.start()
    try:
        out = tmp_path / "answers.jsonl"
        arguments = ["run", query, "--stream", f"{S}={broker.url}/readings/#", "--out", str(out)]
        arguments += ["--checkpoint", str(tmp_path / "checkpoint")]
        arguments += ["--for", "PT2M"]

        def session() -> bool:
            assert main([*arguments, "--for", "PT0.5S"]) == 0
            return "Sending SUBACK to cqels-" in broker.log.read_text()

        until(session, "a session", 120)
        broker.publish("readings/a", reading(1), reading(2))
        assert main([*arguments, "--until", "1000"]) == 0
        broker.publish("readings/b", reading(3))
        assert main([*arguments, "--until", "2000"]) == 0
        assert seconds(out) == [1, 2]
    finally:
        broker.stop()


def _input_of(query: str, url: str, *more: str) -> LiveInput:
    arguments = parse_arguments(["run", query, "--stream", f"{S}={url}", *more])
    ((found,),) = live_inputs(arguments, grouped(arguments.stream)).values()
    return found


def test_a_session_belongs_to_its_checkpoint_or_to_one_run(
    tmp_path: Path, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("paho.mqtt", reason="the extra mqtt is not installed")
    monkeypatch.chdir(tmp_path)

    def session(*more: str) -> MqttSource:
        source = _input_of(query, "mqtt://broker/t", *more).source
        assert isinstance(source, MqttSource)
        return source

    first, second = session(), session()
    assert first.client_id != second.client_id
    assert first.expiry == 0, "a session that nobody takes up again"
    kept = session("--checkpoint", "kept")
    assert kept.expiry > 0
    for same in ("kept/", f"{tmp_path}/kept", f"file://{tmp_path}/kept/"):
        assert session("--checkpoint", same) == kept
    Path("kept-sources").rename("moved")  # as on another machine, which has none
    assert session("--checkpoint", "kept").client_id != kept.client_id


def test_a_slash_after_the_checkpoint_s_folder_leaves_no_offsets_behind(query: str) -> None:
    url = "kafka://broker:9092/t"
    places = {_input_of(query, url, "--checkpoint", kept).place for kept in ("kept", "kept/")}
    assert len(places) == 1 and "None" not in str(places)


def test_kafka_goes_on_where_it_was(tmp_path: Path, query: str, kafka: KafkaBroker) -> None:
    """In processes of their own, which are still evaluating when they are to end."""
    topic = kafka.topic(1)
    kafka.send(topic, document(1, 2))
    out = tmp_path / "answers.jsonl"
    command = [sys.executable, "-m", "sparkext.cli", "run", query, "--out", str(out)]
    command += ["--stream", f"{S}=kafka://{kafka.servers}/{topic}"]
    command += ["--source-option", "starting=earliest"]
    command += ["--checkpoint", str(tmp_path / "checkpoint")]
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}

    def run_until(time: str) -> None:
        whole = [*command, "--until", time]
        done = subprocess.run(whole, capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr

    run_until("1000")
    kafka.send(topic, document(3))
    run_until("2000")
    assert seconds(out) == [1, 2]


def test_an_interrupted_run_keeps_what_it_has(tmp_path: Path, query: str) -> None:
    """In a process of its own, as by Ctrl-C."""
    server = LineServer(document(1, 2, 3).encode() + b"\n")
    out = tmp_path / "answers.jsonl"
    command = [sys.executable, "-m", "sparkext.cli", "run", query, "--out", str(out)]
    command += ["--stream", f"{S}={server.url}", "--source-option", "ends=blank line"]
    command += ["--checkpoint", str(tmp_path / "checkpoint")]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )
    until(lambda: out.exists() and len(out.read_text().splitlines()) == 2, "two answers", 120)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert (process.returncode, said.decode().splitlines()[-1]) == (130, "cqels: interrupted")
    assert seconds(out) == [1, 2]
    assert not list((tmp_path / "checkpoint").glob("owner-*")), "it was not left"
    server.close()


@pytest.mark.parametrize(
    ("streams", "said"),
    [
        ([f"{S}=https://e/x"], "begins with none of kafka, .*sse\\+https"),
        ([f"{S}=kafka://broker"], f"--stream <{S}>=kafka://broker: url: must be"),
        ([f"{S}=mqtt://broker/t", "urn:t=none.trig"], "none.trig is a file, and others are live"),
        ([f"{S}=mqtt://broker/t", "--source-option", "qos=9"], "qos: must be 0 or 1, not 9"),
        (
            [f"{S}=mqtt://broker/t", "--source-option", "urn:t=qos=1"],
            "--source-option: no live source feeds <urn:t>",
        ),
        ([f"{S}=none.trig", "--for", "PT1S"], "--for and --until are for live sources"),
    ],
)
def test_what_is_wrong_is_said_before_spark_starts(
    query: str, streams: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", query]
    for one in streams:
        arguments += (
            [one] if one.startswith("--") or arguments[-1].startswith("--") else ["--stream", one]
        )
    assert main(arguments) == 1
    assert re.search(said, capsys.readouterr().err)
