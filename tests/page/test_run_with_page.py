"""`cqels run --page`: the page of a replay, there until somebody ends it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from sparkext.cli import main
from tests.conftest import ROOT
from tests.sparkext.serving.serving_world import QUERY, Client, E, S, name

_PROV = "http://www.w3.org/ns/prov#generatedAtTime"
_DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
ELEMENTS = "".join(
    f'<{E}g{n}> <{_PROV}> "1970-01-01T00:00:0{n}Z"^^<{_DATE_TIME}> .\n<{E}s> <{E}p> <{E}o{n}> <{E}g{n}> .\n'
    for n in range(1, 6)
)


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    (tmp_path / "q.rspql").write_text(QUERY)
    (tmp_path / "s.nq").write_text(ELEMENTS)
    return ["run", str(tmp_path / "q.rspql"), "--stream", f"{S}={tmp_path / 's.nq'}"]


def test_the_page_of_a_run_stays_with_all_answers_until_it_is_ended(
    arguments: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "answers.jsonl"
    more = ["--page", "0", "--out", str(out), "--master", "local[2]", "--driver-memory", "1g"]
    more += ["--set", "spark.cqels.classArchive=false"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("CQELS_TOKEN", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "sparkext.cli", *arguments, *more],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line.strip())
            if "stays until" in line:
                break
        url, _, token = (
            next(s for s in said if " page: " in s).rpartition(" ")[2].partition("/#token=")
        )
        ask = Client(url, unquote(token))
        (query,) = ask("GET", "/state").json["queries"]
        kept = [json.loads(line) for line in out.read_text().splitlines()]
        assert len(kept) == query["evaluations"] >= 5
        assert query["answers"] == sum(len(one["results"]["bindings"]) for one in kept)
        latest = ask("GET", f"/queries/{name(query['name'])}/answers/latest").json
        assert latest["results"] == kept[-1]["results"]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def test_a_port_that_is_taken_is_told_before_spark_starts(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main([*arguments, "--page", str(taken.getsockname()[1])]) == 1
    assert "cannot listen on 127.0.0.1" in capsys.readouterr().err


def test_what_is_no_port_is_wrong_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--page", "70000"]) == 2
    assert "'70000' is no port" in capsys.readouterr().err
