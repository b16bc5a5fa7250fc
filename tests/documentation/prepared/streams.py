"""An engine, streams, and what the page's examples name."""

from datetime import datetime
from pathlib import Path

import pandas as pd

import sparkext
from static_data.terms import XSD_INTEGER, Iri, Literal, QuotedTriple

engine = sparkext.Engine(spark)
stream = engine.register_stream("http://example.org/values")
hearts = engine.register_stream("http://example.org/heartRates")
named = engine.register_stream("http://example.org/named-in")
query = engine.register_query(
    "PREFIX : <http://example.org/> REGISTER RSTREAM :named AS"
    " SELECT * FROM NAMED WINDOW :w ON :named-in [RANGE 5] WHERE { WINDOW :w { ?x :p ?y } }"
)
named.push(("http://example.org/a", "http://example.org/p", 1), time=1)
named.advance_to(1)
Path("incoming").mkdir()
Path("rooms-2026.nt").write_text(
    "<http://example.org/r1> <http://example.org/on> <http://example.org/f1> .\n"
)
