"""Loads of malformed files: failed whole, skipped with places, or accepted, on the driver and by Spark jobs."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from static_data.errors import MalformedRdfError, StaticDataError
from static_data.files.on_error import OnError
from static_data.files.reading import ReadingOptions
from static_data.graph_changes import ChangeKind, GraphEditor, read_change
from static_data.store import DRIVER_BYTES, StaticStore
from tests.static_data.test_small_files import content

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAYS = pytest.mark.parametrize("driver_bytes", [0, DRIVER_BYTES], ids=["by jobs", "here"])

GOOD = "<x:s> <x:p> <x:o{}> ."
# Each with the column of what is wrong.
BAD = [
    ("<x:s> <x:p> <http://x/a b{}> .", 24),
    ("<x:s> <x:p> <http://x/a|b{}> .", 24),
    ("<x:s> <x:p> <www.b.it/{}> .", 14),
    ('<x:s> <x:p> "{}\\uD83D\\uDE00" .', 15),
]
BROKEN = ("<x:s> <x:p> {}", 13)


def objects_of(store: StaticStore) -> set[str]:
    return {row[2] for row in content(store)}


def refused(store: StaticStore, files: Any, **options: Any) -> MalformedRdfError:
    before = store.catalogue()
    with pytest.raises(MalformedRdfError) as caught:
        store.load(files, **options)
    assert store.catalogue() == before
    return caught.value


@WAYS
@pytest.mark.parametrize("packing", ["", ".bz2", ".xz"])
def test_lines_fail_are_skipped_or_accepted(
    spark: SparkSession, tmp_path: Path, driver_bytes: int, packing: str
) -> None:
    lines = [GOOD.format(1), *(bad.format(n) for n, (bad, _) in enumerate(BAD)), GOOD.format(2)]
    pack: Callable[[bytes], bytes] = {
        "": bytes,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
    }[packing]
    path = tmp_path / f"a.nt{packing}"
    path.write_bytes(pack("\ufeff".encode() + "\n".join(lines).encode()))
    store = StaticStore(spark, driver_bytes=driver_bytes)

    error = refused(store, path)
    assert (error.file, error.line, error.column) == (str(path), 2, 24)

    listed = tmp_path / "skipped.jsonl"
    report = store.load(path, on_error="skip", skipped_file=listed)
    assert (report.statements, report.skipped, report.skipped_file) == (2, len(BAD), str(listed))
    assert f"{len(BAD)} skipped" in str(report)
    entries = [json.loads(line) for line in listed.read_text("utf-8").splitlines()]
    assert [(e["line"], e["column"]) for e in entries] == [
        (2 + n, column) for n, (_, column) in enumerate(BAD)
    ]
    assert [e["text"] for e in entries] == lines[1:-1]
    assert objects_of(store) == {"<x:o1>", "<x:o2>"}

    store = StaticStore(spark, driver_bytes=driver_bytes)
    assert store.load(path, on_error="accept").statements == len(lines)
    assert objects_of(store) >= {"<http://x/a b0>", "<www.b.it/2>", '"3\U0001f600"'}

    path.write_bytes(pack("\n".join([*lines, BROKEN[0]]).encode()))
    error = refused(store, path, on_error="accept")
    assert error.line == len(lines) + 1

    for empty in ("<> <x:p> <x:o> .", '<x:s> <x:p> "a"^^<> .', "<< <x:s> <> <x:o> >> <x:p> 1 ."):
        path.write_bytes(pack(f"{GOOD}\n{empty}".encode()))
        error = refused(store, path, on_error="accept")
        assert (error.line, error.column) == (2, empty.index("<>") + 2)


@WAYS
def test_other_formats_fail_are_skipped_or_accepted(
    spark: SparkSession, tmp_path: Path, driver_bytes: int
) -> None:
    texts = {
        "a.ttl": "<x:s> <x:p> <x:o1> .\n<x:s> <x:p> 7 ,\n <http://x/a b> .\n<x:s> <x:p> <x:o2> .",
        "a.rdf": '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="x:">\n'
        '<rdf:Description rdf:about="x:s"><x:p rdf:resource="x:o1"/></rdf:Description>\n'
        '<rdf:Description rdf:about="x:s"><x:p rdf:resource="http://x/a b"/></rdf:Description>\n'
        '<rdf:Description rdf:about="x:s"><x:p rdf:resource="x:o2"/></rdf:Description></rdf:RDF>',
        "a.jsonld": '{"@id": "x:s", "x:p": [{"@id": "x:o1"},\n\n {"@id": "http://x/a b"}, {"@id": "x:o2"}]}',
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.write_text(text)
        store = StaticStore(spark, driver_bytes=driver_bytes)
        assert refused(store, [path]).line == 3, name
        report = store.load(path, on_error="skip", skipped_file=tmp_path / f"{name}.skipped")
        assert report.skipped == 1
        (entry,) = map(json.loads, (tmp_path / f"{name}.skipped").read_text().splitlines())
        assert (entry["file"], entry["line"]) == (str(path), 3), name
        objects = {"<x:o1>", "<x:o2>"}
        assert objects_of(store) == objects, name
        store = StaticStore(spark, driver_bytes=driver_bytes)
        store.load(path, on_error="accept")
        assert objects_of(store) >= {*objects, "<http://x/a b>"}, name


def test_lines_have_their_numbers_in_files_of_several_parts(
    spark: SparkSession, tmp_path: Path
) -> None:
    random.seed(5)
    lines = [f"<x:s{n}> <x:p> <x:{random.getrandbits(240):x}> ." for n in range(150_000)]
    bad = sorted(random.sample(range(len(lines)), 20))
    for n in bad:
        lines[n] = lines[n][:-1]
    ends = [random.choice(["\n", "\r\n"]) for _ in lines]
    text = "".join(line + end for line, end in zip(lines, ends, strict=True)).encode()
    assert len(text) > 2 * (4 << 20)  # parts have at least four megabytes
    files = [tmp_path / "a.nt", tmp_path / "b.nt.bz2"]
    files[0].write_bytes(text)
    files[1].write_bytes(bz2.compress(text))
    assert files[1].stat().st_size > 4 << 20
    store = StaticStore(spark)
    listed = tmp_path / "skipped.jsonl"
    report = store.load(files, on_error="skip", skipped_file=listed)
    assert report.skipped == len(bad) * len(files)
    entries = [json.loads(line) for line in listed.read_text("utf-8").splitlines()]
    assert [(e["file"], e["line"]) for e in entries] == [
        (str(file), n + 1) for file in files for n in bad
    ]
    assert refused(store, files[1]).line == bad[0] + 1
    late = [line if n not in bad[:-1] else "" for n, line in enumerate(lines)]
    files[0].write_text("\n".join(late))
    assert refused(store, files[0]).line == bad[-1] + 1


@settings(
    max_examples=15,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.sampled_from(["good", "bad", "", "# note"]), max_size=30))
def test_what_is_skipped_is_what_is_bad(
    spark: SparkSession, tmp_path: Path, kinds: list[str]
) -> None:
    made = {"good": GOOD, "bad": BAD[0][0], "": "", "# note": "# {}"}
    lines = [made[kind].format(n) for n, kind in enumerate(kinds)]
    path = tmp_path / "a.nt"
    path.write_text("\n".join(lines))
    listed = tmp_path / "skipped.jsonl"
    listed.unlink(missing_ok=True)
    store = StaticStore(spark)
    report = store.load(path, on_error="skip", skipped_file=listed)
    bad = [n + 1 for n, kind in enumerate(kinds) if kind == "bad"]
    assert report.skipped == len(bad)
    assert report.quads_added == kinds.count("good")
    listing = listed.read_text().splitlines() if listed.exists() else []
    assert [json.loads(line)["line"] for line in listing] == bad
    store.close()


def test_what_cannot_be_read_at_all_is_not_skipped(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.nt.gz"
    whole = gzip.compress("\n".join(GOOD.format(n) for n in range(100)).encode())
    path.write_bytes(whole[:-20])
    for driver_bytes in (0, DRIVER_BYTES):
        store = StaticStore(spark, driver_bytes=driver_bytes)
        refused(store, path, on_error="skip")


def test_there_are_three_ways(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text(GOOD)
    with pytest.raises(StaticDataError, match="'fail', 'skip', 'accept', not 'ignore'"):
        StaticStore(spark).load(tmp_path / "a.nt", on_error="ignore")


def test_contexts_come_from_files(spark: SparkSession, tmp_path: Path) -> None:
    path, context = tmp_path / "a.jsonld", tmp_path / "context.json"
    path.write_text('{"@context": "http://c/", "@id": "x:s", "p": "1"}')
    context.write_text('\ufeff{"@context": {"p": "x:p"}}', "utf-8")
    for driver_bytes in (0, DRIVER_BYTES):
        store = StaticStore(spark, driver_bytes=driver_bytes)
        assert "--context http://c/=FILE" in str(refused(store, path))
        store.load(path, contexts={"http://c/": context})
        assert objects_of(store) == {'"1"'}
        with pytest.raises(StaticDataError, match=r"none\.json: No such file"):
            store.load(path, contexts={"http://c/": tmp_path / "none.json"})


def test_changes_of_graphs_skip_and_accept(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_text("\n".join([GOOD.format(1), BAD[0][0].format(2), GOOD.format(3)]))
    listed = tmp_path / "skipped.jsonl"
    for options, objects in (
        (ReadingOptions(OnError.SKIP, listed), {"<x:o1>", "<x:o3>"}),
        (ReadingOptions(OnError.ACCEPT), {"<x:o1>", "<http://x/a b2>", "<x:o3>"}),
    ):
        store = StaticStore(spark)
        change = read_change(spark, ChangeKind.REPLACE, None, path, options=options)
        assert GraphEditor(store, spark).apply(change)
        assert objects_of(store) == objects
    assert json.loads(listed.read_text())["line"] == 2
    with pytest.raises(MalformedRdfError) as caught:
        read_change(spark, ChangeKind.REPLACE, None, path)
    assert (caught.value.line, caught.value.column) == (2, 24)
