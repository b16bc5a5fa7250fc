"""The tables and mappings that the page speaks of."""

import re
from pathlib import Path

import pyarrow as pa

import sparkext
from tests.documentation.blocks import DOCS

Path("sensors.csv").write_text("number,name,room\na,Sensor A,10\nb,Sensor B,20\n")
Path("readings.csv").write_text(
    "id,sensor,celsius,sure,at\n1,a,21.5,0.9,2026-01-31T10:00:00Z\n2,b,30.0,0.4,2026-01-31T10:00:05Z\n"
)
Path("warm.rspql").write_text("""PREFIX : <http://example.org/>
SELECT ?room ?celsius FROM NAMED WINDOW :w ON :readings [RANGE PT1M STEP PT1M]
WHERE { WINDOW :w { ?sensor :celsius ?celsius ; :room ?room } FILTER(?celsius > 25) }""")


PAGE = (DOCS / "mapped_rows.md").read_text(encoding="utf-8")
for language, file in (("turtle", "readings.ttl"), ("yaml", "rooms.yml")):
    Path(file).write_text(re.search(f"```{language}\n(.*?)```", PAGE, re.DOTALL)[1])
Path("rooms.ttl").write_text("""@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix : <http://example.org/> .
:Rooms rr:logicalTable [ rr:tableName "rooms" ]; rr:subjectMap [ rr:template "http://example.org/room/{room}" ];
  rr:predicateObjectMap [ rr:predicate :floor; rr:objectMap [ rr:column "floor" ] ] .
""")
spark.createDataFrame([(10, 1), (20, 2)], "room INT, floor INT").createOrReplaceTempView("rooms")
engine = sparkext.Engine(spark)
