"""What tests of engines begin with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from tests.sparkext.sources.kafka_broker import KafkaBroker


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine without data."""
    from sparkext import Engine

    with closing(Engine(spark)) as made:
        yield made


@pytest.fixture
def persian_digits(spark: SparkSession) -> Iterator[None]:
    """Java's formats write numbers as where Persian is the language of the machine."""
    jvm: Any = spark._jvm
    locale = jvm.java.util.Locale
    formats = locale.Category.FORMAT
    before = locale.getDefault(formats)
    locale.setDefault(formats, locale.forLanguageTag("fa-IR"))
    try:
        assert jvm.java.text.DecimalFormatSymbols.getInstance().getZeroDigit() != "0"
        yield
    finally:
        locale.setDefault(formats, before)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A Kafka broker, started by the first test that needs it; such tests are skipped where it cannot be had."""
    from tests.sparkext.sources.kafka_broker import running_kafka

    yield from running_kafka(tmp_path_factory.mktemp("kafka"))
