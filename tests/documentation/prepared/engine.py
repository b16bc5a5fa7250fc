"""An engine, files to load, and a query."""

import gzip
from pathlib import Path

import sparkext
from tests.documentation.worlds import QUERY, rooms

rooms()
Path("papers.nt.gz").write_bytes(gzip.compress(b"<http://e/p> <http://e/by> <http://e/a> .\n"))
dumps = ["people.ttl"]
text = QUERY.replace("http://deri.org/locstreams", "http://example.org/s")
engine = sparkext.Engine(spark)
