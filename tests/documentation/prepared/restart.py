"""A query, and who is told of its answers."""

from pathlib import Path

from tests.documentation.worlds import QUERY, rooms

rooms()
text = QUERY.replace("GRAPH <http://deri.org/localization/> { ?loc loc:name ?locName }", "")
text = text.replace(" ?locName", "")
sink = print
