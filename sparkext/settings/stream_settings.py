"""The ``spark.cqels.*`` keys of streams: what comes late, what lies ahead, who is waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sparkext.setting_keys import declare
from sparkext.setting_types import DURATION, choice, whole_number

_MOST = (1 << 31) - 1  # counted in 32 bits by the JVM


@dataclass(frozen=True)
class StreamSettings:
    """The values of these keys, checked and typed; durations are milliseconds."""

    allowed_lateness: int = declare(
        "allowedLateness",
        DURATION,
        0,
        "How far an element's time may lie behind the newest one of its stream; later ones are"
        " counted and reported, not answered. `register_stream` may say it for a stream.",
    )
    late_elements: Literal["hold", "correct"] = declare(
        "lateElements",
        choice("hold", "correct"),
        "hold",
        "What becomes of elements that come late, within `allowedLateness`: instants are held back until none can come"
        " any more; or they are answered at once, and again where an element that comes late changes their answers"
        " (docs/streams.md). `register_stream` may say it for a stream.",
    )
    max_ahead: int = declare(
        "maxAhead",
        DURATION,
        36_500 * 86_400_000,
        "How far an element's time may lie ahead of the clock (in `cqels run`: of the newest time so far). A later one"
        " cannot be right: it is set aside and counted, and silences nothing. 0 is no limit.",
    )
    replay_look_ahead: int = declare(
        "replay.lookAhead",
        whole_number(1, _MOST),
        100_000,
        "`cqels run`: elements of a file that are held to be put together, and again to be put in order of time.",
    )
    idle_timeout: int = declare(
        "idleTimeout",
        DURATION,
        0,
        "A stream that is silent for this long no longer holds back the others; 0 means that every"
        " stream is waited for. `register_stream` may say it for a stream.",
    )
