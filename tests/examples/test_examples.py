"""The programs of `examples` run, and print what they are there to show."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.sparkext.sources.kafka_broker import KafkaBroker, running_kafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# What each prints, as far as it does not depend on time.
LINES = {
    "conference": [
        r"static data: \d+ triples",
        r"10:00:\d\d  \w+ \w+ and \w+ \w+, who wrote a paper, meet in Room \d+",
        r"10:00:40  \d+ sightings in 25 rooms",
        r"10:00:40  Ada cites \w+ \w+ most of all who are here: \d papers",
        r"40 evaluations for meetings, \d+ answers",
    ],
    "city_traffic": [
        r"07:31  my way is free",
        r"07:3[234]  Silkeborgvej is slow: \d\d km/h of 60",
        r"07:34  park at Bruuns Galleri \(46 free\) or Scandinavian Center \(26 free\)",
        r"07:35  park at home",
        r"07:36  my way is free",
    ],
    "weather_stations": [
        r"16 triples of 4 stations",
        r"07:0\d  BLIZZARD at Alpine Ridge, Wyoming, 2410 m",
        r"07:30  windiest of the mild: (Cedar Flats|Delta Point), \d+\.\d mph",
        r"52 rows came, 0 were set aside",
    ],
    "tunnel_ventilation": [
        r"minute \d: taken as exact: sensor says 19\.\d% oxygen in sector [^4]",
        r"minute 4: cheap sensor says 1\d\.\d% oxygen in sector 4, too little with probability (0\.9|1\.0)\d\d",
        r"minute 4: good sensor says 17\.\d% oxygen in sector 4, too little with probability 1\.000",
    ],
    "patients": [
        r"second 30: not sure enough: 3 of bo, 3 of rut",
        r"second 40: rut is sitting with a heart rate of 10\d, limit 90",
        r"second 60: rut is sitting with a heart rate of 10\d, limit 90",
    ],
    "posts_and_followers": [
        r"12:07  nova follows ann since 12:07, who wrote post1 at 12:02",
        r"12:12  cem has posted 3 times",
        r"12:13  otto follows ann since 12:09, who wrote post1 at 12:02",
        r"12:15  otto follows cem since 12:15, who wrote post5 at 12:12",
    ],
    "unchanged_spark_job": [
        r"without the extension: milliseconds of each batch \[[\d, ]+\], table kept: False",
        r"   with the extension: milliseconds of each batch \[[\d, ]+\], table kept: True",
        r"kept: parquet sensors, 300000 rows, \d+ MiB, used \d+ times",
        r"answers: \d{4} rows, equal: True",
        r"a batch after the first: \d+ ms without, \d+ ms with the extension",
    ],
}

# What must not be told.
NEVER = {
    "tunnel_ventilation": r"(cheap|good) sensor says .* in sector [^4]",
    "patients": r"bo is|walking",
    "posts_and_followers": r"follows bob|pim|nova follows cem|too late",
    "weather_stations": r"BLIZZARD at (?!Alpine)",
}


def example(name: str) -> Any:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", LINES)
def test_what_it_prints(name: str, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    example(name).main(spark)
    lines = capsys.readouterr().out.splitlines()
    for wanted in LINES[name]:
        assert any(re.fullmatch(wanted, line) for line in lines), (wanted, lines)
    if name in NEVER:
        assert not [line for line in lines if re.search(NEVER[name], line)]
    assert len(lines) < 40


def test_there_are_no_others() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*LINES, "kafka_to_kafka"}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of its own, as users type it."""
    root = EXAMPLES.parent
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )


def test_one_as_a_command() -> None:
    done = run("examples/patients.py")
    assert done.returncode == 0, done.stderr
    for wanted in LINES["patients"]:
        assert any(re.fullmatch(wanted, line) for line in done.stdout.splitlines()), done.stdout


def test_kafka_without_a_broker_says_how_to_start_one() -> None:
    done = run("examples/kafka_to_kafka.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "docker run -d -p 9092:9092 apache/kafka" in done.stdout
    assert "python examples/kafka_to_kafka.py localhost:9092" in done.stdout


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[KafkaBroker]:
    yield from running_kafka(tmp_path)


def test_kafka_to_kafka(
    broker: KafkaBroker, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    example("kafka_to_kafka").main(spark, broker.servers)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "10 readings sent"
    assert lines[1:] == [
        "08:00:20  cellar is too warm: 17.0",
        "08:00:30  cellar is too warm: 16.0",
        "08:00:30  kitchen is too warm: 27.0",
    ]
