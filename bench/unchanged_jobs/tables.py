"""The static tables of the jobs, as Parquet."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

TABLES = {
    "sensors": "id sensor, concat('s', id) kind, cast(id % 100 as double) threshold, id % 10000 room",
    "people": "id person, concat('p', id) name, id % 10000 room",
    "products": "id product, concat('t', id) title, concat('c', id % 10) category, cast(id % 97 as double) price",
    "customers": "id customer, concat('segment ', id % 7) segment, id % 50 country",
    "stores": "id store, concat('city ', id % 300) city",
    "accounts": "id account, id * 31 balance, cast(id % 13 as int) branch, concat('h', id % 1000) holder",
}
ROWS = {
    "sensors": 2_000_000,
    "people": 500_000,
    "products": 200_000,
    "customers": 500_000,
    "stores": 5_000,
    "accounts": 20_000_000,
}


def write_tables(spark: SparkSession, folder: Path, names: list[str]) -> None:
    """Writes tables with all their rows, and beside each how many these are."""
    for name in names:
        spark.sql(f"SELECT {TABLES[name]} FROM range({ROWS[name]})").write.parquet(
            str(folder / name)
        )
        (folder / f"{name}.rows").write_text(str(ROWS[name]))


if __name__ == "__main__":
    made = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    write_tables(made, Path(sys.argv[1]), sys.argv[2].split(","))
