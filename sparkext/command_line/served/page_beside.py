"""The live page of a command that has an engine of its own: a server beside what the command does."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from sparkext.command_line.served.serve import check_installed, page_at, token_of
from sparkext.serving.options import ServeOptions

if TYPE_CHECKING:
    from sparkext.engine import Engine

PageListener: TypeAlias = tuple[socket.socket, ServeOptions, bool]
"""A socket, the options of a server there, and whether its token was made for it."""


@contextmanager
def page_listener(port: int | None) -> Iterator[PageListener | None]:
    """A socket at a port of this machine, with what a server there needs; None for none.

    Raises ConfigurationError where the port is taken, and CqelsError where serving needs what is not installed.
    """
    if port is None:
        yield None
        return
    check_installed("cqels run --page")
    from sparkext.serving.server import listening

    token, made = token_of(None)
    options = ServeOptions(token=token, port=port)
    with listening(options) as listener:
        yield listener, options, made


@contextmanager
def page_beside(engine: Engine, listens: PageListener | None) -> Iterator[Callable[[], None]]:
    """Serve an engine and its queries where `page_listener` says; gives what waits until somebody ends it (Ctrl-C).

    The engine is closed on leaving.
    """
    if listens is None:
        yield lambda: None
        return
    from sparkext.serving.server import Server

    listener, options, made = listens
    began = threading.Event()
    server = Server(
        engine, options, lambda served: served.adopt(), lambda url: began.set(), listener
    )
    failed: list[BaseException] = []

    def run() -> None:
        try:
            server.run()
        except BaseException as error:
            failed.append(error)
        finally:
            began.set()

    thread = threading.Thread(target=run, name="cqels-page")
    thread.start()
    try:
        began.wait()
        if failed:
            raise failed[0]
        _tell(f"page: {page_at(server.url, options.token, made)}")
        yield lambda: _stay(thread)
    finally:
        server.stop()
        thread.join()


def _stay(thread: threading.Thread) -> None:
    _tell("the streams have ended; the page stays until Ctrl-C")
    try:
        while thread.is_alive():
            thread.join(1.0)
    except KeyboardInterrupt:
        return


def _tell(said: str) -> None:
    sys.stderr.write(f"cqels: {said}\n")
    sys.stderr.flush()
