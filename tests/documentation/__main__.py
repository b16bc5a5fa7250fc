"""Writes what blocks print into the output blocks below them: ``python -m tests.documentation streams.md``.

Blocks that are right already, with `...` in them or not, stay as they are. Look at what it has changed.
"""

from __future__ import annotations

import doctest
import os
import sys
import tempfile

from pyspark.sql import SparkSession

import sparkext
from tests.documentation.blocks import DOCS, run_page


def record(spark: SparkSession, name: str) -> int:
    """Mend the outputs of one page; gives how many were other."""
    page, changed = DOCS / name, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        given = {"spark": spark, "queries": sparkext.Engine(spark), "recording": True}
        outputs = run_page(name, given)
        os.chdir(DOCS)
    text, place = page.read_text(encoding="utf-8"), 0
    for wanted, printed in outputs:
        begin = f"```output\n{wanted}```"
        place = text.index(begin, place)
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        if not doctest.OutputChecker().check_output(wanted, printed, flags):
            text = text[:place] + f"```output\n{printed.rstrip()}\n```" + text[place + len(begin) :]
            changed += 1
        place += len("```output\n")
    page.write_text(text, encoding="utf-8")
    return changed


if __name__ == "__main__":
    quiet = {
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    quiet |= {"spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC"}
    builder = SparkSession.builder.master("local[2]").appName("pages").config(map=quiet)
    session = sparkext.configure(builder).getOrCreate()
    for argument in sys.argv[1:]:
        try:
            sys.stdout.write(f"{argument}: {record(session, argument)} changed\n")
        except Exception as error:
            import traceback

            sys.stdout.write(f"{argument}: {type(error).__name__}: {str(error)[:1500]}\n")
            traceback.print_exc(limit=-6)
