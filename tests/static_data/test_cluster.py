"""Loading on a cluster, where executors share nothing with the driver but files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
import sparkext
from static_data.errors import MalformedRdfError
from static_data.store import DRIVER_BYTES, StaticStore

def main(folder):
    builder = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
    )
    spark = sparkext.configure(builder).getOrCreate()
    lines = [f"<http://e/{i}> <http://e/p> << <http://e/{i}> <http://e/q> {i % 7} >> .\\n" for i in range(150)]
    turtle = folder / "a.ttl"
    turtle.write_text("".join(lines))
    ntriples = folder / "b.nt"
    ntriples.write_text("".join(line.replace(f" {i % 7} >", f' "{i % 7}" >') for i, line in enumerate(lines)))
    for driver_bytes in (0, DRIVER_BYTES):  # loaded and saved by executors, and on the driver
        store = StaticStore(spark, work_dir=folder / "work", driver_bytes=driver_bytes)
        store.dictionary.setHashBits(10)
        report = store.load([turtle, ntriples])
        assert report.quads_added == 300, report
        assert store.dictionary.exceptionCount() > 0
        texts = {store.text(s) + store.text(o) for s, p, o, g in store.quads().collect()}
        assert len(texts) == 300
        assert store.catalogue().relation(0, None).rows == 300
        store.save(folder / f"saved-{driver_bytes}")
        again = StaticStore(spark, work_dir=folder / "again")
        again.dictionary.setHashBits(10)
        again.open(folder / f"saved-{driver_bytes}")
        assert {again.text(s) + again.text(o) for s, p, o, g in again.quads().collect()} == texts
    ntriples.write_text("oops")
    try:
        store.load(ntriples)
    except MalformedRdfError as error:
        assert (error.line, error.column) == (1, 1)
    else:
        raise AssertionError("the malformed file was loaded")
    spark.stop()
    print("all is well")

main(Path(sys.argv[1]))
"""


@pytest.mark.cluster
def test_a_cluster_loads_what_one_process_loads(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "all is well" in done.stdout
