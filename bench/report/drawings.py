"""Rows of a bench in, drawings of matplotlib as SVG text out."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Rows = Sequence[Mapping[str, Any]]

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart; ours comes first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
STYLE: Any = {
    "font.size": 9,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "svg.fonttype": "none",
    "figure.constrained_layout.use": True,
}


@dataclass(frozen=True)
class Series:
    """One line or group of bars: what it is called, and values by x; `paper` for what a paper reports."""

    name: str
    points: Mapping[Any, float]
    paper: bool = False


def series(rows: Rows, x: str, y: str, name: str, scale: float = 1.0) -> Series:
    """A column over another one; rows without either are left out, and none may have the same place as another.

    >>> series([{"n": 1, "ms": 2.0}, {"n": 2, "ms": None}], "n", "ms", "ours").points
    {1: 2.0}
    """
    found: dict[Any, float] = {}
    for row in rows:
        if row.get(x) is None or not isinstance(row.get(y), int | float):
            continue
        if row[x] in found:
            raise ValueError(f"{y}: two rows whose {x} is {row[x]}")
        found[row[x]] = row[y] * scale
    return Series(name, found)


def lines(
    title: str,
    given: Iterable[Series],
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = True,
) -> str | None:
    """Lines over numbers; None where there is nothing to draw."""
    shown = [one for one in given if one.points]

    def draw(axes: Any) -> None:
        for number, one in enumerate(shown):
            points = sorted(one.points.items())
            colour = COLOURS[number % len(COLOURS)]
            style = {"linestyle": "--", "marker": "x"} if one.paper else {"marker": "o"}
            axes.plot(*zip(*points, strict=True), color=colour, label=one.name, ms=4, **style)
        if log_x:
            axes.set_xscale("log")
        if log_y:
            axes.set_yscale("log")

    return _drawn(title, x_label, y_label, draw, legend=len(shown) > 1) if shown else None


def bars(
    title: str, given: Iterable[Series], x_label: str, y_label: str, log_y: bool = True
) -> str | None:
    """Bars side by side over names; None where there is nothing to draw."""
    shown = [one for one in given if one.points]
    names = list(dict.fromkeys(name for one in shown for name in one.points))
    if not names:
        return None

    def draw(axes: Any) -> None:
        width = 0.8 / len(shown)
        for number, one in enumerate(shown):
            places = [
                names.index(name) + (number - (len(shown) - 1) / 2) * width for name in one.points
            ]
            axes.bar(
                places,
                list(one.points.values()),
                width * 0.95,
                color=COLOURS[number % len(COLOURS)],
                label=one.name,
                hatch="//" if one.paper else None,
                edgecolor="white",
                linewidth=0.3,
            )
        axes.set_xticks(
            range(len(names)), [str(n) for n in names], rotation=30 if len(names) > 8 else 0
        )
        axes.grid(False, axis="x")
        if log_y:
            axes.set_yscale("log")

    return _drawn(title, x_label, y_label, draw, legend=len(shown) > 1, wide=len(names) > 8)


def instants(title: str, rows: Rows, x_label: str) -> str | None:
    """When each setting answers: a line for each, a dot at each instant; rings are what is printed."""
    if not rows:
        return None

    def draw(axes: Any) -> None:
        settings = [row["setting"] for row in rows]
        for place, row in enumerate(rows):
            printed, ours = row["printed_instants"], row["instants"]
            axes.plot(printed, [place] * len(printed), "o", ms=11, mfc="none", color=COLOURS[1])
            axes.plot(ours, [place] * len(ours), "o", ms=5, color=COLOURS[0])
        axes.set_yticks(range(len(settings)), settings)
        axes.set_ylim(len(settings) - 0.5, -0.5)
        last = max(
            (t for row in rows for t in (*row["instants"], *row["printed_instants"])), default=1
        )
        axes.set_xticks(range(0, last + 2, 2))

    return _drawn(title, x_label, "", draw, legend=False)


def _drawn(
    title: str,
    x_label: str,
    y_label: str,
    draw: Callable[[Any], None],
    legend: bool,
    wide: bool = False,
) -> str:
    import matplotlib
    from matplotlib.figure import Figure

    # Ids of an SVG are made from this: pictures of one page must not share any.
    salt = re.sub(r"\W+", "-", title)
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": salt}):
        figure = Figure(figsize=(7.6 if wide else 5.2, 3.1))
        axes = figure.subplots()
        axes.set_axisbelow(True)
        draw(axes)
        axes.set_title(title, fontsize=10, loc="left")
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        if legend:
            axes.legend(fontsize=8, frameon=False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()
