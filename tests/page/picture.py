"""``python -m tests.page.picture``: the picture of the page in its documentation, made anew from the demo."""

from __future__ import annotations

from pyspark.sql import SparkSession

import sparkext
from tests.conftest import ROOT
from tests.page.browsing import browsing
from tests.page.page_world import Pages
from tests.sparkext.serving.serving_world import serving

PICTURE = ROOT / "docs" / "pictures" / "page.png"
SECONDS = 25


def main() -> None:
    """Let the demo run for a while, and take the picture."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "ERROR")
    spark = sparkext.configure(builder).getOrCreate()
    with serving(spark) as world, browsing() as browser:
        page = Pages(world, browser).open(viewport={"width": 1100, "height": 1500})
        page.locator("#demo").click()
        page.locator("#answers td.number").first.wait_for()
        page.wait_for_timeout(SECONDS * 1000)
        page.locator("details summary").first.click()
        page.get_by_role("region", name="Answers, newest first").evaluate(
            "one => { one.style.height = '14rem' }"
        )
        page.wait_for_timeout(1500)
        PICTURE.parent.mkdir(exist_ok=True)
        page.screenshot(path=PICTURE, full_page=True)
    spark.stop()


if __name__ == "__main__":
    main()
