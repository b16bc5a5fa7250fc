"""Sources of live messages: Kafka, MQTT, lines over TCP, server-sent events and WebSocket feed streams.

Messages come in; streaming DataFrames and pushed elements go out. It uses an engine's streams by their public calls.
"""

from __future__ import annotations

from sparkext.sources.backoff import Backoff
from sparkext.sources.feed import Feed
from sparkext.sources.frames import elements, rows
from sparkext.sources.kafka import kafka, kafka_connector
from sparkext.sources.line_socket import LineSource
from sparkext.sources.mqtt import MqttSource
from sparkext.sources.server_events import EventSource
from sparkext.sources.web_socket import WebSocketSource

__all__ = [
    "Backoff",
    "EventSource",
    "Feed",
    "LineSource",
    "MqttSource",
    "WebSocketSource",
    "elements",
    "kafka",
    "kafka_connector",
    "rows",
]
