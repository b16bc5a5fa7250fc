"""The store: saving and opening, what is refused, versions and listeners."""

from __future__ import annotations

import json
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from static_data.errors import StoreConflictError, StoreFormatError
from static_data.graph_changes import ChangeKind, GraphEditor, read_change
from static_data.storage.row_edits import Pair, TableKey
from static_data.storage.store_changes import ChangeLock, StoreChange
from static_data.store import StaticStore
from tests.static_data.rdf_samples import EX, store_quads, write_as

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = f"""
<{EX}a> <{EX}p> <{EX}b> .
<{EX}a> <{EX}p> "1" .
<{EX}b> <{EX}q> << <{EX}a> <{EX}p> _:x >> <{EX}g> .
_:x <{EX}q> "chat"@fr <{EX}g> .
"""


@pytest.fixture(scope="module")
def saved(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with DATA saved in it; tests copy it before they change it."""
    folder = tmp_path_factory.mktemp("store")
    store = StaticStore(spark, driver_bytes=0)
    store.load(write_as(folder, "a.nq", DATA.encode()))
    store.load(write_as(folder, "b.nt", b""), graph=EX + "empty")
    store.save(folder / "saved")
    store.close()
    return folder / "saved"


def test_opening_gives_what_was_saved(spark: SparkSession, saved: Path, tmp_path: Path) -> None:
    loaded = StaticStore(spark, driver_bytes=0)
    loaded.load(write_as(tmp_path, "a.nq", DATA.encode()))
    store = StaticStore(spark, driver_bytes=0)
    store.open(saved)
    assert store_quads(store) == store_quads(loaded)
    assert {g.text for g in store.graphs()} == {None, f"<{EX}g>", f"<{EX}empty>"}
    assert store.catalogue() == loaded.catalogue()
    assert store.dictionary.staticSize() == loaded.dictionary.staticSize()
    p = store.lookup(f"<{EX}p>")
    assert store.row_count(0, p) == store.table(0, p).count() == 2
    assert store.version == 1
    # Blank nodes of later files stay apart from those that were saved.
    store.load(write_as(tmp_path, "a.nq", DATA.encode()))
    assert sum(store_quads(store).values()) == 4 + 2


def test_the_manifest_says_what_is_there(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    assert manifest["version"] == 2
    assert manifest["hashBits"] == 58
    assert manifest["quads"] == 4
    folders = {f"graph={g}/predicate={p}" for g, p, _ in manifest["tables"]}
    assert folders == {
        str(path.relative_to(saved / "quads")) for path in (saved / "quads").glob("*/*")
    }


def test_saving_does_not_replace_by_accident(
    spark: SparkSession, saved: Path, tmp_path: Path
) -> None:
    store = StaticStore(spark, driver_bytes=0)
    store.open(saved)
    mine = tmp_path / "mine"
    mine.mkdir()
    store.save(mine)  # An empty folder is free to use.
    with pytest.raises(StoreFormatError, match="overwrite"):
        store.save(mine)
    store.load(write_as(tmp_path, "a.nt", f"<{EX}n> <{EX}p> <{EX}m> .".encode()))
    store.save(mine, overwrite=True)
    again = StaticStore(spark, driver_bytes=0)
    again.open(mine)
    assert sum(store_quads(again).values()) == 5
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "letter.txt").write_text("dear")
    with pytest.raises(StoreFormatError):
        store.save(foreign, overwrite=True)
    assert (foreign / "letter.txt").read_text() == "dear"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nt", "foreign", "mine"]


def _no_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def _no_json(folder: Path) -> None:
    (folder / "manifest.json").write_text("{")


def _other_version(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "version": 99}))


def _foreign_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"name": "an app"}')


def _lost_table(folder: Path) -> None:
    shutil.rmtree(next((folder / "quads").glob("*/*")))


def _lost_dictionary(folder: Path) -> None:
    shutil.rmtree(folder / "dictionary")


def _cut_file(folder: Path) -> None:
    file = next((folder / "dictionary").iterdir())
    file.write_bytes(file.read_bytes()[:-10])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_no_manifest, r"no manifest\.json"),
        (_no_json, "not JSON"),
        (_other_version, "99"),
        (_foreign_manifest, "not that of a saved store"),
        (_lost_table, "not a whole store"),
        (_lost_dictionary, "not a whole store"),
        (_cut_file, "not a whole store"),
    ],
)
def test_damaged_folders_are_refused(
    spark: SparkSession,
    saved: Path,
    tmp_path: Path,
    damage: Callable[[Path], None],
    words: str,
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(saved, folder)
    damage(folder)
    store = StaticStore(spark, driver_bytes=0)
    with pytest.raises(StoreFormatError, match=words) as caught:
        store.open(folder)
    assert str(folder) in str(caught.value)
    assert store.version == 0
    assert store.dictionary.staticSize() == 0


def test_missing_folder_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(StoreFormatError, match="no such folder"):
        StaticStore(spark, driver_bytes=0).open(tmp_path / "nothing")


def test_opening_over_other_data_is_refused(
    spark: SparkSession, saved: Path, tmp_path: Path
) -> None:
    store = StaticStore(spark, driver_bytes=0)
    store.load(write_as(tmp_path, "a.nt", f"<{EX}n> <{EX}p> <{EX}m> .".encode()))
    with pytest.raises(StoreConflictError, match="before anything is loaded"):
        store.open(saved)


def test_ids_of_other_widths_are_refused(spark: SparkSession, saved: Path) -> None:
    store = StaticStore(spark, driver_bytes=0)
    store.dictionary.setHashBits(20)
    with pytest.raises(StoreConflictError, match="58"):
        store.open(saved)


def test_ids_that_contradict_those_given_out_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines = "".join(f"<{EX}s{i}> <{EX}p> <{EX}o{i}> .\n" for i in range(60))
    store = StaticStore(spark, driver_bytes=0)
    store.dictionary.setHashBits(8)
    store.load(write_as(tmp_path, "a.nt", lines.encode()))
    store.save(tmp_path / "saved")
    other = StaticStore(spark, driver_bytes=0)
    other.dictionary.setHashBits(8)
    # Terms that came in another order took the ids that the saved ones have.
    for i in range(59, -1, -1):
        other.dictionary.encodeRetained(f"<{EX}x{i}>")
    with pytest.raises(StoreConflictError, match="open it before"):
        other.open(tmp_path / "saved")
    assert other.dictionary.staticSize() == 0


def test_versions_and_listeners_follow_changes(spark: SparkSession, tmp_path: Path) -> None:
    store = StaticStore(spark, driver_bytes=0)
    heard: list[StoreChange] = []
    stop = store.listen(heard.append)
    one = write_as(tmp_path, "a.nt", f"<{EX}a> <{EX}p> <{EX}b> .\n".encode())
    more = write_as(
        tmp_path, "b.nt", f"<{EX}a> <{EX}p> <{EX}b> .\n<{EX}a> <{EX}q> <{EX}c> .\n".encode()
    )
    store.load(one)
    p = store.lookup(f"<{EX}p>")
    assert heard == [StoreChange(1, frozenset({(0, p)}))]
    assert store.load(one).quads_added == 0
    assert store.version == 1
    before = store.quads()
    assert store.load(more).quads_added == 1
    q = store.lookup(f"<{EX}q>")
    assert heard[1:] == [StoreChange(2, frozenset({(0, q)}))]
    assert before.count() == 1
    store.load(more, graph=EX + "g")
    assert heard[2] == StoreChange(3, frozenset((store.graph_id(EX + "g"), x) for x in (p, q)))
    stop()
    store.load(write_as(tmp_path, "c.nt", f"<{EX}z> <{EX}p> <{EX}b> .\n".encode()), graph=EX + "g")
    assert len(heard) == 3
    assert store.version == 4
    counts = Counter(g for *_, g in store_quads(store).elements())
    assert counts == {None: 2, f"<{EX}g>": 3}


def test_a_failing_listener_keeps_none_from_hearing(spark: SparkSession, tmp_path: Path) -> None:
    store = StaticStore(spark, driver_bytes=0)
    heard: list[StoreChange] = []

    def fail(change: StoreChange) -> None:
        raise RuntimeError("I am out of order")

    store.listen(fail)
    store.listen(heard.append)
    path = write_as(tmp_path, "a.nt", f"<{EX}a> <{EX}p> <{EX}b> .\n".encode())
    with pytest.raises(RuntimeError, match="out of order"):
        store.load(path)
    assert len(heard) == 1
    assert store.row_count(0) == 1


class WatchedLock(ChangeLock):
    """Says when a thread that wants it has to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited = threading.Event()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.awaited.set()
            self._lock.acquire()
        self._lock.release()
        super().__enter__()


def test_a_load_waits_for_a_change_that_has_looked_at_the_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"<{EX}a> <{EX}p> <{EX}b> .\n"
    path = write_as(tmp_path, "a.nt", line.encode())
    store = StaticStore(spark)
    store.lock = lock = WatchedLock()
    editor = GraphEditor(store, spark)
    rows_there = store.rows_there
    loading = threading.Thread(target=lambda: (store.load(path), lock.awaited.set()))

    def look_and_be_late(wanted: Mapping[TableKey, Collection[Pair]]) -> dict[TableKey, set[Pair]]:
        found = rows_there(wanted)
        loading.start()
        assert lock.awaited.wait(60)  # It has to wait, or it is done.
        return found

    monkeypatch.setattr(store, "rows_there", look_and_be_late)
    editor.apply(read_change(spark, ChangeKind.INSERT, None, line))
    loading.join(60)
    assert store.quads().count() == store.row_count(0) == 1
    monkeypatch.undo()
    editor.apply(read_change(spark, ChangeKind.REMOVE, None, line))
    assert store.row_count(0) == 0


def test_listeners_are_told_of_a_change_when_the_lock_is_free(spark: SparkSession) -> None:
    """Also of one before which, under the same lock, something failed."""
    store = StaticStore(spark)
    free: list[bool] = []

    def ask(change: StoreChange) -> None:
        def take() -> None:
            taken = store.lock._lock.acquire(blocking=False)
            free.append(taken)
            if taken:
                store.lock._lock.release()

        asking = threading.Thread(target=take)
        asking.start()
        asking.join()

    store.listen(ask)
    editor = GraphEditor(store, spark)
    change = read_change(spark, ChangeKind.INSERT, None, f"<{EX}a> <{EX}p> <{EX}b> .")
    assert editor.apply(change)
    with pytest.raises(RuntimeError, match="afterwards"), store.lock:
        editor.apply(read_change(spark, ChangeKind.REMOVE, None, f"<{EX}a> <{EX}p> <{EX}b> ."))
        assert free == [True]
        raise RuntimeError("afterwards")
    assert free == [True, True]


def _fail(*_: object) -> None:
    raise OSError("no space left")


def test_a_table_that_cannot_be_written_anew_keeps_no_listener_from_hearing(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("static_data.storage.stored_tables.MOST_EDITS", 0)
    store = StaticStore(spark)
    heard: list[StoreChange] = []
    store.listen(heard.append)
    editor = GraphEditor(store, spark)
    with monkeypatch.context() as broken:
        broken.setattr(store._tables, "_write_out", _fail)
        editor.apply(read_change(spark, ChangeKind.INSERT, None, f"<{EX}a> <{EX}p> <{EX}b> ."))
    assert "no space left" in caplog.text
    assert [change.version for change in heard] == [store.version]
    assert store.row_count(0) == store.quads().count() == 1
    # Tried again with the next one.
    editor.apply(read_change(spark, ChangeKind.INSERT, None, f"<{EX}a> <{EX}p> <{EX}c> ."))
    assert not store.rows_beside_files(0)
    assert store.quads().count() == 2


def test_terms_of_a_load_that_failed_are_saved(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in the dictionary, so that a later change brings only their ids."""
    line = f"<{EX}a> <{EX}p> <{EX}b> .\n"
    store = StaticStore(spark)
    with monkeypatch.context() as broken:
        broken.setattr(store._tables, "keep", _fail)
        with pytest.raises(OSError, match="no space left"):
            store.load(write_as(tmp_path, "a.nt", line.encode()))
    assert store.version == store.row_count(0) == 0
    GraphEditor(store, spark).apply(read_change(spark, ChangeKind.INSERT, None, line))
    store.save(tmp_path / "saved")
    opened = StaticStore(spark)
    opened.open(tmp_path / "saved")
    assert store_quads(opened) == store_quads(store)
    assert opened.lookup(f"<{EX}a>") == store.lookup(f"<{EX}a>") != 0
