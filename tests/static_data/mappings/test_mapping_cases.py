"""What the specifications say a mapping stands for is what the plain reading of it makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from static_data.mappings.materialise import Materialiser
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.source_rows import rows_of_source
from tests.static_data.mappings.mapping_cases import MappingCase
from tests.static_data.mappings.more_mapping_cases import CASES
from tests.static_data.mappings.quad_sets import without_labels


def quads_of(case: MappingCase, folder: Path) -> set[str]:
    """All quads of a case, whose files are written into a folder."""
    for name, text in case.files.items():
        (folder / name).write_text(text, "utf-8")
    file = folder / f"mapping.{case.ending}"
    file.write_text(case.mapping, "utf-8")
    mapping = read_mapping(file)
    found = set()
    for mapped in mapping.rows:
        sources = {*mapped.parents(), mapped.source}
        rows = {s: rows_of_source(s, str(file), case.tables.get) for s in sources}
        made = Materialiser(mapped, rows).quads(rows[mapped.source])
        found |= {quad.nquads() for quad in made}
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_specified(case: MappingCase, tmp_path: Path) -> None:
    assert without_labels(quads_of(case, tmp_path)) == without_labels(case.expected)
