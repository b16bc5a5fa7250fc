"""Mappings of rows to RDF: R2RML, RML and YARRRML in, which terms a row makes, or its triples, out; uses `files`
and `terms`."""
