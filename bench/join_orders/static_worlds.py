"""The static data of streams, made once for all that share them: as engines open them, and as integers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pyspark.sql import SparkSession

import sparkext
from bench.join_orders.batch_streams import BatchStream, StaticWorld, write_static
from bench.join_orders.integer_relations import StaticIntegers
from bench.report import progress


@dataclass(frozen=True)
class StaticData:
    """A world's data, encoded in a folder."""

    world: StaticWorld
    folder: Path

    @cached_property
    def integers(self) -> StaticIntegers:
        """The data as integers, made when they are first asked for."""
        return StaticIntegers(self.world)


class StaticWorlds:
    """The data of each world that was asked for, under one folder."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._made: dict[StaticWorld, StaticData] = {}

    def of(self, stream: BatchStream) -> StaticData:
        """The static data of a stream."""
        if stream.world not in self._made:
            progress(f"making and loading static data of {stream.name}")
            text = self._folder / f"{len(self._made)}.nt"
            write_static(stream.world, text)
            engine = sparkext.Engine(self._spark)
            try:
                engine.load_static(text, progress=False)
                engine.save_static(text.with_suffix(""))
            finally:
                engine.close()
            self._made[stream.world] = StaticData(stream.world, text.with_suffix(""))
        return self._made[stream.world]
