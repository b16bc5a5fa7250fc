"""RDF files as people have them: bytes of any format, packing and encoding in, statements and flaws
with their places out; uses only `errors`."""
