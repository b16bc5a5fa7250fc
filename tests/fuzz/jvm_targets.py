"""What the JVM reads: lines, elements of streams as text and as columns, saved stores; many cases in one call."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Sequence
from contextlib import closing
from functools import cached_property, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from sparkext.recorded_streams import StreamElement
from static_data.files.rdf_formats import RdfFormat
from tests.fuzz.files import SAMPLES
from tests.fuzz.mutations import mutated_bytes, mutated_text
from tests.fuzz.outcomes import ANSWER, RAW, bytes_of, outcome, text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

_LINES: Final = tuple(
    line for sample in SAMPLES[RdfFormat.N_QUADS] for line in sample.split("\n") if line
)
_numbers = itertools.count()


class TextLines:
    """Lines of N-Triples and N-Quads; each case is one, in a text of many."""

    name = "lines"
    batch = 500

    def __init__(self, spark: SparkSession) -> None:
        from static_data.jvm import extension

        made = extension(spark).rdf.CanonicalLines
        self._readers = [
            made(graphs, rdf12, way)
            for graphs, rdf12, way in (
                (True, False, "skip"),
                (False, True, "skip"),
                (True, False, "accept"),
            )
        ]

    def case(self, random: Random) -> bytes:
        text = mutated_text(random, random.choice(_LINES), _LINES)
        return bytes_of(text.replace("\n", " ").replace("\r", " "))

    def run(self, cases: Sequence[bytes]) -> list[str]:
        lines = [_encodable(case) for case in cases]
        told = [ANSWER] * len(cases)
        for reader in self._readers[:2]:
            try:
                reader.read("\n".join(lines))
                for problem in reader.skipped():
                    told[problem.line() - 1] = "MalformedLine"
            except Exception as error:
                if len(cases) == 1:
                    return [f"{RAW}: {type(error).__name__}: {str(error)[:300]}"]
                half = len(cases) // 2
                return [*self.run(cases[:half]), *self.run(cases[half:])]
        for case, line in zip(range(len(cases)), lines, strict=True):
            if case % 50 == 0:  # "accept" ends with the first problem: a few by themselves
                told[case] = next(
                    (
                        t
                        for t in (outcome(lambda line=line: self._readers[2].read(line)),)
                        if t.startswith(RAW)
                    ),
                    told[case],
                )
        return told


def _encodable(case: bytes) -> str:
    return case.decode("utf-8", "replace")


class StreamElements:
    """Elements of a stream as callers push them: a time, perhaps a graph, N-Triples."""

    name = "elements"
    batch = 200

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @cached_property
    def _engine(self) -> Engine:
        from sparkext import Engine

        engine = Engine(self._spark)
        engine.register_stream("http://e/s")
        engine.register_query(
            "PREFIX : <http://e/> REGISTER RSTREAM :q AS SELECT (COUNT(*) AS ?n)"
            " FROM NAMED WINDOW :w ON :s [RANGE 50] { WINDOW :w { ?s ?p ?o } }"
        )
        return engine

    def case(self, random: Random) -> bytes:
        text = mutated_text(random, random.choice(_LINES), _LINES)
        time = str(
            random.choice((0, 1, 5, 1 << 40, -5, 1 << 52, 1 << 62, 1 << 70))
            + random.randrange(1000)
        )
        graph = random.choice(
            ("", "<http://e/g1>", "_:g", "x", mutated_text(random, "<http://e/g>"))
        )
        return bytes_of(f"{time}\n{graph}\n".replace("\ud800", "")) + bytes_of(text)

    def run(self, cases: Sequence[bytes]) -> list[str]:
        elements = []
        for case in cases:
            time, graph, text = [*text_of(case).split("\n", 2), "", ""][:3]
            elements.append(StreamElement(int(time), graph or None, (text,)))
        stream = self._engine.stream("http://e/s")
        told = outcome(lambda: stream.push_elements(elements))
        if told == ANSWER or len(cases) == 1:
            return [told] * len(cases)
        # One that is refused as an argument takes the others with it.
        half = len(cases) // 2
        return [*self.run(cases[:half]), *self.run(cases[half:])]


class StreamColumns:
    """Tables of a stream's triples: whatever types and values its columns have."""

    name = "columns"
    batch = 1

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @cached_property
    def _engine(self) -> Engine:
        from sparkext import Engine

        engine = Engine(self._spark)
        engine.register_stream("http://e/s")
        return engine

    def case(self, random: Random) -> bytes:
        texts = [
            mutated_text(
                random,
                random.choice(("<http://e/a>", "_:b", '"x"@en', "http://e/a", "5", "2026-01-31")),
            )
            for _ in range(4)
        ]
        kinds = "".join(random.choice("ssssidbtnl") for _ in range(4))
        return bytes_of(kinds + "\x1e" + "\x1e".join(texts))

    def run(self, cases: Sequence[bytes]) -> list[str]:
        return [outcome(partial(self._push, case)) for case in cases]

    def _push(self, case: bytes) -> None:
        kinds, *texts = text_of(case).split("\x1e")
        names = ("subject", "predicate", "object", "time")
        columns: dict[str, Any] = {}
        for name, kind, text in zip(names, kinds, texts, strict=False):
            columns[name] = _column(kind, text.encode("utf-8", "replace").decode())
        self._engine.stream("http://e/s").push_table(pa.table(columns))


def _column(kind: str, text: str) -> pa.Array:
    digits = int("".join(c for c in text if c in "0123456789")[:18] or "0")
    match kind:
        case "i":
            return pa.array([digits, 1])
        case "d":
            return pa.array([digits / 7, float("nan")])
        case "b":
            return pa.array([text.encode(), b"\xff"])
        case "t":
            return pa.array([digits % (1 << 40), None], pa.timestamp("ms", "UTC"))
        case "n":
            return pa.nulls(2)
        case "l":
            return pa.array([[text], []])
    return pa.array([text, "<http://e/x>"])


class DamagedStores:
    """A saved store with damaged bytes in one of its files; a case is the file's name, a line end and its bytes."""

    name = "stores"
    batch = 1

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._folder = TemporaryDirectory(prefix="cqels-fuzz-")

    @cached_property
    def _saved(self) -> Path:
        from sparkext import Engine

        folder = Path(self._folder.name)
        data = folder / "data.nt"
        lines = (
            f'<http://e/s{n % 40}> <http://e/p{n % 3}> "{"x" * (n % 60)}{n}" .\n'
            for n in range(400)
        )
        data.write_text("".join(lines))
        self._spark.conf.set("spark.cqels.mappedIndexes.minRows", "0")
        self._spark.conf.set("spark.cqels.load.driverMaxBytes", "0")
        try:
            engine = Engine(self._spark)
        finally:
            self._spark.conf.unset("spark.cqels.mappedIndexes.minRows")
            self._spark.conf.unset("spark.cqels.load.driverMaxBytes")
        engine.load_static(data, progress=False)
        engine.save_static(folder / "saved")
        engine.close()
        return folder / "saved"

    def case(self, random: Random) -> bytes:
        files = sorted(
            p for p in self._saved.rglob("*") if p.is_file() and not p.name.startswith(".")
        )
        chosen = random.choice(files)
        content = chosen.read_bytes()
        damaged = mutated_bytes(random, content)
        if random.random() < 0.7:  # of the same length, so that it passes for a whole one
            damaged = (damaged + content)[: len(content)]
        return chosen.relative_to(self._saved).as_posix().encode() + b"\n" + damaged

    def run(self, cases: Sequence[bytes]) -> list[str]:
        return [outcome(partial(self._open, case)) for case in cases]

    def _open(self, case: bytes) -> None:
        from sparkext import Engine

        name, _, content = case.partition(b"\n")
        copy = Path(self._folder.name) / f"case-{next(_numbers)}"
        shutil.copytree(self._saved, copy)
        try:
            target = copy / name.decode()
            target.unlink(missing_ok=True)
            (target.parent / f".{target.name}.crc").unlink(missing_ok=True)
            target.write_bytes(content)
            engine = Engine(self._spark)
            try:
                engine.open_static(copy)
                engine.select(
                    "SELECT * { ?s <http://e/p1> ?o . ?s <http://e/p2> ?q }"
                ).answer().rows()
                engine.select(
                    "SELECT * { <http://e/s1> ?p ?o FILTER(STRLEN(?o) > 5) }"
                ).answer().rows()
            finally:
                engine.close()
        finally:
            shutil.rmtree(copy, ignore_errors=True)


class DamagedCheckpoints:
    """A checkpoint with damaged bytes in one of its files, taken up again; a case is as that of `DamagedStores`."""

    name = "checkpoints"
    batch = 1

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._folder = TemporaryDirectory(prefix="cqels-fuzz-")

    @cached_property
    def _kept(self) -> Path:
        from sparkext import Engine

        kept = Path(self._folder.name) / "kept"
        with closing(Engine(self._spark, checkpoint=kept)) as engine:
            self._run(engine, 0)
        return kept

    def case(self, random: Random) -> bytes:
        files = sorted(p for p in self._kept.rglob("*") if p.is_file() and p.stat().st_size)
        chosen = random.choice(files)
        return (
            chosen.relative_to(self._kept).as_posix().encode()
            + b"\n"
            + mutated_bytes(random, chosen.read_bytes())
        )

    def run(self, cases: Sequence[bytes]) -> list[str]:
        return [outcome(partial(self._take_up, case)) for case in cases]

    def _take_up(self, case: bytes) -> None:
        from sparkext import Engine

        name, _, content = case.partition(b"\n")
        copy = Path(self._folder.name) / f"case-{next(_numbers)}"
        shutil.copytree(self._kept, copy)
        try:
            target = copy / name.decode()
            (target.parent / f".{target.name}.crc").unlink(missing_ok=True)
            target.write_bytes(content)
            with closing(Engine(self._spark, checkpoint=copy)) as engine:
                self._run(engine, 100)
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    @staticmethod
    def _run(engine: Engine, begin: int) -> None:
        engine.register_stream("http://e/s")
        engine.register_query(
            "PREFIX : <http://e/> REGISTER ISTREAM :q AS SELECT ?s (COUNT(*) AS ?n)"
            " FROM NAMED WINDOW :w ON :s [RANGE 50] { WINDOW :w { ?s ?p ?o } ?s :is ?k } GROUP BY ?s"
        )
        engine.insert("<http://e/s1> <http://e/is> <http://e/k> .")
        stream = engine.stream("http://e/s")
        for n in range(6):
            stream.push(f'<http://e/s{n % 2}> <http://e/p> "v{begin + n}" .', begin + n * 7)
        engine.advance_to(begin + 40)
