"""Servers for tests, on free ports of loopback: lines over TCP, server-sent events, WebSocket, an MQTT broker."""

from __future__ import annotations

import getpass
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.sparkext.sources.kafka_broker import free_port


class LineServer:
    """Serves each connection the next of its scripts: bytes to be sent, and then it hangs up."""

    def __init__(self, *scripts: bytes) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"tcp://127.0.0.1:{self._listening.getsockname()[1]}"
        self.served = 0
        self.sent = 0
        self._scripts = scripts
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError):
            for script in self._scripts:
                connection, _ = self._listening.accept()
                with connection:
                    self.served += 1
                    for at in range(0, len(script), 1 << 12):
                        connection.sendall(script[at : at + (1 << 12)])
                        self.sent += len(script[at : at + (1 << 12)])

    def close(self) -> None:
        self._listening.close()


@contextmanager
def event_server(
    events: Sequence[tuple[str, str]],
    at_once: int,
    tls: ssl.SSLContext | None = None,
    broken: int | None = None,
) -> Iterator[tuple[str, list[str]]]:
    """Serves events, ids and data, from the one after Last-Event-ID on, so many a connection; gives what was asked.

    Each begins with how long to wait before the next, and the connection of the number `broken`, from 1, ends there.
    """
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            last = self.headers.get("Last-Event-ID", "").encode("latin-1").decode()
            asked.append(last)
            if self.path == "/forbidden":
                self.send_error(403)
                return
            names = [name.strip() for name, _ in events]
            begin = names.index(last) + 1 if last in names else 0
            if begin >= len(events):
                self.send_response(204)
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b"retry: 2000\n\n")
            for name, data in () if len(asked) == broken else events[begin : begin + at_once]:
                lines = "".join(f"data: {line}\n" for line in data.splitlines())
                self.wfile.write(f": a comment\nid: {name}\n{lines}\n: a heartbeat\n\n".encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


class MqttScripts:
    """Takes connections and subscriptions of MQTT 3.1.1, sends each the next of its scripts, and waits for its end."""

    def __init__(self, *scripts: bytes) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"mqtt://127.0.0.1:{self._listening.getsockname()[1]}"
        self.acknowledged: list[int] = []
        self._scripts = scripts
        threading.Thread(target=self._serve, daemon=True).start()

    @staticmethod
    def message(topic: bytes, number: int, payload: str) -> bytes:
        """A PUBLISH at quality of service 1."""
        body = len(topic).to_bytes(2) + topic + number.to_bytes(2) + payload.encode()
        return bytes([0x32, len(body) % 128 + 128, len(body) // 128]) + body

    def _serve(self) -> None:
        with suppress(OSError):
            for script in self._scripts:
                connection, _ = self._listening.accept()
                with connection, suppress(OSError, IndexError):
                    self._converse(connection, script)

    def _converse(self, connection: socket.socket, script: bytes) -> None:
        with connection.makefile("rb") as came:
            while True:
                kind, length, place = came.read(1)[0] >> 4, 0, 0
                while True:
                    byte = came.read(1)[0]
                    length |= (byte & 127) << 7 * place
                    place += 1
                    if byte < 128:
                        break
                body = came.read(length)
                if kind == 1:
                    connection.sendall(b"\x20\x02\x00\x00")
                elif kind == 8:
                    connection.sendall(b"\x90\x03" + body[:2] + b"\x01" + script)
                elif kind == 4:
                    self.acknowledged.append(int.from_bytes(body))

    def close(self) -> None:
        self._listening.close()


class MqttBroker:
    """Mosquitto, which can be stopped and started again with what it keeps; tests are skipped where it is not there."""

    def __init__(self, folder: Path, tls: str = "") -> None:
        """`tls` are settings of a second, encrypted listener."""
        self.port, self.tls_port = free_port(), free_port()
        self.url = f"mqtt://127.0.0.1:{self.port}"
        self.tls_url = f"mqtts://127.0.0.1:{self.tls_port}"
        self._tls = f"listener {self.tls_port} 127.0.0.1\n{tls}\n" if tls else ""
        self._folder = folder
        self.log = folder / "mosquitto.log"
        found = shutil.which("mosquitto") or shutil.which("/usr/sbin/mosquitto")
        self._process: subprocess.Popen[bytes] | None = None
        if found is None:
            pytest.skip("no MQTT broker: mosquitto is not installed")
        self._mosquitto = found

    def start(self) -> None:
        settings = self._folder / "mosquitto.conf"
        settings.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
            f"persistence_location {self._folder}/\nautosave_on_changes true\n"
            "autosave_interval 1\nmax_inflight_messages 20\n"
            f"log_dest file {self.log}\nlog_type all\n"
            f"user {getpass.getuser()}\n{self._tls}"
        )
        self._process = subprocess.Popen(
            [self._mosquitto, "-c", str(settings)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 60
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert time.monotonic() < end, "the MQTT broker does not answer"
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def publish(self, topic: str, *payloads: str) -> None:
        """Publish messages at quality of service 1, and wait until the broker has them."""
        import paho.mqtt.client as mqtt
        from paho.mqtt.enums import CallbackAPIVersion

        client = mqtt.Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        for sent in [client.publish(topic, payload, qos=1) for payload in payloads]:
            sent.wait_for_publish(30)
            assert sent.is_published()
        client.disconnect()
        client.loop_stop()
