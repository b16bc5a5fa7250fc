"""Streams: elements as callers and Spark's sources give them in, logs of the JVM and their
watermarks out; uses `runtime.parts`."""
