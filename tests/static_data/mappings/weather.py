"""Weather observations of SRBench with the columns that its mapping asks for."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa

from static_data.mappings.row_mapping import Source
from static_data.mappings.source_rows import csv_tables

# The files have no line of names: time, station, and then the measurements.
_COLUMNS = {
    "timeformat": lambda row: row[0].replace(" ", "T"),
    "code": lambda row: f"S{row[1]}",
    "stationId": lambda row: row[1],
    "observationTime": lambda row: row[0],
    "temperature": lambda row: row[3],
    "relativeHumidity": lambda row: row[4],
    "precipitation": lambda row: row[8],
}


def with_header(source: Path, target: Path, rows: int) -> pa.Table:
    """Write the first rows of a file of observations as a CSV file with names; returns its table."""
    with source.open(newline="") as file, target.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(_COLUMNS)
        for number, row in enumerate(csv.reader(file)):
            if number == rows:
                break
            writer.writerow(column(row) for column in _COLUMNS.values())
    return pa.concat_tables(csv_tables(target, Source("lsd_observations")))
