"""What the specifications say a mapping stands for is what the plain reading of it makes."""

from __future__ import annotations

from collections.abc import Mapping
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


_WORDS = MappingCase(
    "YARRRML: languages with a region, a delimiter",
    """
prefixes: {ex: "http://example.com/"}
mappings:
  m:
    sources:
      - {access: words.csv, referenceFormulation: csv, delimiter: ";"}
    s: ex:$(id)
    po:
      - [ex:name, $(name)~en-US~lang]
      - [ex:long, $(name)~zh-Hant-TW~lang]
      - [ex:short, $(name), i-klingon~lang]
""",
    """
ex:1 ex:name "a,b"@en-us .
ex:1 ex:long "a,b"@zh-hant-tw .
ex:1 ex:short "a,b"@i-klingon .
""",
    {"words.csv": "id;name\n1;a,b\n"},
    ending="yml",
)


def test_languages_with_a_region_and_a_delimiter(tmp_path: Path) -> None:
    assert quads_of(_WORDS, tmp_path) == _WORDS.expected


@pytest.mark.parametrize(
    "parameters",
    [
        "[[str1, $(boss)], [str2, $(id)]]",
        "[[str2, $(id)], [str1, $(boss)]]",
        "[[grel:valueParameter2, $(id)], [grel:valueParameter, $(boss)]]",
        "[[str2, $(id), o], [str1, $(boss), s]]",
        "[[str1, $(id), object], [str2, $(boss), subject]]",
        "[[str1, $(id), o], [str2, $(boss)]]",
        "[[left, $(boss)], [right, $(id)]]",
    ],
)
def test_parameters_of_a_join_say_of_which_side_they_are(tmp_path: Path, parameters: str) -> None:
    people = """
prefixes: {ex: "http://example.com/"}
mappings:
  person:
    sources: [[staff.csv~csv]]
    s: ex:p/$(id)
    po:
      - p: ex:boss
        o: {mapping: boss, condition: {function: equal, parameters: PARAMETERS}}
  boss:
    sources: [[bosses.csv~csv]]
    s: ex:b/$(id)
""".replace("PARAMETERS", parameters)
    files = {"staff.csv": "id,boss\n1,2\n", "bosses.csv": "id,boss\n2,7\n5,1\n"}
    case = MappingCase("a join", people, "ex:p/1 ex:boss ex:b/2 .", files, ending="yml")
    assert quads_of(case, tmp_path) == case.expected


@pytest.mark.parametrize(("named", "given"), [("r.csv", "r.tsv"), ("r.tsv", "r.csv")])
def test_the_file_that_is_given_tells_its_delimiter(tmp_path: Path, named: str, given: str) -> None:
    mapping = tmp_path / "m.yml"
    mapping.write_text(
        f"mappings:\n  m:\n    sources: [[{named}~csv]]\n    s: http://e/$(id)\n"
        "    po: [[http://e/p, $(v)]]\n",
        "utf-8",
    )
    (tmp_path / given).write_text("id,v\n1,x\n".replace(",", "\t" if given == "r.tsv" else ","))
    mapped = read_mapping(mapping).of_source()
    files: Mapping[str, Path] = {named: tmp_path / given}
    rows = rows_of_source(mapped.source, str(mapping), files.get)
    assert [q.nquads() for q in Materialiser(mapped, {}).quads(rows)] == [
        '<http://e/1> <http://e/p> "x" .'
    ]
