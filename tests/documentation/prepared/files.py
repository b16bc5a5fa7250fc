"""A dump, and a document of JSON-LD with a context that it refers to."""

import json
from pathlib import Path

import sparkext

Path("dump.nt").write_text('<http://e/a> <http://e/name> "a" .\n')
Path("schemaorg.jsonld").write_text(json.dumps({"@context": {"name": "https://schema.org/name"}}))
person = {"@context": "https://schema.org/", "@id": "http://e/ann", "name": "Ann"}
Path("people.jsonld").write_text(json.dumps(person))
engine = sparkext.Engine(spark)
