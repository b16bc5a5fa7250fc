"""How `make site` builds the pages: Sphinx reads Markdown by MyST, furo dresses it, nothing is fetched."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import sparkext

project = "spark-cqels"
release = version = sparkext.__version__
copyright = "the spark-cqels authors"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinxarg.ext"]
templates_path: list[str] = []
exclude_patterns: list[str] = []

myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4  # links such as streams.md#windows, as on GitHub
highlight_language = "text"
pygments_style = "friendly"
# RSP-QL has words that the lexer of SPARQL does not know.
suppress_warnings = ["misc.highlighting_failure"]

# Docstrings are plain sentences with code in single backticks.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_class_signature = "mixed"

# On GitHub the change log lies beside the folder; here it is a page.
_CHANGES = ("(../CHANGELOG.md)", "(changes.md)")


def _link_changes(app: object, page: str, source: list[str]) -> None:
    source[0] = source[0].replace(*_CHANGES)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _link_changes)


html_theme = "furo"
html_title = "spark-cqels"
html_show_sourcelink = False
html_copy_source = False
html_static_path: list[str] = []
