"""Static data loaded from files and saved, in a process that does nothing else."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import sparkext
from bench.arrivals import ENCODED
from bench.arrivals.engine_peer import start_session
from bench.data.vocabulary import LOCALIZATION_GRAPH
from bench.large_static.making import Made
from bench.large_static.resident import Resident, files_below, java_process


@dataclass(frozen=True)
class Loaded:
    """Seconds, MiB of both processes at most until the data were loaded and until they were saved, bytes on disk."""

    load_s: float
    load_mib: float
    save_s: float
    save_mib: float
    terms_bytes: int
    tables_bytes: int


def load(made: Made, folder: Path, heap: str, keep_files: bool) -> Loaded:
    """Loads the files of a world and saves what they became in the folder, ENCODED; deletes the files in between."""
    spark = start_session(made.scale, {"spark.driver.memory": heap})
    java = java_process(spark)
    engine = sparkext.Engine(spark)
    try:
        started = time.perf_counter()
        engine.load_static(made.static_files)
        engine.load_static(made.localization, graph=LOCALIZATION_GRAPH)
        load_s = time.perf_counter() - started
        load_mib = Resident.of(java).peak_mib
        if not keep_files:
            for path in made.static_files:
                path.unlink()
        started = time.perf_counter()
        engine.save_static(folder / ENCODED, overwrite=True)
        save_s = time.perf_counter() - started
        return Loaded(
            load_s=load_s,
            load_mib=load_mib,
            save_s=save_s,
            save_mib=Resident.of(java).peak_mib,
            **saved_bytes(folder / ENCODED),
        )
    finally:
        engine.close()


def saved_bytes(folder: Path) -> dict[str, int]:
    """What terms take in a folder that `save_static` wrote, and what tables and all the rest take."""
    found = {"terms_bytes": 0, "tables_bytes": 0}
    for path in files_below(folder):
        of_terms = path.relative_to(folder).parts[0].startswith(("terms", "dictionary"))
        found["terms_bytes" if of_terms else "tables_bytes"] += path.stat().st_size
    return found
