"""Tables, a stream, rows for the views, and who takes the answers."""

import json
from datetime import UTC, datetime
from pathlib import Path

from tests.documentation.worlds import sensors

sensors()
Path("readings").mkdir()
Path("readings/0.json").write_text(json.dumps({"sensor": 1, "value": 25.0}))
time = datetime(2026, 1, 31, 10, 0, 30, tzinfo=UTC)
batch = [(1, 25.0), (2, 25.0)]
others = [(7, 10, datetime(2026, 1, 31, 10, 0, 10))]
taken = []
sink = taken.append
stream = spark.readStream.schema("sensor BIGINT, value DOUBLE").json("readings")
