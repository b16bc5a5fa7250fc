"""The notebooks of `examples/notebooks` run, and show what they are there to show."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "examples" / "notebooks"

# What the HTML of some cell has, and what of none.
SHOWN = {
    "rooms": [
        "REGISTER RSTREAM :where",
        "Bob &lt;the builder&gt;</span></td>",
        "operators of ",
        "ClusterJoin",
        "changes of the join order",
        '<td style="text-align: left; vertical-align: top">http://example.org/sightings</td>',
    ],
    "live_answers": ["Room 3</span></td>", "operators of the query", "22.5"],
}
NEVER = "<the builder>"


@pytest.mark.parametrize("name", SHOWN)
def test_notebook(name: str, tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        startup_timeout=300,
        iopub_timeout=60,
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute(env={**os.environ, "PYTHONPATH": path})
    pages = "".join(html_of(cell) for cell in notebook.cells)
    assert [wanted for wanted in SHOWN[name] if wanted not in pages] == []
    assert NEVER not in pages
    if name == "live_answers":
        (widget,) = (
            model["state"]["state"]
            for model in notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"][
                "state"
            ].values()
            if model["model_name"] == "AnyModel"
        )
        assert widget["columns"] == ["room", "most"]
        assert [row[0][0] for row in widget["rows"]] == ["Room 1", "Room 2", "Room 3"]


def html_of(cell: Any) -> str:
    """The HTML that a cell shows."""
    outputs = cell.get("outputs", [])
    return "".join(o["data"].get("text/html", "") for o in outputs if "data" in o)


def test_there_are_no_others() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(SHOWN)
