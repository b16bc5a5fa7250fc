"""The quads of mappings equal those that morph-kgc makes of the same rows.

morph-kgc asks for a pyoxigraph and an rdflib that are older than ours, so it lives in an environment of its own:
`make test-all` makes it; CQELS_MORPH_KGC_PYTHON names the Python of another one. Without it these tests are skipped.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

from static_data.mappings.materialise import Materialiser
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.source_rows import rows_of_source
from tests.conftest import ROOT
from tests.static_data.mappings.mapping_cases import MappingCase
from tests.static_data.mappings.more_mapping_cases import CASES
from tests.static_data.mappings.quad_sets import without_labels
from tests.static_data.mappings.weather import with_header

_SCRIPT = Path(__file__).with_name("morph_kgc_script.py")
_DOUBLE = re.compile(r'"([^"]*)"\^\^<http://www.w3.org/2001/XMLSchema#(double|decimal)>')
_LANGUAGE = re.compile(r'(?<=")@([A-Za-z-]+)')


def _python() -> Path:
    stated = os.environ.get("CQELS_MORPH_KGC_PYTHON")
    python = Path(stated) if stated else ROOT / ".venv" / "morph-kgc" / "bin" / "python"
    if not python.exists():
        pytest.skip("morph-kgc is not installed: make .venv/.morph-kgc")
    return python


def _answers(runs: list[tuple[Path, str]]) -> list[set[str]]:
    """What morph-kgc makes of each folder and configuration, as lines."""
    given = json.dumps([[str(folder), configuration] for folder, configuration in runs])
    done = subprocess.run(
        [_python(), str(_SCRIPT)], input=given, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for answer in found:
        assert isinstance(answer, list), answer
    return [{_same_form(f"{line.strip()} .") for line in answer} for answer in found]


def _same_form(line: str) -> str:
    """Values for lexical forms of doubles and decimals, tags in lower case."""

    def number(found: re.Match[str]) -> str:
        return f'"{Decimal(found[1]).normalize()}"^^<{found[2]}>'

    return _LANGUAGE.sub(lambda tag: tag[0].lower(), _DOUBLE.sub(number, line))


def _configuration(mapping: str, more: str = "") -> str:
    return (
        "[CONFIGURATION]\nna_values=\nlogging_level=ERROR\noutput_format=N-QUADS\nnumber_of_processes=1\n"
        f"[Rows]\nmappings={mapping}\n{more}"
    )


def _written(case: MappingCase, folder: Path) -> tuple[Path, str]:
    folder.mkdir()
    for name, text in case.files.items():
        (folder / name).write_text(text, "utf-8")
    (folder / f"mapping.{case.ending}").write_text(case.mapping, "utf-8")
    if not case.tables:
        return folder, _configuration(f"mapping.{case.ending}")
    with sqlite3.connect(folder / "rows.db") as database:
        for name, table in case.tables.items():
            names = ", ".join(f'"{column}"' for column in table.column_names)
            database.execute(f"CREATE TABLE {name} ({names})")
            marks = ", ".join("?" * table.num_columns)
            rows = [tuple(row.values()) for row in table.to_pylist()]
            database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    database.close()
    return folder, _configuration(f"mapping.{case.ending}", "db_url=sqlite:///rows.db\n")


def test_cases(tmp_path: Path) -> None:
    cases = [case for case in CASES if not case.unlike_morph]
    assert len(cases) > 10
    runs = [_written(case, tmp_path / str(number)) for number, case in enumerate(cases)]
    for case, answer in zip(cases, _answers(runs), strict=True):
        expected = {_same_form(line) for line in case.expected}
        assert without_labels(answer) == without_labels(expected), case.name


def test_weather_observations(shared: Path, tmp_path: Path) -> None:
    mapping = shared / "data" / "srbench" / "mapping.ttl"
    source = shared / "data" / "srbench" / "db" / "obs3h.csv"
    if not source.is_file():
        pytest.skip(f"{source} is not there")
    # Two triples maps have a misspelt type, without which they are triples maps, too; not so for morph-kgc.
    text = mapping.read_text("utf-8").replace("TrriplesMap", "TriplesMap")
    (tmp_path / "mapping.ttl").write_text(text, "utf-8")
    table = with_header(source, tmp_path / "lsd_observations.csv", rows=150)
    answer = _answers(
        [(tmp_path, _configuration("mapping.ttl", "file_path=lsd_observations.csv\n"))]
    )[0]
    mapped = read_mapping(tmp_path / "mapping.ttl").of_source()
    assert mapped.quads == read_mapping(mapping).of_source().quads
    rows = rows_of_source(mapped.source, "mapping.ttl", {"lsd_observations": table}.get)
    # Its joins are of the table with itself by one column on both sides: morph-kgc takes the row itself for the
    # parent then, as a row of a stream is; by R2RML all rows with an equal value are parents.
    by_row = {_same_form(q.nquads()) for q in Materialiser(mapped, {}).quads(rows)}
    assert len(by_row) > 1000
    assert by_row == answer
    by_table = {
        _same_form(q.nquads()) for q in Materialiser(mapped, {mapped.source: rows}).quads(rows)
    }
    assert by_row < by_table
    more = {line.split(" ")[1].rpartition("#")[2] for line in by_table - by_row}
    assert more == {"result>"}, more
