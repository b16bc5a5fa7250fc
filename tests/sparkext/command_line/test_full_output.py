"""A file of answers that cannot be written: the next run over the checkpoint answers what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.cli import main
from tests.sparkext.listening import E, S
from tests.sparkext.sinks.small_disks import enlarge, small_disk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = f"""PREFIX : <{E}>
REGISTER RSTREAM :all AS SELECT ?s ?v
FROM NAMED WINDOW :w ON <{S}> [RANGE 1S] WHERE {{ WINDOW :w {{ ?s :value ?v }} }}
"""
DATED = "<http://www.w3.org/ns/prov#generatedAtTime>"
TYPE = "<http://www.w3.org/2001/XMLSchema#dateTime>"
COUNT = 50


def test_what_a_full_disk_did_not_take_is_answered_again(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query, recording = tmp_path / "q.rspql", tmp_path / "s.nq"
    query.write_text(QUERY)
    recording.write_text(
        "".join(
            f'<{E}s> <{E}value> "{n}" <{E}g{n}> .\n'
            f'<{E}g{n}> {DATED} "1970-01-01T00:00:{n:02d}Z"^^{TYPE} .\n'
            for n in range(1, COUNT + 1)
        )
    )
    with small_disk(tmp_path / "disk", "4k") as disk:
        out = disk / "answers.jsonl"
        arguments = ["run", str(query), "--stream", f"{S}={recording}", "--out", str(out)]
        arguments += ["--checkpoint", str(tmp_path / "checkpoint")]
        assert main(arguments) == 1
        assert "No space left on device" in capsys.readouterr().err.splitlines()[-1]
        assert len(out.read_bytes()) == 4096
        enlarge(disk)
        assert main(arguments) == 0
        lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [int(line["time"][17:19]) for line in lines] == list(range(1, COUNT + 1))
