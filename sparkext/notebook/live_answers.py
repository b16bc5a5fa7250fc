"""The newest answers of a query in a notebook, shown anew as they come."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkext.answers.html_tables import shown_term
from sparkext.argument_checks import check
from sparkext.errors import ArgumentError
from sparkext.runtime.answer_feed import AnswerFeed
from sparkext.s2r.event_time import format_date_time
from sparkext.sources.extras import library

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers

# A page that is told more often than that is not read sooner.
_SECONDS = 0.1
_SCRIPT = Path(__file__).with_name("live_answers.js")


def live_answers(query: AnswerFeed, rows: int = 20) -> Any:
    """A widget that shows the answers of the query's newest evaluation, the first `rows` of them; needs anywidget.

    It follows the query until its `stop()` is called. Evaluations that come faster than a page is drawn are passed
    over, the newest one never. Raises ArgumentError, and MissingLibraryError without the extra `notebook`.
    """
    if not isinstance(query, AnswerFeed):
        raise check.wrong("query", "a registered query", query)
    if check.whole("rows", rows) < 1:
        raise ArgumentError("rows", f"must be above 0, not {rows}")
    anywidget = library("anywidget", "notebook", "a widget of live answers")
    traitlets = library("traitlets", "notebook", "a widget of live answers")

    class LiveAnswers(anywidget.AnyWidget):  # type: ignore[misc, name-defined]
        _esm = _SCRIPT
        state = traitlets.Dict().tag(sync=True)

    waiting = f"{query.name}: no answers yet"
    widget = LiveAnswers(state={"caption": waiting, "columns": [], "rows": []})
    newest = _Newest(widget, rows)
    leave = query.subscribe(newest.take)
    last = query.last_answers  # after that: others may come meanwhile, which are newer
    if last is not None:
        newest.take(last)

    def stop() -> None:
        leave()
        newest.show()

    widget.stop = stop
    return widget


class _Newest:
    """Shows the newest answers a moment after they came, and whatever came meanwhile with them."""

    def __init__(self, widget: Any, rows: int) -> None:
        self._widget = widget
        self._rows = rows
        self._lock = threading.Lock()
        # What came later is shown later, and stopping waits for what is being shown.
        self._showing = threading.Lock()
        self._answers: Answers | None = None
        self._time: int | None = None
        self._timer: threading.Timer | None = None

    def take(self, answers: Answers) -> None:
        with self._lock:
            if self._time is not None and answers.time < self._time:
                return  # Late elements correct an instant before it.
            self._time = answers.time
            self._answers = answers
            if self._timer is None:
                self._timer = threading.Timer(_SECONDS, self.show)
                self._timer.daemon = True
                self._timer.start()

    def show(self) -> None:
        """Have the page show what came last, if that has not been shown yet."""
        with self._showing:
            with self._lock:
                answers, self._answers, self._timer = self._answers, None, None
            if answers is not None:
                self._widget.state = state_of(answers, self._rows)


def state_of(answers: Answers, rows: int) -> dict[str, Any]:
    """What the page is told: a caption, columns, and rows of (text, what it is in full)."""
    caption = f"{format_date_time(answers.time)}  {answers.query}  {len(answers):,} answer(s)"
    if answers.form == "ASK":
        return {"caption": caption, "columns": ["answer"], "rows": [[[str(answers.boolean), ""]]]}
    shown = [[[shown_term(text), text or ""] for text in row] for row in answers.rows()[:rows]]
    if len(answers) > rows:
        caption += f", {rows} shown"
    return {"caption": caption, "columns": list(answers.variables), "rows": shown}
