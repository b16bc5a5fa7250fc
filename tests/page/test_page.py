"""The live page in a browser, of a server that runs: what it shows, whom it serves, and that nothing is lost."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.page.browsing import Cable
from tests.page.page_world import Counted, Pages
from tests.sparkext import flipping_stream as flipping
from tests.sparkext.serving.serving_world import NT, TOKEN, E

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from sparkext.runtime.explaining.order_history import Switch

OBSERVED = """() => {
  window.took = {};
  const seen = (list) => { for (const one of list.getEntries())
    if (one.interactionId) took[one.interactionId] = Math.max(one.duration, took[one.interactionId] ?? 0); };
  new PerformanceObserver(seen).observe({type: "event", durationThreshold: 16, buffered: true});
}"""
# Nothing is about time: a busy machine may take long for anything.
expect.set_options(timeout=60_000)
VIEWS = ("queries", "streams", "editor")


def received(page: Page) -> dict[str, int]:
    """What a page says that it has got."""
    found = page.locator("#answers").evaluate("one => ({...one.dataset})")
    return {name: int(value) for name, value in found.items()}


def all_came(page: Page, counted: Counted) -> None:
    """Wait until the page has as many answers as the query gave; none is missing and none came twice."""
    expect(page.locator("#answers")).to_have_attribute(
        "data-received", str(counted.answers), timeout=120_000
    )
    assert received(page) == {
        "received": counted.answers,
        "evaluations": counted.evaluations,
        "gaps": 0,
    }


def test_the_demo_is_seen_as_table_chart_map_plan_time_line_and_streams(pages: Pages) -> None:
    page = pages.open()
    assert "token" not in page.url
    page.get_by_role("button", name="Try with a demo stream").click()
    page.locator("#answers td.number").first.wait_for()
    expect(page.locator("#query-list li")).to_have_count(3)
    expect(page.locator("#query-source")).to_contain_text("REGISTER RSTREAM :now")
    expect(page.get_by_role("region", name="Chart").locator("canvas")).to_have_attribute(
        "aria-label", re.compile("lines of .temperature over time")
    )
    expect(page.get_by_role("region", name="Map").locator("canvas")).to_have_attribute(
        "aria-label", re.compile("places of the newest instant, coloured by .temperature")
    )
    page.get_by_role("tab", name="Plan").click()
    plan = page.locator("#plan")
    expect(plan.get_by_role("columnheader", name="estimated")).to_be_visible()
    expect(plan.get_by_role("columnheader", name="counted")).to_be_visible()
    expect(plan).to_contain_text("begin with")
    page.get_by_role("tab", name="Time line").click()
    expect(page.get_by_role("tabpanel", name="Time line")).to_contain_text(
        "evaluations, a colour for"
    )
    page.get_by_role("link", name="Streams").click()
    card = page.locator("article", has_text="https://example.org/demo/readings")
    expect(card).to_contain_text("elements/s")
    expect(card.get_by_role("cell", name="sliding, width 30s, slide 2s")).to_be_visible()
    page.get_by_role("link", name="Queries").click()
    page.get_by_role("button", name="End the demo").click()
    expect(page.locator("#query-list li")).to_have_count(0)
    assert pages.dialogs == []


def test_a_plan_switch_is_seen_with_its_reason_and_answers_stay_right(pages: Pages) -> None:
    """The stream's sides take turns in being the small one, with which the engine begins."""
    engine, served = pages.world.engine, pages.world.served
    pages.world.ask("PUT", "/static/graph?default", flipping.acquaintances(), NT)
    engine.register_stream(flipping.STREAM)
    query = served.register(flipping.QUERY.format(name="flips")).registered
    page = pages.follow(query.name)
    page.locator("#which").select_option("newest")
    story = page.locator("#story li")
    came = 0
    for switches, seconds in enumerate((range(1, 10), range(10, 20), range(20, 23))):
        for second in seconds:
            flipping.evaluate(engine, second)
            came += flipping.expected(second).total()
        page.get_by_role("tab", name="Time line").click()
        expect(page.get_by_role("tabpanel", name="Time line")).to_contain_text(
            f"{seconds[-1]} evaluations, a colour for each of {min(switches, 1) + 1} join order(s); {switches} changes"
        )
        expect(story).to_have_count(max(switches, 1))
        if switches:
            newest = query.history()[-1]
            begins = (flipping.IN, flipping.AT)
            assert (newest.old[0], newest.new[0]) == (begins if switches == 1 else begins[::-1])
            assert " -> " in newest.cause and any(side in newest.cause for side in begins)
            expect(story.first.locator("p")).to_have_text(told(newest, seconds[0]))
        else:
            expect(story).to_have_text("The order has not changed.")
        page.get_by_role("tab", name="Answers").click()
        expect(page.locator("#answers")).to_have_attribute("data-received", str(came))
        assert received(page)["gaps"] == 0
        assert shown(page, seconds[-1]) == flipping.expected(seconds[-1])
    assert pages.dialogs == []


def told(switch: Switch, second: int) -> list[str | re.Pattern[str]]:
    """The lines of a switch in the time line."""
    return [
        f"1970-01-01 00:00:{second}.000 plan switch {switch.cause}",
        f"from {' > '.join(switch.old)}",
        f"to {' > '.join(switch.new)}",
        re.compile(r"^[\d,]+ µs before, [\d,]+ µs after, by what is known now$"),
    ]


def shown(page: Page, second: int) -> Counter[tuple[str, ...]]:
    """The rows of the table, in full; they must be of one instant, few enough to be all in view."""
    rows = page.locator("#answers tbody tr:not(.space)")
    times = [f"1970-01-01 00:00:{second:02}.000"] * flipping.expected(second).total()
    expect(rows.locator("td:first-child")).to_have_text(times)
    found = rows.evaluate_all(
        "rows => rows.map(row => [...row.cells].slice(1).map(cell => cell.title))"
    )
    return Counter(map(tuple, found))


def test_what_came_late_and_what_was_set_aside_is_seen(pages: Pages) -> None:
    counted = pages.query("aside")
    pages.push('"1"')
    pages.world.ask(
        "POST",
        "/streams/http%3A%2F%2Fe%2Fs/elements?time=5",
        f"<{E}a> <{E}p> <{E}b> .",
        "application/n-triples",
    )
    pages.world.engine.stream(f"{E}s").push("no triple <b>at all</b>")
    page = pages.open("#/streams")
    card = page.locator("article", has_text=f"{E}s")
    expect(card).to_contain_text("Set aside lately:")
    expect(card.locator("dd.bad")).not_to_have_text("0")
    expect(card.locator("dd.warn")).not_to_have_text("0")
    expect(card).to_contain_text(counted.name)


def test_a_thousand_answers_a_second_for_ten_seconds_and_none_is_lost(pages: Pages) -> None:
    counted = pages.query("many")
    page = pages.follow(counted.name)
    pushing = pages.stream_rows(seconds=10, a_second=1000)
    for tab in ("Plan", "Time line", "Answers") * 3:
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Go on").click()
    pushing.join()
    assert counted.answers >= 9_000
    all_came(page, counted)
    # Of 5,000 rows that are kept only those in view exist, wherever it is scrolled to.
    scroller = page.get_by_role("region", name="Answers, newest first")
    for place in (0, 40_000, 10**9):
        scroller.evaluate("(one, place) => { one.scrollTop = place }", place)
        expect(page.locator("#answers tbody tr:not(.space) td").first).not_to_have_text("")
        assert page.locator("#answers tbody tr").count() < 80
    assert pages.dialogs == []


@pytest.mark.slow
def test_a_thousand_answers_a_second_for_a_minute(pages: Pages) -> None:
    """Prints (-s) when the page was painted first, and how long clicks took to be seen, as the browser measures it."""
    counted = pages.query("long")
    page = pages.follow(counted.name)
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    page.evaluate(OBSERVED)
    pushing = pages.stream_rows(seconds=60, a_second=1000)
    clicks = 0
    while pushing.is_alive():
        for tab in ("Plan", "Time line", "Answers"):
            page.get_by_role("tab", name=tab).click()
            page.wait_for_timeout(300)
            clicks += 1
    pushing.join()
    all_came(page, counted)
    took = sorted(page.evaluate("Object.values(took)"))
    said = [f"{took[min(len(took) - 1, len(took) * part // 100)]:.0f} ms" for part in (50, 90, 99)]
    sys.stdout.write(
        f"\nfirst paint {painted:.0f} ms; {counted.answers} answers, {clicks} clicks; of {len(took)} that took 16 ms or"
        f" more half took {said[0]}, 90 % {said[1]}, 99 % {said[2]}, the longest {took[-1]:.0f} ms\n"
    )


def test_a_broken_connection_comes_back_without_a_gap(pages: Pages) -> None:
    counted = pages.query("cut")
    cable = Cable(pages.world.server.url)
    try:
        page = pages.follow(counted.name, url=cable.url)
        for n in range(4):
            pages.push(f'"{n}"')
        all_came(page, counted)
        cable.cut()
        expect(page.locator("#connection")).to_have_attribute("data-state", "lost")
        expect(page.locator("#connection")).to_have_text("connection lost, trying again")
        for n in range(30):
            pages.push(f'"{n}"', '"x"')
        before = received(page)["evaluations"]
        assert before < counted.evaluations
        cable.mend()
        expect(page.locator("#connection")).to_have_attribute("data-state", "live")
        all_came(page, counted)
    finally:
        cable.close()


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<svg onload=alert(1)>",
    "</td></table><iframe src=javascript:alert(1)>",
    "{{constructor.constructor('alert(1)')()}}",
)


def test_hostile_text_stays_text(pages: Pages) -> None:
    name = "<img src=x onerror=alert(2)>"
    text = f"""PREFIX : <{E}> SELECT ?a ?b (<{E}x> AS ?c) FROM NAMED WINDOW :w ON :s [RANGE 10]
    WHERE {{ WINDOW :w {{ ?a :p ?b }} FILTER (?b != "{HOSTILE[0]}!") }}"""
    pages.world.served.register(text, name)
    page = pages.open("#/queries/%3Cimg%20src%3Dx%20onerror%3Dalert(2)%3E")
    for _ in range(2):
        pages.push(*(f'"{one}"' for one in HOSTILE), f'"{HOSTILE[1]}"@en')
    for one in HOSTILE:
        expect(page.locator("#answers td", has_text=one).first).to_be_visible()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.get_by_role("tab", name="Plan").click()
    expect(page.locator("#plan")).to_contain_text(name)
    pages.world.engine.stream(f"{E}s").push(f"{HOSTILE[0]} {HOSTILE[1]}")
    page.keyboard.press("2")
    expect(page.locator("article", has_text=f"{E}s")).to_contain_text("Set aside lately:")
    page.keyboard.press("3")
    page.locator("#query-text").fill(f"SELECT {HOSTILE[0]} {HOSTILE[1]}")
    expect(page.locator("#problems")).to_contain_text("line 1, column")
    assert page.locator("img, iframe, main svg, main script").count() == 0
    assert pages.dialogs == []


def test_all_can_be_done_by_keys(pages: Pages) -> None:
    counted = pages.query("keys")
    other = pages.query("other")
    page = pages.open()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#filter")).to_be_focused()
    page.keyboard.type("other")
    expect(page.locator("#query-list li:visible")).to_have_count(1)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=other.name)).to_be_visible()
    page.locator("#filter").fill("")
    page.locator("#query-list a").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#query-list a").nth(1)).to_be_focused()
    page.get_by_role("tab", name="Answers").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Plan")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowLeft")
    page.get_by_role("region", name="Answers, newest first").focus()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    page.keyboard.press("2")
    expect(page.get_by_role("heading", name="Streams and windows")).to_be_visible()
    expect(page.locator("#stream-cards")).to_contain_text(counted.name)


def test_the_page_asks_for_the_token(pages: Pages) -> None:
    pages.query("secret")
    page = pages.open(token="")
    asked = page.get_by_label("Token of this server")
    expect(asked).to_be_visible()
    expect(page.locator("#query-list li")).to_have_count(0)
    asked.fill("a-wrong-token-0123456789")
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#token-said")).to_have_text("The server does not take this token.")
    expect(page.locator("#connection")).to_have_attribute("data-state", "token")
    asked.fill(TOKEN)
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#query-list li")).to_have_count(1)
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    page.reload()
    expect(page.locator("#query-list li")).to_have_count(1)


def test_a_link_with_a_token_is_taken_by_a_tab_that_is_open(pages: Pages) -> None:
    pages.query("secret")
    page = pages.open(token="")
    expect(page.get_by_label("Token of this server")).to_be_visible()
    page.evaluate("token => { location.hash = `#token=${token}` }", TOKEN)
    expect(page.locator("#token-dialog")).to_be_hidden()
    expect(page.locator("#query-list li")).to_have_count(1)
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    assert "token" not in page.url


def test_a_plan_that_takes_long_is_asked_for_once(pages: Pages) -> None:
    page = pages.follow(pages.query("slow").name)
    held: list[Route] = []
    page.route("**/explanation", lambda route: held.append(route))
    page.get_by_role("tab", name="Plan").click()
    for _ in range(8):  # seconds, in which it would be asked for twice more
        with page.expect_response("**/state"):
            pass
    assert len(held) == 1
    held[0].continue_()
    expect(page.locator("#plan")).to_contain_text("Operators, rows and times")
    assert pages.dialogs == []


def test_a_narrow_screen_scrolls_in_one_direction_only(pages: Pages) -> None:
    counted = pages.query("a-query-with-a-name-that-is-longer-than-a-telephone-is-wide-and-goes-on")
    page = pages.follow(counted.name, viewport={"width": 340, "height": 640})
    for _ in range(3):
        pages.push('"some text that is rather long, longer than the screen is wide"')
    expect(page.locator("#answers td").first).to_be_visible()
    for tab in ("Answers", "Plan", "Time line"):
        page.get_by_role("tab", name=tab).click()
        page.wait_for_timeout(200)
        assert_fits(page, tab)
    for view in VIEWS:
        page.evaluate("view => { location.hash = `#/${view}` }", view)
        page.wait_for_timeout(200)
        assert_fits(page, view)


def assert_fits(page: Page, where: str) -> None:
    wide, there = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= there, where


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_and_light_have_no_serious_findings_of_axe(pages: Pages, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    counted = pages.query("seen")
    # Axe works in the page itself, in ways that the policy of its contents forbids.
    page = pages.follow(counted.name, color_scheme=scheme, bypass_csp=True)
    for n in range(3):
        pages.push(f'"{n}"')
    page.locator("#answers td").first.wait_for()
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(map(int, back.removeprefix("rgb(").removesuffix(")").split(","))) > 3 * 128
    assert light == (scheme == "light")
    for look in (*("Answers", "Plan", "Time line"), *VIEWS[1:]):
        if look in VIEWS:
            page.evaluate("view => { location.hash = `#/${view}` }", look)
        else:
            page.get_by_role("tab", name=look).click()
        page.wait_for_timeout(300)
        found = [
            (one["id"], [node["html"][:120] for node in one["nodes"]])
            for one in axe.run(page).response["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert found == [], look
