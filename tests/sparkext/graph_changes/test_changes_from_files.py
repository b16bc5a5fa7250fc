"""Triples to insert, remove or put in place of a graph that come from files, and what is wrong with them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.graph_changes.watched import triple
from tests.sparkext.paper_examples.test_rspql_examples import E

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine


def test_what_is_malformed_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    from static_data.errors import MalformedRdfError, MissingFileError, StaticDataError

    with pytest.raises(MalformedRdfError, match="line 2, column"):
        engine.insert(triple("a", "b", "c") + "\n<a> nonsense .", at=5)
    with pytest.raises(MissingFileError):
        engine.replace_graph(None, tmp_path / "none.nt", at=5)
    with pytest.raises(StaticDataError, match="blank node"):
        engine.remove("_:x <http://e/p> <http://e/o> .")
    assert engine.graph_versions.waiting_count == 0
    assert engine.store.version == 0


@pytest.mark.parametrize("kind", ["replace", "insert"])
def test_blank_nodes_of_several_files_stay_apart(engine: Engine, tmp_path: Path, kind: str) -> None:
    """With a label and without one: the same ones in both files."""
    files = []
    for name in ("ann", "bob"):
        path = tmp_path / f"{name}.ttl"
        path.write_text(f'_:x <{E}name> "{name}" . [] <{E}nick> "{name}" .')
        files.append(path)
    if kind == "replace":
        engine.replace_graph(f"{E}plan", files)
    else:
        engine.insert(files, f"{E}plan")
    for predicate in ("name", "nick"):
        both = f"SELECT * {{ GRAPH ?g {{ ?x <{E}{predicate}> ?a , ?b }} }}"
        pairs = [row[2:] for row in engine.select(both).answer().rows()]
        assert sorted(pairs) == [('"ann"', '"ann"'), ('"bob"', '"bob"')]


@pytest.fixture
def elsewhere(spark: SparkSession, tmp_path: Path) -> str:
    """A folder on a file system of Hadoop's, which shows what is in `tmp_path`."""
    host = tmp_path.name.replace("_", "-")  # Hadoop keeps file systems, so each test has its own.
    key = f"fs.viewfs.mounttable.{host}.link./data"
    spark.sparkContext._jsc.hadoopConfiguration().set(key, tmp_path.as_uri())
    return f"viewfs://{host}/data"


def test_triples_of_files_elsewhere_are_changed(
    engine: Engine, elsewhere: str, tmp_path: Path
) -> None:
    (tmp_path / "a.nt").write_text(triple("door", "in", "hall"))
    with gzip.open(tmp_path / "b.ttl.gz", "wt") as file:
        file.write(triple("gate", "in", "yard"))
    files = [f"{elsewhere}/a.nt", f"{elsewhere}/b.ttl.gz"]
    engine.insert(files, f"{E}plan")
    graph = engine.store.graph_id(f"{E}plan")
    assert engine.store.row_count(graph) == 2
    engine.remove([files[1], str(tmp_path / "a.nt")], f"{E}plan")
    assert engine.store.row_count(graph) == 0
    engine.insert(files, f"{E}plan")
    engine.remove(files, f"{E}plan")
    assert engine.store.row_count(graph) == 0


def test_a_problem_in_a_file_elsewhere_names_it(
    engine: Engine, elsewhere: str, tmp_path: Path
) -> None:
    from static_data.errors import MalformedRdfError, StaticDataError

    (tmp_path / "broken.nt").write_text("\n\nnonsense .")
    with pytest.raises(MalformedRdfError, match=f"^{elsewhere}/broken.nt, line 3"):
        engine.remove(f"{elsewhere}/broken.nt")
    (tmp_path / "blank.ttl").write_text(f"[] <{E}in> <{E}hall> .")
    with pytest.raises(StaticDataError, match=f"^{elsewhere}/blank.ttl: a blank node"):
        engine.remove(f"{elsewhere}/blank.ttl")


@pytest.mark.parametrize("bytes_read_here", [8 << 20, 0])
def test_files_that_name_graphs_change_nothing(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_read_here: int
) -> None:
    """Those that are too large to be read on the driver, too, also with the graph that is meant."""
    from static_data import graph_changes
    from static_data.errors import MalformedRdfError

    monkeypatch.setattr(graph_changes, "_READ_HERE", bytes_read_here)
    engine.insert(triple("door", "in", "hall"), f"{E}plan")
    before = engine.store.version
    quads = tmp_path / "large.nq"
    quads.write_text(f"# rooms\n{triple('a', 'in', 'b')}\n<{E}c> <{E}in> <{E}d> <{E}plan> .\n")
    column = len(f"<{E}c> <{E}in> <{E}d> ") + 1
    place = rf"large\.nq, line 3, column {column}: expected the closing '\.'"
    trig = tmp_path / "large.trig"
    trig.write_text(f"<{E}a> <{E}in> <{E}b> . <{E}other> {{ <{E}c>\n  <{E}in> <{E}d> }}")
    for file, words in ((quads, place), (trig, rf"large\.trig: .* in: <{E}c> .* <{E}other> \.$")):
        for change in (engine.replace_graph, lambda graph, file: engine.insert(file, graph)):
            with pytest.raises(MalformedRdfError, match=words):
                change(f"{E}plan", file)
    assert engine.store.version == before
    assert [graph.text for graph in engine.store.graphs()] == [None, f"<{E}plan>"]
    quads.write_text(triple("gate", "in", "yard"))
    engine.replace_graph(f"{E}plan", quads)
    assert engine.store.row_count(engine.store.graph_id(f"{E}plan")) == 1
