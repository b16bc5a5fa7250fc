"""An engine, a stream, a dataset, and namespaces."""

import rdflib

import sparkext
from tests.documentation.worlds import rooms

rooms()
engine = sparkext.Engine(spark)
stream = engine.register_stream("http://example.org/s")
dataset = rdflib.Dataset()
ns = EX = rdflib.Namespace("http://example.org/")
dataset.graph(EX.g).add((EX.a, EX.p, EX.o))
