"""How the page shows answers: what is newest, what is missing, the chart, and the rows that are in view."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from sparkext.serving.options import Kept
from tests.page.browsing import Cable
from tests.page.page_world import Pages
from tests.sparkext.serving.serving_world import E, serving

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from pyspark.sql import SparkSession

# Nothing is about time: a busy machine may take long for anything.
expect.set_options(timeout=60_000)
XSD = "http://www.w3.org/2001/XMLSchema#"
LEAST = f"""PREFIX : <{E}>
REGISTER RSTREAM :this AS SELECT (MIN(?b) AS ?least)
FROM NAMED WINDOW :w ON :this-late [RANGE 10 STEP 10]
WHERE {{ WINDOW :w {{ ?a :p ?b }} }}"""
VALUES = f"""PREFIX : <{E}>
REGISTER RSTREAM :this AS SELECT ?b (?b * 2 AS ?twice)
FROM NAMED WINDOW :w ON :s [RANGE 10]
WHERE {{ WINDOW :w {{ ?a :p ?b }} FILTER (?b != 500) }}"""
SEVEN = VALUES.replace("?b * 2 AS ?twice", "7 AS ?seven")
# What is on each canvas: of texts where they begin.
DRAWN = """() => {
  const made = CanvasRenderingContext2D.prototype;
  for (const name of ["clearRect", "moveTo", "lineTo", "fillText"]) {
    const real = made[name];
    made[name] = function (...given) {
      if (name === "clearRect") this.canvas.drawn = [];
      const wide = name === "fillText" && this.textAlign === "right" ? this.measureText(given[0]).width : 0;
      if (name === "fillText") this.canvas.drawn.push([name, given[1] - wide, given[0]]);
      else this.canvas.drawn.push([name, given[0]]);
      return real.apply(this, given);
    };
  }
}"""
# The row in the middle of what is in view, once all has been drawn that was to be.
IN_VIEW = """async () => {
  for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
  const box = document.querySelector(".rows").getBoundingClientRect(), middle = (box.top + box.bottom) / 2;
  const rows = [...document.querySelectorAll("#answers tbody tr")];
  return rows.find((row) => row.getBoundingClientRect().bottom > middle)?.textContent;
}"""


def number(value: object, datatype: str = "integer") -> str:
    """A literal of a datatype of XML Schema."""
    return f'"{value}"^^<{XSD}{datatype}>'


def evaluated(page: Page, evaluations: int) -> None:
    """Wait until the page has the answers of so many evaluations."""
    expect(page.locator("#answers")).to_have_attribute("data-evaluations", str(evaluations))


def corrected(pages: Pages, name: str) -> Page:
    """A page that has instants 10 and 20 of a query, and then a revision of 10."""
    late = f"{E}{name}-late"
    pages.world.engine.register_stream(late, allowed_lateness=1000, late="correct")
    page = pages.follow(pages.query(name, LEAST).name)
    page.evaluate(DRAWN)
    page.locator("#which").select_option("newest")
    for time, value in ((5, 900), (15, 20), (25, 21), (6, 18)):
        pages.world.engine.push(late, (f"{E}a", f"{E}p", number(value)), time=time)
    evaluated(page, 3)
    return page


def test_the_newest_instant_is_shown_when_one_before_it_is_corrected(pages: Pages) -> None:
    page = corrected(pages, "newest")
    cells = page.locator("#answers tbody tr:not(.space) td")
    expect(cells).to_have_text(["1970-01-01 00:00:00.020", "20"])
    canvas = page.get_by_role("region", name="Chart").locator("canvas")
    expect(canvas).to_have_attribute("aria-label", "1 lines of ?least over time, from 18 to 20")
    drawn = canvas.evaluate("one => one.drawn")
    lines = [(a, b) for a, b in pairwise(drawn) if b[0] == "lineTo"]
    assert len(lines) == 6 and all(a[1] <= b[1] for a, b in lines)
    late = f"{E}newest-late"
    pages.world.engine.push(late, (f"{E}a", f"{E}p", number(22)), time=35)
    expect(cells).to_have_text(["1970-01-01 00:00:00.030", "21"])


def test_evaluations_that_change_nothing_are_not_missing(pages: Pages) -> None:
    page = corrected(pages, "counted")
    late = f"{E}counted-late"
    pages.world.engine.push(late, (f"{E}a", f"{E}p", number(22)), time=35)
    evaluated(page, 4)
    expect(page.locator("#answer-counts")).to_have_text("4 answers of 4 evaluations")


def test_a_gap_is_told_and_stays_in_the_counts(spark: SparkSession, browser: Browser) -> None:
    with serving(spark, kept=Kept(answers=3)) as world:
        pages, cable = Pages(world, browser), Cable(world.server.url)
        try:
            counted = pages.query("few")
            page = pages.follow(counted.name, url=cable.url)
            pages.push('"1"')
            pages.push('"2"')
            evaluated(page, counted.evaluations)
            cable.cut()
            expect(page.locator("#connection")).to_have_attribute("data-state", "lost")
            for n in range(9):
                pages.push(f'"{n}"')
            cable.mend()
            said = "Answers after number 1 are kept no more; these begin with number 8."
            expect(page.get_by_text("kept no more")).to_have_text(said)
            evaluated(page, 4)
            counts = page.locator("#answer-counts")
            expect(counts).to_have_text(
                "4 answers of 4 evaluations, some are missing in 1 place(s)"
            )
        finally:
            pages.leave()
            cable.close()


def test_the_chart_and_its_column_stay_at_an_instant_without_answers(pages: Pages) -> None:
    counted = pages.query("twice", VALUES)
    page = pages.follow(counted.name)
    chart, column = page.get_by_role("region", name="Chart"), page.locator("#chart-column")
    for value in (1, 2):
        pages.push(number(value))
    expect(column.locator("option")).to_have_text(["?b", "?twice"])
    column.select_option("?twice")
    for value in (500, 3):
        pages.push(number(value))
    assert (counted.evaluations, counted.answers) == (3, 2)
    evaluated(page, 3)
    assert chart.is_visible() and column.input_value() == "1"
    pages.push(number(4))
    evaluated(page, 4)
    assert column.input_value() == "1"
    label = "1 lines of ?twice over time, from 2 to 6"
    expect(chart.locator("canvas")).to_have_attribute("aria-label", label)


@pytest.mark.parametrize("first", ["INF", "NaN"])
def test_what_is_a_number_is_decided_by_its_datatype(pages: Pages, first: str) -> None:
    page = pages.follow(pages.query("infinite", SEVEN).name)
    chart, column = page.get_by_role("region", name="Chart"), page.locator("#chart-column")
    for value in (first, 1, 2):
        pages.push(number(value, "double"))
    evaluated(page, 2)
    expect(column.locator("option")).to_have_text(["?b", "?seven"])
    expect(page.locator("#answers td.number", has_text=first)).to_be_visible()
    canvas = chart.locator("canvas")
    expect(canvas).to_have_attribute("aria-label", "1 lines of ?b over time, from 0.5 to 1.5")
    column.select_option("?seven")
    expect(chart.locator("p")).to_have_text("■ ?seven")


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        (("1013.05", "1013.45"), "1,013.05", "1,013.45"),
        (("123456780", "1234567890"), "123,456,780", "1,234,567,890"),
    ],
)
def test_labels_of_the_axis_differ_and_are_whole(
    pages: Pages, values: tuple[str, str], low: str, high: str
) -> None:
    page = pages.follow(pages.query("pressure", VALUES).name)
    page.evaluate(DRAWN)
    for value in (*values, "1"):
        pages.push(number(value, "decimal"))
    canvas = page.get_by_role("region", name="Chart").locator("canvas")
    label = f"1 lines of ?b over time, from {low} to {high}"
    expect(canvas).to_have_attribute("aria-label", label)
    drawn = canvas.evaluate("one => one.drawn")
    labels = [(left, text) for name, left, *text in drawn if name == "fillText"][:5]
    assert (labels[0][1], labels[-1][1]) == ([low], [high])
    assert len({str(text) for _, text in labels}) == 5
    assert all(left >= 0 for left, _ in labels)


def test_rows_in_view_stay_near_the_end(pages: Pages) -> None:
    page = pages.follow(pages.query("rows").name)
    pages.push(*(f'"row {n}"' for n in range(300)))
    pages.push(*(f'"more {n}"' for n in range(50)))
    evaluated(page, 1)
    scroller = page.get_by_role("region", name="Answers, newest first")
    scroller.evaluate("one => { one.scrollTop = one.scrollHeight }")
    expect(page.locator("#answers tr[aria-rowindex='301']")).to_be_visible()
    before = page.evaluate(IN_VIEW)
    assert "row" in before
    pages.push('"last"')
    expect(page.locator("#answers")).to_have_attribute("data-received", "350")
    assert page.evaluate(IN_VIEW) == before
