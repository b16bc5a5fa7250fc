"""The list of rooms in docs/architecture.md, made of their order and of what stands on their doors.

``python -m tests.rooms_page`` puts it there anew.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from tests.layering import ORDER

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: made by python -m tests.rooms_page -->", "<!-- end of rooms -->"


def door(name: str) -> str:
    """The first paragraph that a package or module says of itself, without its full stop."""
    path = ROOT.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    said = ast.get_docstring(ast.parse(file.read_text())) or ""
    return " ".join(said.split("\n\n")[0].split()).rstrip(".")


def rooms() -> str:
    """All layers, the highest first: a line for each room."""
    lines = ["| layer | room | on its door |", "| --- | --- | --- |"]
    for number in range(len(ORDER), 0, -1):
        for name in ORDER[number - 1]:
            said = door(name).replace("|", "\\|")
            lines.append(f"| {number} | `{name.replace('.', '/')}` | {said} |")
    return "\n".join(lines)


def page(text: str) -> str:
    """The page with its list of rooms made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{rooms()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
    sys.stdout.write(f"{PAGE} is up to date\n")
