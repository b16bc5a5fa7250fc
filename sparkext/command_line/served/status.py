"""`cqels status`: how a running server stands."""

from __future__ import annotations

import json
import os
import ssl
import sys
import urllib.error
import urllib.request
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sparkext.command_line.served.serve import TOKEN_VARIABLE, read_token
from sparkext.errors import ConfigurationError, CqelsError

READY, NOT_READY = 0, 1


def execute(arguments: Namespace) -> int:
    """Run the command: exit status 0 where the server is ready; raises CqelsError where it cannot be asked."""
    found = _asked(arguments)
    if arguments.json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(lines_of(found)) + "\n")
    return READY if found["status"] == "ready" else NOT_READY


def _asked(arguments: Namespace) -> dict[str, Any]:
    url = arguments.url.rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError("URL", f"http:// or https://, not {url!r}")
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if arguments.token_file is not None:
        token = read_token(Path(arguments.token_file))
    if not token:
        raise ConfigurationError(
            "--token-file", f"the server's token: here, or in {TOKEN_VARIABLE}"
        )
    asked = urllib.request.Request(f"{url}/status", headers={"Authorization": f"Bearer {token}"})
    context = None
    if url.startswith("https://"):
        try:
            context = ssl.create_default_context(cafile=arguments.ca)
        except OSError as error:
            raise ConfigurationError("--ca", f"{arguments.ca}: {error.strerror or error}") from None
    # No proxy: the token is for the server alone.
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with opener.open(asked, timeout=arguments.timeout) as answer:
            found: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as error:
        said = "the token is wrong" if error.code == 401 else f"{error.code} {error.reason}"
        raise CqelsError(f"{url}: {said}") from None
    except (OSError, ValueError) as error:
        raise CqelsError(f"{url}: no answer: {getattr(error, 'reason', error)}") from None
    if "status" not in found:
        raise CqelsError(f"{url}: this is no `cqels serve`")
    return found


def lines_of(found: Mapping[str, Any]) -> Iterator[str]:
    """A status for reading."""
    detail = f" ({found['detail']})" if found["detail"] else ""
    yield f"{found['status']}{detail}, cqels {found['version']}, up {_duration(found['up_seconds'])}"
    overload = found["overload"]
    sampling = f", fraction {overload['fraction']:g}" if overload["policy"] == "sample" else ""
    yield (
        f"pushes: {'OVERLOADED, ' if overload['overloaded'] else ''}{overload['waiting']} waiting,"
        f" {overload['behind_seconds']:.1f} s behind; policy {overload['policy']}{sampling},"
        f" {overload['refused']} refused, {overload['sampled_out']} elements sampled out"
    )
    yield f"streams: {len(found['streams'])}"
    for stream in found["streams"]:
        yield (
            f"  {stream['iri']}: {stream['elements']} elements, {stream['late']} late,"
            f" {stream['malformed']} malformed, newest {stream['newest'] or '-'}"
        )
    yield f"queries: {len(found['queries'])}, {found['subscribers']} subscriber(s)"
    for query in found["queries"]:
        yield (
            f"  {query['name']}: {query['evaluations']} evaluations, {query['answers']} answers,"
            f" {query['failures']} failures, lag {query['lag_seconds']:.3f} s,"
            f" last {query['last_seconds'] * 1e3:.1f} ms, {query['subscribers']} subscriber(s)"
        )


def _duration(seconds: float) -> str:
    """Days, hours, minutes and seconds.

    >>> _duration(90061)
    '1 d 1 h 1 min 1 s'
    """
    left, shown = round(seconds), []
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, length)
        if count or unit == "s":
            shown.append(f"{count} {unit}")
    return " ".join(shown)
