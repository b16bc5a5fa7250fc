"""The options of a server: on the command line, and by the same names in a file."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparkext.serving.options import (
    DEFAULT_PORT,
    Kept,
    Limits,
    Overload,
    ServeOptions,
)
from sparkext.setting_types import read_duration, read_size

SERVE = """\
Serve an engine by HTTP: register queries and streams, push elements, follow answers, until SIGTERM.
Only this machine reaches it unless --host says so, and only who has the token. docs/operating.md
tells all."""
SERVE_EXAMPLE = """\
example:
  cqels serve --static people.ttl --stream http://deri.org/locstreams --query q1.rspql"""
STATUS = """\
Ask a running server how it stands: whether it is ready, its streams and queries, and their lag.
Exit status 0: ready. The token is in --token-file or CQELS_TOKEN."""


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not low <= int(text[:18]) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return read


def _seconds(text: str) -> float:
    if read_duration(text) <= 0:
        raise ValueError("must be above 0")
    return read_duration(text) / 1000


def _one_of(*names: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return text

    return read


@dataclass(frozen=True)
class Option:
    """An option that has a value: how it is read, and what is said of it."""

    name: str
    read: Callable[[str], Any]
    metavar: str
    help: str


_MANY = 1_000_000
_LIMITS, _KEPT, _OVERLOAD = Limits(), Kept(), Overload()
OPTIONS = (
    Option("host", str, "HOST", "address to listen at (127.0.0.1: this machine only)"),
    Option("port", _whole(0, 65535), "PORT", f"port ({DEFAULT_PORT}; 0: any that is free)"),
    Option(
        "token-file",
        Path,
        "FILE",
        "file with the token (else CQELS_TOKEN; else one is made and printed)",
    ),
    Option("tls-cert", Path, "FILE", "certificate chain in PEM: serve by HTTPS"),
    Option("tls-key", Path, "FILE", "its private key in PEM"),
    Option("data-dir", Path, "DIR", "folder of which requests may have files loaded (none)"),
    Option(
        "overload",
        Overload.read,
        "POLICY",
        "when pushes come too fast: delay (they wait; this is the default), sample=FRACTION (a fraction of elements is"
        " kept) or fail (they are refused)",
    ),
    Option(
        "max-delay", _seconds, "TIME", "from how much work in the queue on it samples or fails (5s)"
    ),
    Option("max-waiting", _whole(1, _MANY), "N", f"pushes in the queue ({_OVERLOAD.waiting})"),
    Option("max-waiting-bytes", read_size, "SIZE", "bytes of them (256m)"),
    Option("max-body", read_size, "SIZE", "bytes of a request (16m)"),
    Option("max-query", read_size, "SIZE", f"bytes of a query's text ({_LIMITS.query_bytes})"),
    Option("max-depth", _whole(1, 500), "N", f"nesting of a query ({_LIMITS.query_depth})"),
    Option("max-path", _whole(1, 500), "N", f"steps of a property path ({_LIMITS.path_steps})"),
    Option("max-queries", _whole(1, _MANY), "N", f"registered queries ({_LIMITS.queries})"),
    Option("max-streams", _whole(1, _MANY), "N", f"registered streams ({_LIMITS.streams})"),
    Option(
        "max-subscribers",
        _whole(1, _MANY),
        "N",
        f"clients that follow queries ({_LIMITS.subscribers})",
    ),
    Option("max-connections", _whole(1, _MANY), "N", f"connections ({_LIMITS.connections})"),
    Option("max-rows", _whole(0, 1 << 40), "N", "rows of an evaluation's answers (100000; 0: any)"),
    Option("max-time", read_duration, "TIME", "time of an evaluation (10s; 0: any)"),
    Option(
        "max-memory",
        read_size,
        "SIZE",
        "memory that a thread of an evaluation allocates (2g; 0: any)",
    ),
    Option(
        "keep-answers",
        _whole(1, _MANY),
        "N",
        f"answers of a query that are kept to resume ({_KEPT.answers})",
    ),
    Option("keep-bytes", read_size, "SIZE", "bytes of them (64m)"),
    Option(
        "heartbeat", _seconds, "TIME", "how often a silent stream of events is written to (15s)"
    ),
    Option("stalled", _seconds, "TIME", "after what a client that reads nothing is cut off (30s)"),
    Option("shutdown", _seconds, "TIME", "how long requests and pushes may take to end (10s)"),
    Option("log-format", _one_of("text", "json"), "FORMAT", "text or json (text)"),
    Option(
        "log-level",
        _one_of("error", "warning", "info", "debug"),
        "LEVEL",
        "error, warning, info or debug (warning)",
    ),
)


def add_serve_options(parser: ArgumentParser, iri: Callable[[str], str]) -> None:
    """The arguments of `cqels serve` beside static files and Spark's; values of `OPTIONS` are None unless given."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="options, settings, static data, streams and queries, in TOML",
    )
    parser.add_argument(
        "--open-static", metavar="DIR", help="static data that Engine.save_static has written"
    )
    parser.add_argument(
        "--checkpoint",
        metavar="PATH",
        help="folder that the server goes on from after a restart (docs/restart.md)",
    )
    for name, kind, metavar, said in (
        ("--stream", iri, "IRI", "a stream to begin with"),
        ("--query", str, "QUERY.rspql", "a query to begin with"),
    ):
        parser.add_argument(
            name, metavar=metavar, type=kind, action="append", default=[], help=said
        )
    parser.add_argument("--semantics", metavar="NAME", help="profile of windows and reports")
    for option in OPTIONS:
        parser.add_argument(
            f"--{option.name}", metavar=option.metavar, type=_for_argparse(option), help=option.help
        )


def add_status_options(parser: ArgumentParser) -> None:
    """The arguments of `cqels status`."""
    url = f"http://127.0.0.1:{DEFAULT_PORT}"
    parser.add_argument("url", metavar="URL", nargs="?", default=url, help=f"of the server ({url})")
    parser.add_argument("--token-file", metavar="FILE", help="file with the token")
    parser.add_argument("--ca", metavar="FILE", help="certificates to trust, in PEM")
    parser.add_argument(
        "--timeout", metavar="S", type=float, default=10.0, help="seconds to wait (10)"
    )
    parser.add_argument("--json", action="store_true", help="plain data instead of text")
    parser.add_argument("--debug", action="store_true", help="tracebacks")


def _for_argparse(option: Option) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return option.read(text)
        except ValueError as error:
            raise ArgumentTypeError(f"{error}, not {text!r}") from None

    return read


def values_of(given: Mapping[str, Any], file: str) -> dict[str, Any]:
    """The values of options in a file, by their names; raises ConfigurationError for what is none."""
    from sparkext.errors import (
        ConfigurationError,
    )  # `cqels --help` is to need none of what it brings

    known = {option.name: option for option in OPTIONS}
    found = {}
    for written, value in given.items():
        name = written.replace("_", "-")
        if name not in known:
            raise ConfigurationError(
                f"{file}: {written}", "there is no such option of `cqels serve`"
            )
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ConfigurationError(f"{file}: {written}", f"a text or a number, not {value!r:.60}")
        try:
            found[name] = known[name].read(str(value))
        except ValueError as error:
            raise ConfigurationError(f"{file}: {written}", f"{error}, not {value!r:.60}") from None
    return found


def limit_settings(values: Mapping[str, Any]) -> dict[str, str]:
    """The settings of the engine that bound one evaluation."""
    return {
        "spark.cqels.limits.answerRows": str(values.get("max-rows", 100_000)),
        "spark.cqels.limits.evaluationTime": f"{values.get('max-time', 10_000)}ms",
        "spark.cqels.limits.evaluationMemory": str(values.get("max-memory", 2 << 30)),
    }


def serve_options(values: Mapping[str, Any], token: str) -> ServeOptions:
    """The options of a server from their values by name; raises ConfigurationError."""
    policy, fraction = values.get("overload", ("delay", 1.0))
    limits, kept, overload = _LIMITS, _KEPT, _OVERLOAD
    return ServeOptions(
        token=token,
        host=values.get("host", "127.0.0.1"),
        port=values.get("port", DEFAULT_PORT),
        tls_cert=values.get("tls-cert"),
        tls_key=values.get("tls-key"),
        data_dir=values.get("data-dir"),
        shutdown_seconds=values.get("shutdown", 10.0),
        overload=Overload(
            policy,
            fraction,
            values.get("max-delay", overload.behind),
            values.get("max-waiting", overload.waiting),
            values.get("max-waiting-bytes", overload.waiting_bytes),
        ),
        limits=Limits(
            body_bytes=values.get("max-body", limits.body_bytes),
            query_bytes=values.get("max-query", limits.query_bytes),
            query_depth=values.get("max-depth", limits.query_depth),
            path_steps=values.get("max-path", limits.path_steps),
            queries=values.get("max-queries", limits.queries),
            streams=values.get("max-streams", limits.streams),
            subscribers=values.get("max-subscribers", limits.subscribers),
            connections=values.get("max-connections", limits.connections),
        ),
        kept=Kept(
            answers=values.get("keep-answers", kept.answers),
            answer_bytes=values.get("keep-bytes", kept.answer_bytes),
            heartbeat=values.get("heartbeat", kept.heartbeat),
            stalled=values.get("stalled", kept.stalled),
        ),
    )
