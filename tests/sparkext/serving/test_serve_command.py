"""`cqels serve` and `cqels status` as processes: from a file, by TLS, to the end by a signal."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkext.cli import main
from sparkext.command_line.served.status import lines_of
from sparkext.serving.beginnings import read_beginnings
from tests.conftest import ROOT
from tests.sparkext.serving.serving_world import (
    ELEMENTS,
    NT,
    QUERY,
    TOKEN,
    Client,
    E,
    S,
    name,
    triple,
)

Q = f"{E}q"
CONFIG = f"""
[serve]
port = 0
tls_cert = "cert.pem"
tls-key = "key.pem"
overload = "sample=0.5"
log_format = "json"
log_level = "info"

[settings]
"spark.cqels.allowedLateness" = "1s"
"spark.cqels.classArchive" = false

[[static]]
file = "people.nt"
graph = "{E}people"

[[streams]]
iri = "{S}"

[[queries]]
file = "q.rspql"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not there")
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1"
    made += " -keyout key.pem -out cert.pem -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(made.split(), cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "people.nt").write_text(f'<{E}ann> <{E}name> "Ann" .')
    (tmp_path / "q.rspql").write_text(QUERY)
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "serve.toml").write_text(CONFIG)
    return tmp_path


def lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stderr is not None
    for line in process.stderr:
        yield line.rstrip("\n")


def test_a_server_from_a_file_by_tls_to_its_end(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-m", "sparkext.cli", "serve", "--config", "serve.toml"]
    command += ["--token-file", "token", "--master", "local[2]", "--driver-memory", "1g"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        said = lines(process)
        heard = []
        for line in said:
            heard.append(line)
            if "listening at" in line:
                break
        url = heard[-1].rpartition(" ")[2]
        assert url.startswith("https://127.0.0.1:"), heard
        assert not any(TOKEN in line for line in heard)
        ask = Client(url, context=ssl.create_default_context(cafile=str(folder / "cert.pem")))
        assert ask("GET", "/queries").json["queries"][0]["name"] == Q
        assert ask("GET", "/static").json["graphs"][-1] == {"graph": f"{E}people", "triples": 1}
        plain = Client(url.replace("https", "http"))
        with pytest.raises(OSError):
            plain("GET", "/health/live")

        with ask.follow(Q) as events:
            for time in (1000, 3000):
                assert ask("POST", f"{ELEMENTS}?time={time}", triple("a", "b"), NT).status == 200
            assert next(event for event in events if event.kind).number == "1"

            asked = [
                "status",
                url,
                "--token-file",
                str(folder / "token"),
                "--ca",
                str(folder / "cert.pem"),
            ]
            assert main(asked) == 0
            shown = capsys.readouterr().out
            assert shown.startswith("ready, cqels ") and "policy sample, fraction 0.5" in shown
            assert f"{S}: 2 elements, 0 late, 0 malformed" in shown
            assert f"{Q}: 1 evaluations, 1 answers" in shown and "1 subscriber(s)" in shown
            assert main([*asked, "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["queries"][0]["name"] == Q
            (folder / "other").write_text("wrong-token-0123456789")
            assert main([*asked, "--token-file", str(folder / "other")]) == 1
            assert "the token is wrong" in capsys.readouterr().err
            assert main(asked[:-2]) == 1
            assert "certificate" in capsys.readouterr().err

            process.send_signal(signal.SIGTERM)
            end = next(event for event in events if event.kind)
            assert end.kind == "end" and "shutting down" in end.json["reason"]
        rest = list(said)
        assert process.wait(60) == 0
        assert rest[-1] == "cqels serve: ended"
        logged = [json.loads(line) for line in rest if line.startswith("{")]
        pushed = [one for one in logged if one["message"] == f"POST /streams/{name(S)}/elements"]
        assert [one["status"] for one in pushed] == [200, 200]
        assert all(TOKEN not in line for line in rest)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[serve]\nport = 'x'", "serve.toml: port: a whole number from 0 to 65535, not 'x'"),
        ("[serve]\nport = true", "serve.toml: port: a text or a number, not True"),
        ("[serve]\nposrt = 1", "serve.toml: posrt: there is no such option of `cqels serve`"),
        ("[serve]\noverload = 'sample=2'", "serve.toml: overload: delay, fail, or sample=FRACTION"),
        ("[serve]\ntls_cert = 'x'", "tls: --tls-cert and --tls-key go together"),
        ("[serve]\ntls_cert = 'x'\ntls_key = 'y'", "no certificate with its key: No such file"),
        ("[serve]\ndata_dir = 'nowhere'", "--data-dir: nowhere is no folder"),
        ("[serve]\nhost = '203.0.113.77'", "cannot listen on 203.0.113.77:8890"),
        ("[serve]\ntoken_file = 'nowhere'", "--token-file: nowhere: No such file"),
        ("[serve]\ntoken_file = 'short'", "a token has 16 to 512 letters"),
        ("[settings]\n'spark.cqels.nothing' = 1", "spark.cqels.nothing: there is no such key"),
        ("[settings]\n'spark.cqels.limits.answerRows' = -1", "spark.cqels.limits.answerRows: must"),
        ("[other]", "'other': there is no such member"),
        ("streams = 5", "streams: tables [[streams]], not 5"),
        ("[[streams]]\niri = 5", "iri: a text, not 5"),
        ("[[queries]]\nfile = 'nowhere.rspql'", "nowhere.rspql: No such file"),
        ("[[static]]\nfile = 'nowhere.nt'", "nowhere.nt: no such file"),
        ("[[queries]]\nname = 'x'", "query: a text, not missing"),
        ("nonsense", "serve.toml: no TOML: "),
    ],
)
def test_what_is_wrong_with_a_file_is_said_before_spark_starts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    written: str,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sparkext.command_line.served.serve.spark_session", None)
    (tmp_path / "serve.toml").write_text(written)
    (tmp_path / "short").write_text("short")
    assert main(["serve", "--config", "serve.toml"]) == 1
    assert said in capsys.readouterr().err


def test_paths_in_a_file_are_from_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a server that is started elsewhere would begin without what it had."""
    file = tmp_path / "serve.toml"
    file.write_text('checkpoint = "kept"\nopen_static = "saved"\nstatic = [{file = "a.ttl"}]\n')
    monkeypatch.chdir("/")
    begins = read_beginnings(file)
    found = [begins.checkpoint, begins.saved, begins.static[0].file]
    assert found == [str(tmp_path / name) for name in ("kept", "saved", "a.ttl")]
    file.write_text('checkpoint = "s3a://bucket/kept"\n')
    assert read_beginnings(file).checkpoint == "s3a://bucket/kept"


def test_wrong_arguments_end_with_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--port", "x"], ["--max-delay", "0"], ["--log-format", "xml"], ["q.rspql"]):
        assert main(["serve", *wrong]) == 2
    assert "a whole number from 0 to 65535" in capsys.readouterr().err


def test_a_port_that_is_taken_and_a_missing_library_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sparkext.command_line.served.serve.spark_session", None)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["serve", "--port", port]) == 1
    said = capsys.readouterr().err
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in said
    monkeypatch.setattr(
        "sparkext.command_line.served.serve._NEEDED", ("starlette", "no_such_library")
    )
    assert main(["serve"]) == 1
    assert "needs no_such_library: pip install 'spark-cqels[serve]'" in capsys.readouterr().err


def test_a_token_is_made_and_shown_only_where_none_is_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sparkext.command_line.served.serve.spark_session", None)
    arguments = ["serve", "--port", "0", "--host", "0.0.0.0"]
    assert main(arguments) == 1  # there is no Spark
    said = capsys.readouterr().err
    assert "cqels serve: token: " in said and "pass in the clear" in said
    monkeypatch.setenv("CQELS_TOKEN", TOKEN)
    assert main(arguments) == 1
    assert "token:" not in capsys.readouterr().err


def test_status_where_there_is_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "http://127.0.0.1:9"]) == 1
    assert "CQELS_TOKEN" in capsys.readouterr().err
    os.environ["CQELS_TOKEN"] = TOKEN
    try:
        assert main(["status", "http://127.0.0.1:9"]) == 1
        assert main(["status", "ftp://127.0.0.1:9"]) == 1
    finally:
        del os.environ["CQELS_TOKEN"]
    said = capsys.readouterr().err
    assert "http://127.0.0.1:9: no answer" in said and "http:// or https://" in said


def test_a_status_that_is_not_ready_is_shown() -> None:
    overload = {"policy": "delay", "fraction": 1.0, "overloaded": True, "behind_seconds": 7.5}
    overload |= {"waiting": 3, "refused": 2, "sampled_out": 0}
    found = {"version": "1", "status": "not ready", "detail": "starting", "up_seconds": 61.0}
    found |= {"overload": overload, "subscribers": 0, "streams": [], "queries": []}
    first, second, *_ = lines_of(found)
    assert first == "not ready (starting), cqels 1, up 1 min 1 s"
    assert second.startswith("pushes: OVERLOADED, 3 waiting, 7.5 s behind; policy delay,")
