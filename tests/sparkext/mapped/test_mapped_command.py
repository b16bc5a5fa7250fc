"""`cqels` with rows beside recorded streams: what it answers, its own oracle finds right."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkext.cli import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

E = "http://example.org/"
MAPPING = """\
prefixes: {ex: "http://example.org/"}
mappings:
  reading:
    sources:
      - [readings.jsonl~jsonpath]
    s: ex:$(sensor)
    po:
      - [ex:celsius, $(celsius)]
      - [ex:tag, "$(tags[*])"]
"""
READINGS = """\
{"sensor": "a", "celsius": 21.5, "ms": 3000, "tags": ["x", "y"]}
{"sensor": "b", "celsius": 20, "ms": 1000}
{"sensor": "a", "celsius": 22, "ms": 7000, "tags": []}
{"celsius": 1, "ms": 8000}
{"sensor": {"name": "b"}, "celsius": 23, "ms": 3500}
{"sensor": "b", "celsius": 24, "ms": [4000]}
{"sensor": "c", "celsius": 25, "ms": 4000
"""
MOVES = f"""\
@prefix : <{E}> . @prefix prov: <http://www.w3.org/ns/prov#> .
:g1 prov:generatedAtTime 2000 . :g1 {{ :a :in :hall }}
:g2 prov:generatedAtTime 6000 . :g2 {{ :b :in :attic }}
:g3 prov:generatedAtTime 9000 . :g3 {{ :a :in :attic }}
"""
QUERY = f"""\
PREFIX : <{E}>
REGISTER RSTREAM :q AS SELECT ?sensor ?value ?place ?tag
FROM NAMED WINDOW :r ON <{E}readings> [RANGE PT4S STEP PT2S]
FROM NAMED WINDOW :m ON <{E}moves> [RANGE PT4S STEP PT2S]
WHERE {{ WINDOW :r {{ ?sensor :celsius ?value }} WINDOW :m {{ ?sensor :in ?place }}
         OPTIONAL {{ WINDOW :r {{ ?sensor :tag ?tag }} }} }}
"""


@pytest.mark.parametrize(
    "order", [[], ["--arrival-order", "--set", "spark.cqels.allowedLateness=5s"]]
)
def test_rows_beside_a_recorded_stream(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    order: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "m.yml": MAPPING,
        "readings.jsonl": READINGS,
        "moves.trig": MOVES,
        "q.rspql": QUERY,
    }.items():
        Path(name).write_text(text, "utf-8")
    inputs = [
        *("q.rspql", "--stream", f"{E}readings=readings.jsonl", "--stream", f"{E}moves=moves.trig"),
        *("--mapping", f"{E}readings=m.yml", "--time-column", f"{E}readings=ms"),
    ]
    assert main(["run", *inputs, *order, "--out", "answers.jsonl"]) == 0
    said = capsys.readouterr().err
    assert "row 4: a JSON object has no lexical form: sensor" in said
    assert "row 5: a list has no lexical form: ms" in said
    assert "row 6: line 7: column 42: no JSON: Expecting ',' delimiter" in said
    text = Path("answers.jsonl").read_text("utf-8")
    assert text.count('"sensor": {') > 2
    assert '"tag": {' in text
    assert main(["check", *inputs, "--answers", "answers.jsonl"]) == 0
    assert "readings>: 3 malformed, set aside" in capsys.readouterr().err


@pytest.mark.parametrize(
    "times",
    [
        pa.array([date(1970, 1, 3), date(1970, 1, 2), None]),
        pa.array([2500.5, 1000.75, float("nan")]),
    ],
    ids=["dates", "numbers with a fraction"],
)
def test_times_of_every_type_are_those_of_the_oracle(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    times: pa.Array,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.yml").write_text(
        f'prefixes: {{ex: "{E}"}}\nmappings:\n  reading:\n    sources: [[readings.csv~csv]]\n'
        "    s: ex:$(sensor)\n    po: [[ex:celsius, $(celsius)]]\n",
        "utf-8",
    )
    Path("q.rspql").write_text(
        f"PREFIX : <{E}> REGISTER RSTREAM :q AS SELECT ?s ?v\n"
        f"FROM NAMED WINDOW :w ON <{E}readings> [RANGE PT1S] WHERE {{ WINDOW :w {{ ?s :celsius ?v }} }}",
        "utf-8",
    )
    table = pa.table({"sensor": ["a", "b", "c"], "celsius": ["20", "21", "22"], "at": times})
    pq.write_table(table, "readings.parquet")
    inputs = ["q.rspql", "--stream", f"{E}readings=readings.parquet"]
    inputs += ["--mapping", "m.yml", "--time-column", "at"]
    assert main(["run", *inputs, "--out", "answers.jsonl"]) == 0
    assert main(["check", *inputs, "--answers", "answers.jsonl"]) == 0
    assert capsys.readouterr().out == "correct: 2 instants, 2 rows\n"


def test_a_warning_of_a_mapping_is_shown_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """However many streams the mapping is for."""
    monkeypatch.chdir(tmp_path)
    Path("m.yml").write_text(MAPPING.replace("$(celsius)", "ex:$(celsius)"), "utf-8")
    Path("r.jsonl").write_text('{"sensor": "a", "celsius": 21, "ms": 1000}\n', "utf-8")
    Path("q.rspql").write_text(QUERY.replace(":in ?place", ":celsius ?place"), "utf-8")
    Path("answers.jsonl").write_text('{"time": 2000, "results": {"bindings": []}}\n', "utf-8")
    streams = ["--stream", f"{E}readings=r.jsonl", "--stream", f"{E}moves=r.jsonl"]
    mapped = ["--mapping", "m.yml", "--time-column", "ms", "--answers", "answers.jsonl"]
    assert main(["check", "q.rspql", *streams, *mapped]) == 1
    assert capsys.readouterr().err == (
        "cqels: warning: m.yml, line 8: triples map reading: ex:$(celsius) makes literals:"
        " ex:$(celsius)~iri makes IRIs, ~literal says that they are meant\n"
    )
