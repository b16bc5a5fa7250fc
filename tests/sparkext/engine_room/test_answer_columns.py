"""The file that answers are written into."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError

from tests.sparkext.engine_room.live_room import LiveRoom


def test_answers_that_cannot_be_written_leave_no_file(live: LiveRoom, tmp_path: Path) -> None:
    texts = live.cqels.StaticTexts(live.dictionary)
    known = live.dictionary.encodeRetained("<http://e/known>")
    rows = live.cqels.LongTable(2, 4)
    rows.set(rows.appendRow(), known)
    rows.set(1, (1 << 58) + 17)  # the first column is in the file by the time that this is met
    path = tmp_path / "answers"
    write = live.cqels.AnswerColumns.write
    with pytest.raises(Py4JJavaError, match="UnknownTermException"):
        write(rows, 2, texts, str(path))
    assert not path.exists()
    write(rows, 1, texts, str(path))
    written = path.read_bytes()
    assert b"<http://e/known>" in written
    with pytest.raises(Py4JJavaError, match="FileAlreadyExists"):
        write(rows, 1, texts, str(path))
    assert path.read_bytes() == written
