"""`cqels serve`: an engine behind HTTP."""

from __future__ import annotations

import os
import secrets
import sys
from argparse import Namespace
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sparkext.command_line.spark_start import checked_settings, opened_engine, spark_session
from sparkext.errors import ConfigurationError, CqelsError
from sparkext.serving.arguments import OPTIONS, limit_settings, serve_options, values_of
from sparkext.serving.options import ServeOptions, check_token

if TYPE_CHECKING:
    from sparkext.serving.beginnings import Beginnings

_NEEDED = ("starlette", "uvicorn", "prometheus_client")
_HERE = ("127.0.0.1", "::1", "localhost")
TOKEN_VARIABLE = "CQELS_TOKEN"


def execute(arguments: Namespace) -> None:
    """Run the command until it is told to end; raises what `sparkext.command_line.messages` can put into words."""
    check_installed("cqels serve")
    from sparkext.serving.logs import logging_to
    from sparkext.serving.server import Server, listening

    beginnings = _beginnings(arguments)
    values = values_of(beginnings.options, str(arguments.config))
    given = {option.name: getattr(arguments, option.name.replace("-", "_")) for option in OPTIONS}
    values |= {name: value for name, value in given.items() if value is not None}
    token, made = token_of(values.get("token-file"))
    options = serve_options(values, token)
    settings = limit_settings(values) | {**beginnings.settings, **dict(arguments.settings)}
    checked = checked_settings(list(settings.items()), arguments.semantics)

    def started(url: str) -> None:
        _tell(f"listening at {url}")
        _tell(f"page: {page_at(url, token, made)}")

    with logging_to(values.get("log-format", "text"), values.get("log-level", "warning")):
        _warn(options)
        if made:
            _tell(f"token: {token}")
        listener = listening(options)
        with (
            spark_session(arguments, checked) as spark,
            opened_engine(spark, arguments.work_dir, beginnings.checkpoint) as engine,
        ):
            Server(engine, options, beginnings.prepare, started, listener).run()
    _tell("ended")


def check_installed(command: str) -> None:
    """Raises CqelsError where a package that serving needs is not there."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise CqelsError(f"{command} needs {', '.join(missing)}: pip install 'spark-cqels[serve]'")


def page_at(url: str, token: str, made: bool) -> str:
    """Where browsers find the page: a token that was made is in the part of the address that they send to nobody.

    >>> page_at("http://127.0.0.1:8890", "secret", False)
    'http://127.0.0.1:8890/ (asks for the token)'
    """
    return f"{url}/#token={quote(token, safe='')}" if made else f"{url}/ (asks for the token)"


def _beginnings(arguments: Namespace) -> Beginnings:
    """What the file says, and after it what the arguments do."""
    from sparkext.command_line.inputs import check_file
    from sparkext.serving.beginnings import (
        Beginnings,
        QueryToBe,
        StaticFile,
        StreamToBe,
        query_in_file,
        read_beginnings,
    )

    found = Beginnings() if arguments.config is None else read_beginnings(Path(arguments.config))
    static = [*found.static, *map(StaticFile, arguments.static)]
    static += [StaticFile(file, iri) for iri, file in arguments.static_graph]
    for one in static:
        check_file(one.file)
    queries = [QueryToBe(query_in_file(Path(file)), file) for file in arguments.query]
    return replace(
        found,
        saved=arguments.open_static or found.saved,
        checkpoint=arguments.checkpoint or found.checkpoint,
        static=static,
        streams=[*found.streams, *map(StreamToBe, arguments.stream)],
        queries=[*found.queries, *queries],
    )


def token_of(file: Path | None) -> tuple[str, bool]:
    """The token of a file or of the environment, or a new one, and whether it is new."""
    if file is not None:
        return read_token(file), False
    stated = os.environ.get(TOKEN_VARIABLE)
    if stated is not None:
        return check_token(stated.strip(), TOKEN_VARIABLE), False
    return secrets.token_urlsafe(32), True


def read_token(file: Path) -> str:
    """The token in a file; raises ConfigurationError."""
    try:
        text = file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "not ASCII"
        raise ConfigurationError("--token-file", f"{file}: {said}") from None
    return check_token(text.strip(), f"--token-file {file}")


def _warn(options: ServeOptions) -> None:
    if options.host not in _HERE and options.tls_cert is None:
        _tell(f"warning: {options.host} without --tls-cert: token and data pass in the clear")


def _tell(said: Any) -> None:
    sys.stderr.write(f"cqels serve: {said}\n")
    sys.stderr.flush()
