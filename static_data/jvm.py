"""The way to the classes of the JVM extension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from static_data.errors import MalformedTermError, MissingExtensionError

_PACKAGE = "org.apache.spark.sql.cqels"


def extension(spark: SparkSession) -> Any:
    """The extension's package as py4j sees it; raises MissingExtensionError without the jar."""
    jvm: Any = spark.sparkContext._jvm
    package = jvm.org.apache.spark.sql.cqels
    # A class that py4j does not find shows as one more package.
    if not isinstance(package.dictionary.Dictionary, JavaClass):
        raise MissingExtensionError(
            f"the session has no {_PACKAGE}: start it with the project's jar on spark.jars and on"
            " spark.driver.extraClassPath"
        )
    return package


def checked_term(function: Callable[[Any], Any], argument: str | int) -> Any:
    """What the dictionary gives for a text or an id; raises MalformedTermError where that is none."""
    try:
        return function(argument)
    except Py4JJavaError as error:
        raise MalformedTermError(str(error.java_exception.getMessage())) from None
