"""An engine with the streams of the page, and a query with a name in it."""

import sparkext

engine = sparkext.Engine(spark)
for name in ("badges", "names"):
    engine.register_stream(f"http://example.org/{name}")
text = """PREFIX : <http://example.org/>
SELECT ?person FROM NAMED WINDOW :w ON :names [RANGE PT30S] WHERE { WINDOW :w { ?person :name "Ann" } }"""
