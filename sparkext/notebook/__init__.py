"""Notebooks: a query in, a widget out that shows its answers as they come; needs the extra `notebook`."""

from __future__ import annotations

from sparkext.notebook.live_answers import live_answers

__all__ = ["live_answers"]
