"""A program run as a whole, and the same program ended after each of its steps and begun again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkext import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.answering.answers import Answers

Step = Callable[[Engine], object]
Told = dict[tuple[str, int], tuple[int, list[Any]]]
"""Sequence number and sorted rows by query and instant."""


@dataclass
class Program:
    """What is loaded and registered, and the steps that follow; queries by name."""

    streams: Sequence[str]
    queries: dict[str, Any]
    steps: Sequence[Step]
    begin: Step = lambda engine: None
    told: Told = field(default_factory=dict)

    def begun(self, spark: SparkSession, checkpoint: Path | None, told: Told) -> Engine:
        engine = Engine(spark, checkpoint=checkpoint)
        self.begin(engine)
        for iri in self.streams:
            engine.register_stream(iri)
        for name, text in self.queries.items():
            engine.register_query(text, name).subscribe(noting(told))
        return engine

    def whole(self, spark: SparkSession) -> Told:
        """What the queries answer when nothing comes between."""
        told: Told = {}
        with closing(self.begun(spark, None, told)) as engine:
            for step in self.steps:
                step(engine)
            engine.finish()
        return told

    def broken(self, spark: SparkSession, folder: Path, commit: int, end: int) -> Told:
        """What they answer when a process commits after some steps, is killed after others, and begun again."""
        told: Told = {}
        folder.mkdir(exist_ok=True)
        lived, copy = folder / f"lived-{commit}-{end}", folder / f"left-{commit}-{end}"
        with closing(self.begun(spark, lived, told)) as engine:
            for number, step in enumerate(self.steps[:end]):
                if number == commit:
                    engine.commit()
                step(engine)
            if commit == end:
                engine.commit()
            leave(lived, copy)
        again: Told = {}
        with closing(self.begun(spark, copy, again)) as engine:
            for step in self.steps[commit:]:
                step(engine)
            engine.finish()
        for key, answer in again.items():
            assert told.get(key, answer) == answer, f"{key} is answered again, and otherwise"
        return {**told, **again}


def leave(lived: Path, copy: Path) -> None:
    """What a process leaves that is killed now: its folder, and nobody who uses it."""
    shutil.copytree(lived, copy)
    for owner in copy.glob("*owner-*"):
        owner.unlink()


def noting(told: Told) -> Callable[[Answers], None]:
    def note(answers: Answers) -> None:
        key = (answers.query, answers.time)
        assert key not in told, f"{key} twice"
        told[key] = (answers.sequence, sorted(answers.rows(), key=repr))

    return note
