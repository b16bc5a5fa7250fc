"""The file that answers are written into."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError

from sparkext.runtime.answering import answers_file
from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.windows.stream_blocks import iri


def test_answers_that_cannot_be_written_leave_no_file(live: LiveRoom, tmp_path: Path) -> None:
    columns = live.cqels.answers.AnswerColumns(live.cqels.answers.StaticTexts(live.dictionary))
    known = live.dictionary.encodeRetained("<http://e/known>")
    rows = live.cqels.memory.LongTable(2, 4)
    rows.set(rows.appendRow(), known)
    rows.set(1, (1 << 58) + 17)  # the first column is in the file by the time that this is met
    path = tmp_path / "answers"
    write = columns.write
    with pytest.raises(Py4JJavaError, match="UnknownTermException"):
        write(rows, 2, str(path))
    assert not path.exists()
    write(rows, 1, str(path))
    written = path.read_bytes()
    assert b"<http://e/known>" in written
    with pytest.raises(Py4JJavaError, match="FileAlreadyExists"):
        write(rows, 1, str(path))
    assert path.read_bytes() == written


def test_columns_are_laid_out_where_those_before_them_were(live: LiveRoom, tmp_path: Path) -> None:
    """Large and small answers, with and without unbound terms, one after the other; nothing of one is in the next."""
    rng = random.Random(3)
    columns = live.cqels.answers.AnswerColumns(live.cqels.answers.StaticTexts(live.dictionary))
    kept = []
    for number, size in enumerate((1, 3000, 7, 64, 65, 0, 20_000, 5, 5, 700)):
        unbound = rng.choice([0.0, 0.3, 1.0])
        terms = [iri("x" * rng.randrange(1, 40) + str(rng.randrange(50))) for _ in range(60)]
        values = [None if rng.random() < unbound else rng.choice(terms) for _ in range(2 * size)]
        rows = live.cqels.memory.LongTable(2, max(1, size))
        ids = {term: live.dictionary.encodeRetained(term) for term in terms}
        for at in range(size):
            place = rows.appendRow()
            for c in (0, 1):
                value = values[2 * at + c]
                rows.set(place + c, 0 if value is None else ids[value])
        path = tmp_path / str(number)
        told = json.loads(columns.write(rows, 2, str(path)))
        outcome = {"path": str(path), "answers": size, "columns": told}
        table = answers_file.take(outcome, ["a", "b"])
        table.validate(full=True)
        assert [table.column(c).to_pylist() for c in (0, 1)] == [values[0::2], values[1::2]]
        kept.append(columns.memoryBytes())
    assert kept[6] == max(kept) > 8 * kept[7], "room is given back after a peak"
    assert kept[2] == kept[1], "and kept where it is not much"
    columns.release()
    assert columns.memoryBytes() < kept[-1]
