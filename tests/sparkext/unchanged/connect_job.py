"""A streaming job of a Spark Connect client: `connect_job.py PORT FOLDER`. The job itself is `plain_job.answers`.

Prints what it wrote, the plan of its last batch, and what this package says to such a client.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from tests.sparkext.unchanged.plain_job import answers


def said_to(session: SparkSession) -> list[str]:
    """The error of each call that needs a classic session."""
    import sparkext
    from sparkext.errors import CqelsError

    calls = (
        lambda: sparkext.Engine(session),
        lambda: sparkext.kept_sides(session),
        lambda: sparkext.configure(SparkSession.builder.remote("sc://127.0.0.1")),
        lambda: sparkext.configure(type(session).builder),  # type: ignore[arg-type]
    )
    said = []
    for call in calls:
        try:
            call()
        except CqelsError as error:
            said.append(str(error))
    return said


if __name__ == "__main__":
    port, folder = sys.argv[1:]
    client = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    found = answers(client, folder, "first")
    found["said"] = said_to(client)
    sys.stdout.write(f"FOUND {json.dumps(found)}\n")
