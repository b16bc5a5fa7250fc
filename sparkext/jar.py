"""Which jar of the JVM extension to use: the packaged one, or one rebuilt into the user's cache."""

from __future__ import annotations

import logging
import os
from functools import lru_cache
from pathlib import Path

import pyspark
from pyspark.find_spark_home import _find_spark_home

from sparkext import toolchain
from sparkext.errors import SessionError

logger = logging.getLogger(__name__)

_PACKAGE = Path(__file__).resolve().parent
SOURCES = _PACKAGE / "jvm"
PACKAGED_JAR = _PACKAGE / "jars" / toolchain.JAR_NAME


class JarError(SessionError):
    """The jar of the JVM extension is missing or does not fit, and cannot be made."""


def cache_folder() -> Path:
    """Folder for rebuilt jars and archives of classes: ``$XDG_CACHE_HOME/spark-cqels``, or ``~/.cache/spark-cqels``."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG base directory rules say that a relative path is to be ignored.
    root = base if base.is_absolute() else Path.home() / ".cache"
    return root / "spark-cqels"


def expected_stamp() -> tuple[str, str]:
    """(Spark version, source hash) that a jar must have been compiled for to be used here.

    Raises JarError when the Scala sources are missing.
    """
    try:
        return pyspark.__version__, _hash_once(SOURCES)
    except toolchain.ToolchainError as error:
        raise JarError(str(error)) from error


@lru_cache
def _hash_once(folder: Path) -> str:
    # Once a process: editing a source while a session runs must not make the session's jar unfit.
    return toolchain.source_hash(toolchain.scala_sources(folder))


def locate() -> Path:
    """Path of a jar that fits the installed PySpark and the packaged sources.

    The packaged jar when it fits; else the one in the cache; else it is compiled into the cache,
    which takes about ten seconds and is logged. Raises JarError when that does not work.
    """
    expected = expected_stamp()
    version, digest = expected
    if toolchain.read_stamp(PACKAGED_JAR) == expected:
        return PACKAGED_JAR
    cached = cache_folder() / f"{version}-{digest}.jar"
    if toolchain.read_stamp(cached) == expected:
        return cached
    why = _why(PACKAGED_JAR, expected)
    logger.warning("%s; compiling it once into %s, about 10 s", why, cached)
    try:
        sources = toolchain.scala_sources(SOURCES)
        toolchain.compile_jar(sources, _spark_jars(), version, cached)
    except toolchain.JavaMissingError as error:
        raise JarError(
            f"The JVM extension has to be compiled for Spark {version}, which needs Java. {error}"
        ) from error
    except toolchain.ToolchainError as error:
        raise JarError(
            f"The JVM extension could not be compiled for Spark {version}. {error}"
        ) from error
    return cached


def _spark_jars() -> Path:
    # Under spark-submit the module pyspark lies in an archive, and SPARK_HOME is set.
    beside = Path(pyspark.__file__).parent / "jars"
    return beside if beside.is_dir() else Path(_find_spark_home()) / "jars"


def _why(jar: Path, expected: tuple[str, str]) -> str:
    found = toolchain.read_stamp(jar)
    if found == ("", ""):
        return "The JVM extension has not been compiled"
    if found[0] != expected[0]:
        return f"The JVM extension was compiled for Spark {found[0]}, here is {expected[0]}"
    return "The Scala sources have changed since the JVM extension was compiled"
