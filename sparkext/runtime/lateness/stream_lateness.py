"""What a stream says of elements that come late: how far they may, what becomes of them, and when it is silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sparkext.argument_checks import check
from sparkext.errors import DuplicateNameError
from sparkext.s2r.event_time import GREATEST_TIME
from sparkext.s2r.watermark import CorrectingWatermark, StreamWatermark
from sparkext.setting_types import read_duration, show_duration
from sparkext.settings.stream_settings import StreamSettings

HOLD, CORRECT = "hold", "correct"


@dataclass(frozen=True)
class StreamLateness:
    """Durations in milliseconds, None for no idle timeout; `late` is "hold" or "correct"; `late_stream` an IRI."""

    allowed: int
    idle_timeout: int | None
    late: str
    late_stream: str | None = None

    @classmethod
    def of(cls, settings: StreamSettings) -> StreamLateness:
        """As the keys have it."""
        return cls(settings.allowed_lateness, settings.idle_timeout or None, settings.late_elements)

    @property
    def corrects(self) -> bool:
        """Whether elements that come late may change what was answered."""
        return self.late == CORRECT and self.allowed > 0

    def watermark(self, clock: Callable[[], int]) -> StreamWatermark:
        """A watermark for such a stream."""
        kind = CorrectingWatermark if self.corrects else StreamWatermark
        return kind(self.allowed, self.idle_timeout, clock)


@dataclass(frozen=True)
class LatenessWish:
    """What `Engine.register_stream` is given for it, None where nothing is."""

    allowed: int | None = None
    idle_timeout: int | None = None
    late: str | None = None
    late_stream: str | None = None

    @classmethod
    def read(
        cls, allowed_lateness: object, idle_timeout: object, late: object, late_stream: object
    ) -> LatenessWish:
        """Checks arguments; raises ArgumentError.

        >>> LatenessWish.read("PT10S", 250, "correct", None)
        LatenessWish(allowed=10000, idle_timeout=250, late='correct', late_stream=None)
        """
        allowed = _duration("allowed_lateness", allowed_lateness)
        idle = _duration("idle_timeout", idle_timeout)
        if late is not None and late not in (HOLD, CORRECT):
            raise check.wrong("late", f'"{HOLD}" or "{CORRECT}"', late)
        if late_stream is not None:
            late_stream = check.iri("late_stream", late_stream)
        return cls(allowed, idle, late, late_stream)

    def over(self, default: StreamLateness) -> StreamLateness:
        """What holds where this is wished and the rest is as the keys have it; an idle timeout of 0 is none."""
        idle = default.idle_timeout if self.idle_timeout is None else self.idle_timeout or None
        return replace(
            default,
            allowed=default.allowed if self.allowed is None else self.allowed,
            idle_timeout=idle,
            late=self.late or default.late,
            late_stream=self.late_stream,
        )

    def check_same(self, iri: str, known: StreamLateness) -> None:
        """Raises DuplicateNameError where a stream that is registered already has other values."""
        idle = known.idle_timeout or 0
        for name, wished, there in (
            ("allowed_lateness", self.allowed, known.allowed),
            ("idle_timeout", self.idle_timeout, idle),
            ("late", self.late, known.late),
            ("late_stream", self.late_stream, known.late_stream),
        ):
            if wished is not None and wished != there:
                said = [show_duration(v) if isinstance(v, int) else v for v in (there, wished)]
                raise DuplicateNameError(
                    f"the stream <{iri}> is registered already with {name} {said[0]}, not {said[1]}"
                )


def _duration(name: str, given: object) -> int | None:
    wanted = "a duration, such as PT10S, 10s or milliseconds, of at least 0"
    if given is None:
        return None
    if isinstance(given, str):
        check.text(name, given, wanted)
        try:
            return read_duration(given.strip())
        except ValueError:
            raise check.wrong(name, wanted, given) from None
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= GREATEST_TIME:
        raise check.wrong(name, wanted, given)
    return given
