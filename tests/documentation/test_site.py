"""`make site`: the pages are built without a warning, and need nothing from elsewhere."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

ROOT = Path(__file__).resolve().parents[2]


class References(HTMLParser):
    """What a page links to, what it loads, and the places in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.places: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.places.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.add(given["href"])
        elif "src" in given:
            self.loads.add(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, References]:
    for library in ("sphinx", "myst_parser", "furo", "sphinxarg"):
        pytest.importorskip(library)
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--fail-on-warning",
        "--keep-going",
        "-q",
        "-b",
        "html",
    ]
    done = subprocess.run(
        [*command, "-d", str(folder / "kept"), "docs", str(folder / "html")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {page: References(page) for page in (folder / "html").rglob("*.html")}


def test_every_page_is_there(site: dict[Path, References]) -> None:
    built = {page.stem for page in site}
    assert {page.stem for page in (ROOT / "docs").rglob("*.md")} <= built


def test_links_within_the_site_lead_somewhere(site: dict[Path, References]) -> None:
    wrong = []
    for page, references in site.items():
        for reference in references.links | references.loads:
            parts = urlparse(reference)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            places = site[target].places if target in site else None
            fragment = unquote(parts.fragment)
            if not target.exists() or (fragment and places is not None and fragment not in places):
                wrong.append((page.name, reference))
    assert wrong == []


def test_nothing_is_loaded_from_elsewhere(site: dict[Path, References]) -> None:
    loaded = {load for references in site.values() for load in references.loads}
    assert len(loaded) > 5
    assert [load for load in loaded if urlparse(load).scheme not in ("", "data")] == []


def test_the_reference_is_made_of_the_code(site: dict[Path, References]) -> None:
    places = {page.stem: references.places for page, references in site.items()}
    assert {"sparkext.Engine.register_query", "sparkext.Answers.rows"} <= places["api"]
    text = next(p for p in site if p.stem == "arguments").read_text(encoding="utf-8")
    assert "--static-graph" in text and "--allowed-lateness" in text
