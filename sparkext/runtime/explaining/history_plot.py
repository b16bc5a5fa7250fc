"""A picture of how a query's join orders followed its streams: milliseconds of each evaluation, and every switch."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sparkext.errors import CqelsError
from sparkext.runtime.explaining.order_history import Switch

_ENDINGS = (".png", ".svg", ".pdf")
_LONGEST_ORDER = 90
_NUMBERED_SWITCHES = 30


class PlotError(CqelsError):
    """The picture cannot be made."""


@dataclass(frozen=True)
class Evaluated:
    """One evaluation: its instant in milliseconds since the epoch, its seconds, and the orders that it ran with."""

    time: int
    seconds: float
    orders: tuple[str, ...]


def check_plot(path: str | Path) -> None:
    """Raises PlotError without matplotlib, and for a file ending that is none of png, svg and pdf."""
    if importlib.util.find_spec("matplotlib") is None:
        raise PlotError("a plot of the history needs matplotlib: pip install 'spark-cqels[plot]'")
    if Path(path).suffix.lower() not in _ENDINGS:
        raise PlotError(f"{path}: a plot's file must end in {', '.join(_ENDINGS)}")


def plot_history(
    evaluations: Sequence[Evaluated], switches: Sequence[Switch], path: str | Path, title: str
) -> None:
    """Draw the evaluations, a colour for each join order, with a numbered line for each switch and its cause below.

    The file's ending says what it is to be. Raises PlotError as `check_plot` does, and where it cannot be written.
    """
    check_plot(path)
    from matplotlib.figure import Figure

    shown = switches[-_NUMBERED_SWITCHES:]
    figure = Figure(figsize=(11, 5 + 0.2 * len(shown)), layout="constrained")
    axes = figure.subplots()
    orders = list(dict.fromkeys(evaluation.orders for evaluation in evaluations))
    for order in orders:
        points = [e for e in evaluations if e.orders == order]
        axes.plot(
            [_place(_moment(e.time)) for e in points],
            [e.seconds * 1e3 for e in points],
            linestyle="none",
            marker=".",
            label=_shortened(" ; ".join(order)),
        )
    lines = []
    for number, switch in enumerate(shown, len(switches) - len(shown) + 1):
        moment = _moment(int(switch.time))
        place = _place(moment)
        axes.axvline(place, color="0.6", linewidth=0.8)
        axes.annotate(str(number), (place, 1), xycoords=("data", "axes fraction"), fontsize="small")
        lines.append(
            f"{number}  {moment:%H:%M:%S}  {switch.cause}"
            f"  ({switch.cost_before:,.0f} -> {switch.cost_after:,.0f} us estimated)"
        )
    axes.xaxis_date()
    # An evaluation may take many times as long as another one.
    axes.set_yscale("log")
    axes.set_title(title, pad=16)
    axes.set_xlabel("event time")
    axes.set_ylabel("evaluation, ms")
    if orders:
        axes.legend(loc="upper left", fontsize="x-small")
    if lines:
        figure.supxlabel("\n".join(lines), fontsize="x-small", ha="left", x=0.02)
    try:
        figure.savefig(path)
    except OSError as error:
        raise PlotError(f"{path} cannot be written: {error}") from error


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _place(moment: datetime) -> float:
    """Where matplotlib puts a moment on an axis."""
    from matplotlib.dates import date2num

    return float(date2num(moment))  # type: ignore[no-untyped-call]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_ORDER else text[: _LONGEST_ORDER - 3] + "..."
