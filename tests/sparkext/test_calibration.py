"""The cost constants of this machine: measured, written, read again."""

from __future__ import annotations

import dataclasses
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adaptive import CostModel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    from sparkext import Engine

    return Engine(spark, tmp_path_factory.mktemp("engine"))


def test_costs_are_measured_once_and_then_read(engine: Engine, tmp_path: Path) -> None:
    from sparkext.calibration import calibrated_costs

    measured = calibrated_costs(engine.room, tmp_path)
    (place,) = tmp_path.iterdir()
    assert json.loads(place.read_text()) == dataclasses.asdict(measured)
    assert measured != CostModel()
    # Whatever the machine: a look-up in an index beyond the cache costs more than one in it, holding rows is not free.
    assert measured.probe_doubling > 0
    assert measured.build_start > 0
    changed = dataclasses.replace(measured, scan_row=0.0123)
    place.write_text(json.dumps(dataclasses.asdict(changed)))
    assert calibrated_costs(engine.room, tmp_path) == changed


@pytest.mark.parametrize("text", ["no JSON", '{"scan_row": -1}', '{"unknown": 1}', "[]"])
def test_an_unreadable_file_is_reported_and_replaced(
    engine: Engine,
    tmp_path: Path,
    text: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from sparkext import calibration

    monkeypatch.setattr(calibration, "measure", lambda room: CostModel(scan_row=0.5))
    calibration.calibrated_costs(engine.room, tmp_path)
    (place,) = tmp_path.iterdir()
    place.write_text(text)
    with caplog.at_level(logging.WARNING):
        assert calibration.calibrated_costs(engine.room, tmp_path) == CostModel(scan_row=0.5)
    assert str(place) in caplog.text
    assert json.loads(place.read_text())["scan_row"] == 0.5


def test_without_calibration_the_built_in_constants_are_used(engine: Engine) -> None:
    assert not engine.settings.calibration_enabled
    assert engine.costs == CostModel()
