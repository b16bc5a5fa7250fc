"""Ready-made subscribers: answers into a JSON Lines file, a folder of Parquet files, or one table."""

from sparkext.runtime.answering.sinks import JsonLinesSink, ParquetSink, TableSink

__all__ = ["JsonLinesSink", "ParquetSink", "TableSink"]
