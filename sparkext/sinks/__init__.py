"""Sinks: subscribers of queries that take answers to files, tables, topics and streams; some store each instant once.

Answers come in. It uses the answers of `runtime`, and the clients that `sources` has of brokers.
"""

from __future__ import annotations

from sparkext.runtime.answering.sinks import JsonLinesSink, ParquetSink, TableSink
from sparkext.sinks.answers_stream import answers_stream
from sparkext.sinks.delta import DeltaSink
from sparkext.sinks.kafka import KafkaSink
from sparkext.sinks.mqtt import MqttSink
from sparkext.sinks.rdf_file import RdfFileSink
from sparkext.sinks.retrying import RetryingSink

__all__ = [
    "DeltaSink",
    "JsonLinesSink",
    "KafkaSink",
    "MqttSink",
    "ParquetSink",
    "RdfFileSink",
    "RetryingSink",
    "TableSink",
    "answers_stream",
]
