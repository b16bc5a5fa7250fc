"""The Scala files lie in rooms whose imports go down only, and Python finds each class in its room."""

from __future__ import annotations

import re
from pathlib import Path

import pyspark
import pytest

from sparkext import toolchain
from tests.scala_rooms import (
    BASE,
    ELSEWHERE,
    LONGER,
    MOST_FILES,
    MOST_LINES,
    ROOMS,
    Source,
    problems,
    read,
)

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "sparkext" / "jvm"
SOURCES = read(FOLDER)
DOOR = Source(
    "low/package.scala", f"package {BASE}\n\n/** In come ids, out go rows. */\npackage object low\n"
)
UPPER_DOOR = Source("high/package.scala", DOOR.text.replace("low", "high"))
PATH_IN_PYTHON = re.compile(
    r"(?:extension\([^()]*\)|\bpackage|(?<!spark\.)\bcqels|_extension)\.(?:([a-z]\w*)\.)?([A-Z]\w*)\b"
)


def test_rooms_keep_their_order_and_size() -> None:
    assert len(SOURCES) > 100
    assert problems(SOURCES) == []


def test_exceptions_are_there_and_needed() -> None:
    names = {s.name: s for s in SOURCES}
    assert set(ELSEWHERE) <= set(names)
    assert [name for name in LONGER if names[name].lines <= MOST_LINES] == []


def test_python_names_classes_by_their_rooms() -> None:
    defined = {(s.room, name) for s in SOURCES for name in s.defined}
    wrong, seen = [], 0
    for package in ("static_data", "sparkext", "tests", "bench"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.name in {"test_scala_rooms.py", "scala_rooms.py"}:
                continue
            for room, name in PATH_IN_PYTHON.findall(path.read_text(encoding="utf-8")):
                seen += 1
                if (room, name) not in defined and name not in {"CqelsExtensions"}:
                    wrong.append(f"{path.relative_to(ROOT)}: {room}.{name}")
    assert seen > 60
    assert wrong == []


def test_the_docs_show_the_rooms_from_the_top_down() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    shown = text.partition("| room | what | files |")[2].partition("\n\n")[0]
    rooms = re.findall(r"^\| `(\w+)` \|", shown, re.MULTILINE)
    assert rooms == list(reversed(ROOMS))


@pytest.mark.slow
def test_only_one_room_uses_what_is_private_to_spark(tmp_path: Path) -> None:
    """Outside of Spark's packages the compiler refuses whatever is `private[spark]` or `private[sql]`."""
    chosen = toolchain.scala_sources(FOLDER, pyspark.__version__)
    names = {path.relative_to(FOLDER).as_posix() for path in chosen}
    moved = [_outside(source, tmp_path) for source in SOURCES if source.name in names]
    jars = toolchain.pyspark_folder() / "jars"
    toolchain.compile_jar(moved, jars, pyspark.__version__, tmp_path / "outside.jar")


def _outside(source: Source, folder: Path) -> Path:
    if source.room == "spark":
        text = source.text.replace("private[cqels] ", "")
    else:
        text = re.sub(rf"{re.escape(BASE)}(?!\.spark\.)", "outside.cqels", source.text)
    path = folder / source.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def made(name: str, body: str, package: str = "") -> Source:
    clause = package or f"package {BASE}\npackage {name.split('/')[0]}\n"
    return Source(name, f"{clause}\n{body}\n")


UP = "low/Rows.scala:4: low uses high, which is above it"
NO_ROOM = "low/Rows.scala:4: names no room"
LOW = made("low/Table.scala", "final class Table")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (made("high/Join.scala", f"import {BASE}.low.Table\nclass Join(t: Table)"), None),
        (made("low/Rows.scala", f"// import {BASE}.high.Join\nclass Rows"), None),
        (made("low/Rows.scala", "class Rows(high: Any) { high.toString }"), None),
        (made("low/Rows.scala", f"import {BASE}.high.{{Join, Other}}"), UP),
        (made("low/Rows.scala", "class Rows(j: high.Join)"), UP),
        (made("low/Rows.scala", f"import {BASE}._"), f"{NO_ROOM}: import {BASE}._"),
        (made("low/Rows.scala", f"import {BASE}.{{high => h}}"), f"{NO_ROOM}: import {BASE}.{{high => h}}"),
        (made("low/Rows.scala", "", "package elsewhere"), f"low/Rows.scala: package elsewhere, not {BASE}.low"),
        (made("high/Rows.scala", "", LOW.text), f"high/Rows.scala: package {BASE}.low, not {BASE}.high"),
        (made("attic/Rows.scala", ""), "attic/Rows.scala: no such room"),
        (made("low/Rows.scala", "\n" * MOST_LINES), f"low/Rows.scala: {MOST_LINES + 4} lines"),
    ],
)  # fmt: skip
def test_the_check_finds(source: Source, expected: str | None) -> None:
    tree = [DOOR, UPPER_DOOR, LOW, made("high/Join.scala", "class Join"), source]
    assert problems(tree, ("low", "high")) == ([expected] if expected else [])


def test_the_check_wants_doors_and_few_files() -> None:
    many = [made(f"low/T{n}.scala", f"class T{n}") for n in range(MOST_FILES + 1)]
    assert problems([*many, DOOR], ("low",)) == [f"low: {MOST_FILES + 1} files"]
    assert problems([*many[1:], DOOR], ("low",)) == []
    silent = Source("low/package.scala", f"package {BASE}\n\npackage object low\n")
    for sources in ([LOW], [LOW, silent]):
        assert problems(sources, ("low",)) == ["low/package.scala: does not say what the room is"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("since_4_1", "since_4_3"), []),
        (("since_4_2", "since_4_3"), ["spark/Old.scala: is in since_4_2, since_4_3"]),
        (("since_4_1",), ["spark/Old.scala: is in since_4_1"]),
        (("", "since_4_1"), ["spark/Old.scala: is in , since_4_1"]),
    ],
)
def test_the_check_wants_every_version(names: tuple[str, ...], expected: list[str]) -> None:
    door = Source("spark/package.scala", DOOR.text.replace("low", "spark"))
    paths = [f"spark/{name}/Old.scala".replace("//", "/") for name in names]
    tree = [door, *(made(path, "class Old") for path in paths)]
    assert problems(tree, ("spark",)) == expected
    tree.append(made("spark/since_4_4/Old.scala", "class New"))
    assert problems(tree, ("spark",))[-1] == (
        "spark/Old.scala: defines other names in other versions"
    )


def test_only_the_lowest_room_has_versions() -> None:
    tree = [DOOR, *(made(f"low/since_4_{n}/Old.scala", "class Old") for n in (1, 2))]
    assert problems(tree, ("low",)) == ["low/Old.scala: differs between versions of Spark"]


def test_rooms_are_named_once() -> None:
    assert len(set(ROOMS)) == len(ROOMS)
