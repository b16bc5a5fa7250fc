"""A query that answers."""

import sparkext

engine = sparkext.Engine(spark)
engine.register_stream("http://example.org/s")
query = engine.register_query(
    "PREFIX : <http://example.org/> SELECT * FROM NAMED WINDOW :w ON :s [RANGE 5] WHERE { WINDOW :w { ?x :p ?y } }"
)
