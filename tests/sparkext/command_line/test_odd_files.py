"""Files that are none, and output that nobody takes: one message, before anything is begun where that can be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparkext.cli import main
from tests.sparkext.listening import E, S

QUERY = f"PREFIX : <{E}> SELECT * WHERE {{ ?s :p ?o }}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "q.rq").write_text(QUERY)
    data = tmp_path / "d.nt"
    data.write_text("".join(f"<{E}s> <{E}p> <{E}o{n}> .\n" for n in range(10)))
    return data


def test_a_list_of_what_is_skipped_that_cannot_be_written_is_told_first(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All is sound here: nobody would find out."""
    nowhere = str(data.parent / "nowhere" / "skipped.jsonl")
    query = data.parent / "q.rspql"
    query.write_text(
        f"PREFIX : <{E}> REGISTER RSTREAM :q AS SELECT * FROM NAMED WINDOW :w ON <{S}> [NOW]"
        " WHERE { WINDOW :w { ?s :p ?o } }"
    )
    ordinary = ["sparql", str(data.parent / "q.rq"), "--data", str(data)]
    continuous = ["run", str(query), "--stream", f"{S}={data}"]
    for command in (ordinary, continuous):
        assert main([*command, "--skipped", nowhere]) == 1
        error = capsys.readouterr().err
        assert error == f"cqels: {nowhere}: no such folder: {data.parent / 'nowhere'}\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_told_from_a_file_that_is_not_there(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = data.parent / "pipe.nt"
    os.mkfifo(pipe)
    assert main(["sparql", str(data.parent / "q.rq"), "--data", str(pipe)]) == 1
    assert "is a pipe or a device: write it to a file first" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_standard_output_is_told_once(data: Path) -> None:
    """At exit Python would try again what is left, and end with a status of its own."""
    command = [sys.executable, "-m", "sparkext.cli", "sparql", str(data.parent / "q.rq")]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*command, "--data", str(data)], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr.count("No space left on device") == 1
