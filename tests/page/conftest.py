"""A browser, and a server whose pages it opens, for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.page.browsing import browsing, chromium
from tests.page.page_world import Pages
from tests.sparkext.serving.serving_world import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession


# Not longer than a file: Playwright keeps an event loop in this thread, which code with one of its own would meet.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if chromium() is None:
        pytest.skip("there is no chromium")
    with browsing() as made:
        yield made


@pytest.fixture(scope="module")
def made(spark: SparkSession, browser: Browser) -> Iterator[Pages]:
    with serving(spark) as world:
        yield Pages(world, browser)


@pytest.fixture
def pages(made: Pages) -> Iterator[Pages]:
    made.dialogs.clear()
    yield made
    made.leave()
