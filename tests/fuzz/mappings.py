"""Mappings with the rows they are applied to, answers to be checked and settings, damaged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from sparkext.config import Settings, keys
from sparkext.language import parse_query
from sparkext.oracle.answer_files import read_answers
from static_data.mappings.materialise import Materialiser
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.source_rows import rows_of_source
from tests.fuzz.mutations import mutated_bytes, mutated_text
from tests.fuzz.outcomes import bytes_of, outcome, text_of
from tests.static_data.mappings.mapping_cases import RML_CASES, MappingCase
from tests.static_data.mappings.more_mapping_cases import MORE_RML_CASES

_SPLIT = b"\n#### "
_ALL: list[MappingCase] = [*RML_CASES, *MORE_RML_CASES]


class DamagedMappings:
    """A mapping and its files, each after a line `#### name`; one of them is damaged."""

    name = "mappings"
    batch = 1

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="cqels-fuzz-")

    @cached_property
    def _texts(self) -> list[str]:
        return [one.mapping for one in _ALL]

    def case(self, random: Random) -> bytes:
        one = random.choice(_ALL)
        files = {f"mapping.{one.ending}": one.mapping, **one.files}
        damaged = random.choice([*files, f"mapping.{one.ending}", f"mapping.{one.ending}"])
        files[damaged] = mutated_text(random, files[damaged], self._texts)
        parts = [name.encode() + b"\n" + bytes_of(text) for name, text in files.items()]
        content = b"".join(_SPLIT + part for part in parts)
        return mutated_bytes(random, content) if random.random() < 0.05 else content

    def run(self, cases: Sequence[bytes]) -> list[str]:
        return [outcome(partial(self._read, case)) for case in cases]

    def _read(self, case: bytes) -> None:
        folder = Path(self._folder.name)
        written: list[Path] = []
        for part in case.split(_SPLIT)[1:]:
            name, _, content = part.partition(b"\n")
            path = folder / (
                name.decode("ascii", "replace").replace("/", "_").replace("\0", "_")[:80] or "x"
            )
            path.write_bytes(content)
            written.append(path)
        try:
            if written:
                self._quads(written[0])
        finally:
            for path in written:
                path.unlink(missing_ok=True)

    @staticmethod
    def _quads(file: Path) -> None:
        mapping = read_mapping(file)
        for mapped in mapping.rows:
            sources = {*mapped.parents(), mapped.source}
            rows = {s: rows_of_source(s, str(file), lambda name: None) for s in sources}
            Materialiser(mapped, rows).quads(rows[mapped.source])


class DamagedAnswers:
    """Files of answers that `cqels check` is to judge."""

    name = "answer-files"
    batch = 1
    _samples = (
        '{"time": "2026-01-31T10:00:00.000Z", "head": {"vars": ["x", "y"]}, "results": {"bindings": '
        '[{"x": {"type": "uri", "value": "http://e/a"}, '
        '"y": {"type": "literal", "value": "1", "datatype": "http://e/t"}}]}}\n',
        '{"time": 5, "head": {"vars": ["x", "y"]}, "results": {"bindings": [{"x": '
        '{"type": "triple", "value": {"subject": '
        '{"type": "bnode", "value": "b"}, "predicate": {"type": "uri", "value": "http://e/p"}, '
        '"object": {"type": "literal", '
        '"value": "x", "xml:lang": "en"}}}}]}}\n'
        '{"time": 6, "head": {"vars": []}, "results": {"bindings": []}}',
        '{"time": 5, "boolean": true}',
    )

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="cqels-fuzz-")
        self._query = parse_query("SELECT ?x ?y { ?x ?p ?y }")
        self._ask = parse_query("ASK { ?x ?p ?y }")

    def case(self, random: Random) -> bytes:
        return bytes_of(mutated_text(random, random.choice(self._samples), self._samples))

    def run(self, cases: Sequence[bytes]) -> list[str]:
        told = []
        file = Path(self._folder.name) / "answers.jsonl"
        for case in cases:
            file.write_bytes(case)
            both = [
                outcome(partial(read_answers, file, query)) for query in (self._query, self._ask)
            ]
            told.append(next((one for one in both if one.startswith("raw")), both[0]))
        return told


class DamagedSettings:
    """Values of configuration keys, and keys that are none."""

    name = "settings"
    batch = 1
    _values = (
        "true",
        "5",
        "PT5S",
        "30%",
        "2g",
        "rspql",
        "5min",
        "0.5",
        "2026-01-31T10:00:00Z",
        "set",
    )

    def case(self, random: Random) -> bytes:
        key = random.choice([key.name for key in keys()])
        if random.random() < 0.1:
            key = mutated_text(random, key)
        return bytes_of(f"{key}={mutated_text(random, random.choice(self._values))}")

    def run(self, cases: Sequence[bytes]) -> list[str]:
        return [outcome(partial(self._read, case)) for case in cases]

    @staticmethod
    def _read(case: bytes) -> None:
        key, _, value = text_of(case).partition("=")
        Settings.from_mapping({key: value})
