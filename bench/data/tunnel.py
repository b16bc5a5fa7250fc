"""A ventilated road tunnel: sectors with four kinds of sensors, and what these measure every second.

The workload of the uncertainty paper (2021), section 6: oxygen and temperature, each by a kind of sensor whose error is
known of the kind (static data) and by one that annotates every reading with its error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SECTORS, SECONDS, DEFAULT_SEED = 1000, 300, 2021


@dataclass(frozen=True)
class SensorKind:
    """One kind of sensor and its stream.

    Values are drawn from a uniform distribution over two bounds, or a normal one of a mean and a standard deviation;
    they have `digits` digits after the point. `kind_error` is a `rspu:distribution` that static data tell of all
    sensors of the kind, `reading_error` one that annotates each reading. Every `spacing`th sector has readings.
    """

    stream: str
    name: str
    quantity: str
    normal: bool
    parameters: tuple[float, float]
    digits: int
    spacing: int
    kind_error: str | None = None
    reading_error: str | None = None

    @property
    def type_name(self) -> str:
        """The name that IRIs of its sensors and readings have.

        >>> KINDS["ox1"].type_name
        'OxygenSensorType1'
        """
        return f"{self.name[:-1]}Type{self.name[-1]}"


KINDS = {
    kind.stream: kind
    for kind in (
        SensorKind("ox1", "OxygenSensor1", "oxygen", False, (0.17, 0.25), 9, 1, "U(-0.01,0.01)"),
        SensorKind("ox2", "OxygenSensor2", "oxygen", True, (0.21, 0.015), 9, 1, None, "N(0,0.005)"),
        SensorKind("temp1", "TemperatureSensor1", "temperature", False, (21, 31), 7, 2, "U(-2,2)"),
        SensorKind(
            "temp2", "TemperatureSensor2", "temperature", True, (26, 2), 7, 2, None, "N(0,0.5)"
        ),
    )
}


@dataclass(frozen=True)
class Tunnel:
    """The sectors, and the readings of so many seconds; the same seed gives the same readings.

    Raises ValueError for a tunnel without sectors or seconds.
    """

    sectors: int = SECTORS
    seconds: int = SECONDS
    seed: int = DEFAULT_SEED

    def __post_init__(self) -> None:
        if self.sectors < 1 or self.seconds < 1:
            raise ValueError("sectors and seconds must be at least 1")

    def measured(self, stream: str) -> np.ndarray:
        """The sectors with a sensor of that stream.

        >>> Tunnel(sectors=5).measured("temp1").tolist()
        [0, 2, 4]
        """
        return np.arange(0, self.sectors, KINDS[stream].spacing)

    def readings(self, stream: str, second: int) -> np.ndarray:
        """The values of one second in `measured` order: integers in units of the last digit, never a multiple of ten.

        So that a value has one form: no digit can be left out.
        """
        kind = KINDS[stream]
        rng = np.random.default_rng((self.seed, list(KINDS).index(stream), second))
        count = len(self.measured(stream))
        low, high = kind.parameters
        drawn = rng.normal(low, high, count) if kind.normal else rng.uniform(low, high, count)
        units = np.rint(drawn * 10.0**kind.digits).astype(np.int64)
        return np.maximum(units, 1) | 1
