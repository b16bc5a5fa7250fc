"""Keys of spark.cqels.*: typed, checked, and documented from their declaration."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext import setting_keys
from sparkext.command_line.spark_start import checked_settings
from sparkext.config import Settings, keys, markdown_page, names_of
from sparkext.errors import ConfigurationError
from sparkext.setting_types import read_duration, show_duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[3]
BY_NAME = {key.name: key for key in keys()}


def test_the_documentation_is_the_declarations() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == markdown_page(keys()), "run: python -m sparkext.config > docs/configuration.md"


def test_the_module_prints_the_page_and_nothing_else() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sparkext.config"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == markdown_page(keys())
    assert done.stderr == ""


def test_every_key_is_well_formed() -> None:
    assert len(BY_NAME) == len(keys())
    for key in keys():
        assert re.fullmatch(r"spark\.cqels(\.[a-z][a-zA-Z0-9]*)+", key.name)
        assert key.type.read(key.type.show(key.default)) == key.default
        assert key.meaning.endswith(".")
        assert re.fullmatch(r"\d+\.\d+\.\d+", key.since)


def test_types_of_numbers_name_their_range() -> None:
    shown = {key.type.name for key in keys() if "number" in key.type.name}
    assert "whole number, at least 0" in shown
    assert "number above 0" in shown
    for name in shown:
        assert re.search(r"\d", name), name


def test_internal_keys_are_read_but_not_listed() -> None:
    internal = [key.name for key in keys() if key.internal]
    assert internal
    assert not any(name in markdown_page(keys()) for name in internal)


def test_no_entry_gives_the_defaults() -> None:
    assert Settings.from_mapping({"spark.sql.shuffle.partitions": "2"}) == Settings()


@pytest.mark.parametrize(
    ("name", "text", "attribute", "value"),
    [
        ("spark.cqels.enabled", "FALSE", "enabled", False),
        ("spark.cqels.prejoin.maxRows", " 7 ", "prejoin_max_rows", 7),
        ("spark.cqels.prejoin.maxGrowth", "2.5", "prejoin_max_growth", 2.5),
        ("spark.cqels.allowedLateness", "PT1M0.5S", "allowed_lateness", 60_500),
        ("spark.cqels.semantics", "csparql", "semantics", "csparql"),
        ("spark.cqels.startingAt", "1970-01-01T00:00:01Z", "starting_at", 1000),
    ],
)
def test_a_value_is_read_as_its_type(name: str, text: str, attribute: str, value: object) -> None:
    assert getattr(Settings.from_mapping({name: text}), attribute) == value


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("spark.cqels.enabled", "yes", "true or false"),
        ("spark.cqels.dictionary.hashBits", "0", "from 1 to 58"),
        ("spark.cqels.prejoin.maxRows", "1e3", "whole number"),
        ("spark.cqels.prejoin.maxGrowth", "-1", "above 0"),
        ("spark.cqels.prejoin.maxGrowth", "nan", "above 0"),
        ("spark.cqels.allowedLateness", "soon", "PT30S"),
        ("spark.cqels.allowedLateness", "-5s", "PT30S"),
        ("spark.cqels.allowedLateness", "P", "PT30S"),
        ("spark.cqels.allowedLateness", "PT", "PT30S"),
        ("spark.cqels.allowedLateness", "P1DT", "PT30S"),
        ("spark.cqels.semantics", "cql", "rspql"),
        ("spark.cqels.startingAt", "soon", "xsd:dateTime"),
        ("spark.cqels.dictionary.hashBits", "59", "from 1 to 58"),
        ("spark.cqels.functionCache.size", "2147483648", "from 1 to 2147483647"),
        ("spark.cqels.driverExecution.threads", "1025", "from 0 to 1024"),
        ("spark.cqels.sql.maxStaticRows", "9223372036854775808", "below 2^63"),
        ("spark.cqels.sql.planTimeout", "9007199254740992", "less than 2^53 milliseconds"),
        ("spark.cqels.startingAt", "-9007199254740992", "less than 2^53 milliseconds"),
    ],
)
def test_a_wrong_value_names_the_key_and_what_is_wanted(name: str, text: str, wanted: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings.from_mapping({name: text})
    assert caught.value.key == name
    assert wanted in str(caught.value)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("spark.cqels.prejoins.enabled", "spark.cqels.prejoin.enabled"),
        ("spark.cqels.allowedlateness", "spark.cqels.allowedLateness"),
        ("spark.cqels.prejoin.MaxRow", "spark.cqels.prejoin.maxRows"),
    ],
)
def test_an_unknown_key_names_the_nearest_one(written: str, meant: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings.from_mapping({written: "true"})
    assert caught.value.key == written
    assert f"did you mean {meant}?" in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "planCache.horizon",
        "planCache.margin",
        "planCache.size",
        "planCache.trials",
        "scanGrouping.enabled",
        "statistics.drift",
        "statistics.exactValues",
        "statistics.sampleRows",
    ],
)
def test_keys_that_have_gone_are_warned_of(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever they are set to; what is set beside them counts."""
    name = f"spark.cqels.{name}"
    assert name not in BY_NAME
    with caplog.at_level(logging.WARNING, "sparkext.config"):
        read = Settings.from_mapping({name: "no number", "spark.cqels.sharing.enabled": "false"})
    assert read == replace(Settings(), sharing_enabled=False)
    assert caplog.messages == [f"{name} has no effect any more; see the CHANGELOG"]


# Former name, present name, a value, its value in Settings, another value.
RENAMED = [
    ("filterPlacement", "predicatePlacement", "late", "late", "early"),
    ("clusterJoin.enabled", "multiwayJoin.enabled", "false", False, "true"),
    ("clusterJoin.broadcastRows", "multiwayJoin.broadcastRows", "1000", 1_000, "2000"),
]


@pytest.fixture
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has warned of no former name yet."""
    monkeypatch.setattr(setting_keys, "_WARNED", set())


def test_the_table_has_all_former_names() -> None:
    former = {old: key.name for key in keys() for old in key.formerly}
    told = {f"spark.cqels.{old}": f"spark.cqels.{new}" for old, new, *_ in RENAMED}
    assert former == told
    assert not former.keys() & (BY_NAME.keys() | setting_keys.RETIRED)
    assert all(names_of(key.attribute) == (key.name, *key.formerly) for key in keys())


@pytest.mark.usefixtures("unwarned")
@pytest.mark.parametrize(("old", "new", "text", "value", "other"), RENAMED)
def test_former_names_are_read_with_one_warning(
    old: str, new: str, text: str, value: object, other: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As Settings read them, and as the command's ``--set`` does."""
    old, new = f"spark.cqels.{old}", f"spark.cqels.{new}"
    attribute = BY_NAME[new].attribute
    with caplog.at_level(logging.WARNING, "sparkext"):
        assert getattr(Settings.from_mapping({old: text}), attribute) == value
        assert getattr(Settings.from_mapping({old: f" {text} ", new: text}), attribute) == value
        given = checked_settings([(old, other), (old, text)], None)
        assert Settings.from_mapping(given) == Settings.from_mapping({new: text})
    assert caplog.messages == [f"{old} is called {new} now; the former name is still read"]
    with pytest.raises(ConfigurationError) as caught:
        Settings.from_mapping({old: text, new: other})
    message = str(caught.value)
    assert all(part in message for part in (old, new, repr(text), repr(other)))
    with pytest.raises(ConfigurationError) as caught:
        Settings.from_mapping({old: "neither"})
    assert caught.value.key == old


@pytest.mark.usefixtures("unwarned")
def test_equal_values_may_be_written_differently_under_two_names() -> None:
    old, new = "spark.cqels.clusterJoin.enabled", "spark.cqels.multiwayJoin.enabled"
    assert not Settings.from_mapping({old: "False", new: "false"}).multiway_join_enabled


def test_a_misspelt_former_name_leads_to_the_present_one() -> None:
    with pytest.raises(ConfigurationError, match=r"did you mean spark\.cqels\.predicatePlacement"):
        Settings.from_mapping({"spark.cqels.filterPlacment": "late"})


def test_former_names_are_read_from_a_session(spark: SparkSession) -> None:
    spark.conf.set("spark.cqels.filterPlacement", "late")
    try:
        assert Settings.from_session(spark).predicate_placement == "late"
        spark.conf.set("spark.cqels.predicatePlacement", "early")
        with pytest.raises(ConfigurationError, match="filterPlacement"):
            Settings.from_session(spark)
    finally:
        spark.conf.unset("spark.cqels.filterPlacement")
        spark.conf.unset("spark.cqels.predicatePlacement")


@settings(derandomize=True, max_examples=200)
@given(st.integers(min_value=0, max_value=10**12))
def test_a_duration_reads_back(milliseconds: int) -> None:
    assert read_duration(show_duration(milliseconds)) == milliseconds
    assert read_duration(str(milliseconds)) == milliseconds


def test_a_session_is_read_with_what_was_changed_in_it(spark: SparkSession) -> None:
    before = Settings.from_session(spark)
    spark.conf.set("spark.cqels.idleTimeout", "3s")
    try:
        assert Settings.from_session(spark).idle_timeout == 3_000
    finally:
        spark.conf.unset("spark.cqels.idleTimeout")
    assert Settings.from_session(spark) == before


def test_a_misspelt_key_in_a_session_is_an_error(spark: SparkSession) -> None:
    spark.conf.set("spark.cqels.sharing.enable", "true")
    try:
        with pytest.raises(ConfigurationError, match=r"spark\.cqels\.sharing\.enabled"):
            Settings.from_session(spark)
    finally:
        spark.conf.unset("spark.cqels.sharing.enable")
