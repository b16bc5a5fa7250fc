"""What notebooks show: tables of which nothing that comes from data is markup."""

from __future__ import annotations

from html.parser import HTMLParser

import pyarrow as pa
import pytest

from sparkext.answers.html_tables import (
    SHOWN_ROWS,
    cell,
    folded,
    terms_table,
    text_block,
    texts_table,
)
from sparkext.runtime.answering.answers import Answers
from sparkext.runtime.explaining.order_history import OrderHistory, Switch

ODD = [
    '"<script>alert(1)</script>"',
    '"\\" onmouseover=\\"alert(1)"',
    '"a & b"@en',
    "<http://example.org/'><b>x>",
    '<< <http://e/a> <http://e/p> "<i>" >>',
    "_:b0",
]


class Tags(HTMLParser):
    """The tags and attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("text", [text for text in ODD if "'>" not in text])
def test_terms_never_become_markup(text: str) -> None:
    page = Tags(terms_table([text], [[text], [None]], text))
    assert page.tags == {"table", "caption", "thead", "tbody", "tr", "th", "td", "span"}
    assert page.attributes == {"style", "title"}
    assert text in page.text


def test_texts_never_become_markup() -> None:
    odd = "</pre></details><img src=x onerror=alert(1)>"
    pages = (text_block(odd), folded(odd, ""), texts_table([odd], [[odd]], odd))
    assert all("img" not in Tags(page).tags and odd in Tags(page).text for page in pages)


def test_a_literal_is_shown_by_its_text() -> None:
    assert Tags(cell('"a & b"@en')).text == "a & b@en"
    assert Tags(cell("_:b0")).text == "_:b0"


def answers(rows: int, form: str = "SELECT") -> Answers:
    table = pa.table({"x": [f'"{n}"' for n in range(rows)]})
    return Answers("http://e/q", 0, ("x",), table, form=form)  # type: ignore[arg-type]


def test_long_answers_say_how_many_more_there_are() -> None:
    page = Tags(answers(SHOWN_ROWS + 3)._repr_html_()).text
    assert f"{SHOWN_ROWS + 3} answer(s)" in page and "... and 3 more" in page
    assert "more" not in Tags(answers(SHOWN_ROWS)._repr_html_()).text


def test_a_truth_value() -> None:
    assert "True" in Tags(answers(1, "ASK")._repr_html_()).text
    assert "False" in Tags(answers(0, "ASK")._repr_html_()).text


def test_a_history_is_a_tuple_and_a_table() -> None:
    history = OrderHistory()
    assert history.switches == () and "0 changes" in Tags(history.switches._repr_html_()).text
    history.note({"changes": [(0, ["a"], ["<b>", "?x from a"], 5e3, 2e3, "rows of <b>")]}, 1000)
    assert history.switches == (
        Switch(1000, ("a",), ("<b>", "?x from a"), 5.0, 2.0, "rows of <b>"),
    )
    page = Tags(history.switches._repr_html_())
    assert "1 changes" in page.text and "<b> > ?x from a" in page.text and "b" not in page.tags
    assert "1970-01-01T00:00:01.000Z" in page.text
