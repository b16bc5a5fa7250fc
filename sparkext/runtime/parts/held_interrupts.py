"""Ctrl-C comes between two steps of an engine, not in the midst of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class HeldInterrupts:
    """A block that Ctrl-C waits for, until it ends or lets it in; a second Ctrl-C waits no more.

    An interruption ends a call of Java only for Python: Java goes on with it, and would do so beside the next call.
    Of all threads the main one is interrupted; in others, and in a block within a block, this does nothing.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._handler: Callable[[int, FrameType | None], Any] | None = None  # the program's own
        self._pressed = False

    def __enter__(self) -> None:
        if not _in_main_thread():
            return
        if not self._depth:
            self._pressed = False
            handler = signal.getsignal(signal.SIGINT)
            if (
                handler != self._note
            ):  # else a second press has broken off the end of the block before
                own = callable(handler) and not isinstance(handler, signal.Handlers)
                self._handler = handler if own else None  # type: ignore[assignment]
            if self._handler is not None:
                signal.signal(signal.SIGINT, self._note)
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        if not _in_main_thread():
            return
        self._depth -= 1
        if not self._depth and self._handler is not None:
            # Unless the program has set another one meanwhile.
            if signal.getsignal(signal.SIGINT) == self._note:
                signal.signal(signal.SIGINT, self._handler)
            self.let_in()

    def let_in(self) -> None:
        """Let in an interruption that waits; called where what a block does is whole."""
        if self._pressed and _in_main_thread():
            self._pressed = False
            self._interrupt()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._pressed:
            self._pressed = False
            self._interrupt(frame)
        else:
            self._pressed = True

    def _interrupt(self, frame: FrameType | None = None) -> None:
        if self._handler is not None:
            self._handler(signal.SIGINT, frame)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


whole = HeldInterrupts()
"""Of the process, as its signals are: `with whole:` a step is done from its beginning to its end."""
