"""A program run as a whole, and the same program ended after each of its steps and begun again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkext import Engine
from sparkext.runtime.answering.revised_answers import RevisedAnswers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.answering.answers import Answers

Step = Callable[[Engine], object]
Told = dict[tuple[str, int, int], tuple[int, list[Any]]]
"""Sequence number and sorted rows by query, instant and revision; of a revision also what it adds and removes."""


@dataclass
class Program:
    """What is loaded and registered, and the steps that follow; queries by name.

    `lateness` is what streams are registered with, by IRI. `heard` is all that was told, in order, what came after
    the commit twice.
    """

    streams: Sequence[str]
    queries: dict[str, Any]
    steps: Sequence[Step]
    begin: Step = lambda engine: None
    told: Told = field(default_factory=dict)
    lateness: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    heard: list[Answers] = field(default_factory=list)

    def begun(self, spark: SparkSession, checkpoint: Path | None, told: Told) -> Engine:
        engine = Engine(spark, checkpoint=checkpoint)
        self.begin(engine)
        for iri in self.streams:
            engine.register_stream(iri, **self.lateness.get(iri, {}))
        for name, text in self.queries.items():
            query = engine.register_query(text, name)
            query.subscribe(noting(told))
            query.subscribe(self.heard.append)
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
            before = told.get(key, answer)
            assert before == answer, f"{key} is answered again, not {before} but {answer}"
        return {**told, **again}


def leave(lived: Path, copy: Path) -> None:
    """What a process leaves that is killed now: its folder, and nobody who uses it."""
    while True:
        try:
            shutil.copytree(lived, copy)
            break
        except shutil.Error:  # a file went while it was copied: commits are made meanwhile
            shutil.rmtree(copy)
    for owner in copy.glob("*owner-*"):
        owner.unlink()


def noting(told: Told) -> Callable[[Answers], None]:
    def note(answers: Answers) -> None:
        key = (answers.query, answers.time, answers.revision)
        assert key not in told, f"{key} twice"
        rows: list[Any] = sorted(answers.rows(), key=repr)
        if isinstance(answers, RevisedAnswers):
            rows += [answers.retracted, bag(answers.added), bag(answers.removed)]
        told[key] = (answers.sequence, rows)

    return note


def bag(table: pa.Table) -> list[Any]:
    return [table.num_rows, *sorted(map(repr, table.to_pylist()))]
