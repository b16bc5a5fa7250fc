"""The way to the classes of the JVM extension, each looked up once.

py4j asks the JVM for every name of ``jvm.org.apache.x.Y`` each time it is written, and Java searches
some three hundred jars for a class ``org``, then ``org.apache``, before it says that there is none:
milliseconds, hundreds of times a query. What a name stands for does not change while a JVM runs.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from py4j.java_gateway import JavaClass, JavaPackage, JVMView
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from static_data.errors import MalformedTermError, MissingExtensionError

_PACKAGE = "org.apache.spark.sql.cqels"
# What PySpark looks up again with each column, each operation on one and each select.
_FUNCTIONS = ("col", "lit", "call_function", "broadcast", "when", "coalesce", "isnotnull", "count")
_PYSPARK_ASKS = {
    "functions": _FUNCTIONS,
    "org.apache.spark.sql.functions": _FUNCTIONS,
    "PythonUtils": ("toSeq", "toList"),
    "org.apache.spark.sql.classic.SparkSession": ("getActiveSession",),
    "org.apache.spark.sql.catalyst.trees.PySparkCurrentOrigin": ("set", "clear"),
}


class RememberedPackage:
    """A package of the extension as py4j shows it, which keeps what was found in it."""

    def __init__(self, package: JavaPackage) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._package, name)
        if isinstance(found, JavaPackage):
            if not name.islower():
                return found  # So py4j shows a class that is not there.
            found = RememberedPackage(found)
        setattr(self, name, found)
        return found


_extensions: weakref.WeakKeyDictionary[JVMView, RememberedPackage] = weakref.WeakKeyDictionary()


def extension(spark: SparkSession) -> Any:
    """The extension's package; raises MissingExtensionError without the jar."""
    jvm: Any = spark.sparkContext._jvm
    found = _extensions.get(jvm)
    if found is None:
        package = RememberedPackage(jvm.org.apache.spark.sql.cqels)
        if not isinstance(package.dictionary.Dictionary, JavaClass):
            raise MissingExtensionError(
                f"the session has no {_PACKAGE}: start it with the project's jar on spark.jars and on"
                " spark.driver.extraClassPath"
            )
        _remember_for_pyspark(jvm)
        _extensions[jvm] = found = package
    return found


def java_class(jvm: JVMView, name: str) -> Any:
    """The class of that full name, which py4j looks up once for all who ask for it."""
    found = getattr(jvm, name)
    setattr(jvm, name, found)
    return found


def _remember_for_pyspark(jvm: JVMView) -> None:
    for name, members in _PYSPARK_ASKS.items():
        with suppress(Py4JError):  # another PySpark asks for others
            found = java_class(jvm, name)
            for member in members:
                setattr(found, member, getattr(found, member))


def checked_term(function: Callable[[Any], Any], argument: str | int) -> Any:
    """What the dictionary gives for a text or an id; raises MalformedTermError where that is none."""
    try:
        return function(argument)
    except Py4JJavaError as error:
        raise MalformedTermError(str(error.java_exception.getMessage())) from None


def elements(array: Any) -> list[Any]:
    """The elements of an array of Java; by itself, Python asks for one more to find the end, and Java throws."""
    return [array[n] for n in range(len(array))]
