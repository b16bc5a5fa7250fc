"""Static data that are no RDF files: rdflib graphs and mapped rows in, quads in the store out; uses `streams`"""
