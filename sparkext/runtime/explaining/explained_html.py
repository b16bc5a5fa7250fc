"""What `explain()` shows in a notebook: the text of the orders, the operators as a tree."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from sparkext.answers.html_tables import folded, text_block


def explained_html(data: Mapping[str, Any], text: str) -> str:
    """A plan: its text, and the trees of its operators with the rows and milliseconds of the last evaluation."""
    trees = "".join(
        folded(f"operators of {plan['plan']}", f"<ul>{_operator(plan['root'])}</ul>", open=True)
        for plan in data["operators"]
    )
    told = text.split("\noperators of ", 1)[0]
    return text_block(told) + trees + folded("Spark's plan", text_block(str(data["spark_plan"])))


def _operator(operator: Mapping[str, Any]) -> str:
    rows, seconds = operator["actual_rows"], operator["seconds"]
    counted = "" if rows is None else f" <b>{rows:,} rows</b>"
    took = "" if seconds is None else f" {seconds * 1e3:.3f} ms"
    name = f"{escape(operator['operator'])} <code>{escape(operator['detail'] or '')}</code>"
    children = "".join(_operator(child) for child in operator["children"])
    return f"<li>{name}{counted}{took}{f'<ul>{children}</ul>' if children else ''}</li>"
