"""The example of docs/uncertainty.md runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "uncertainty.md"


@pytest.mark.usefixtures("spark")
def test_the_oxygen_alarm(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    exec(compile(code.group(1), str(PAGE), "exec"), {})
    printed = capsys.readouterr().out
    assert "r3" in printed and "r4" in printed and "r1" not in printed and "r2" not in printed
    assert "9.0319" in printed and "9.3319" in printed
    assert "8 calls" in printed
