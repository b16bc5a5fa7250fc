"""Which jar of the JVM extension to use: a packaged one, or one compiled into the user's cache."""

from __future__ import annotations

import logging
import os
from functools import lru_cache
from pathlib import Path

import pyspark
from pyspark.find_spark_home import _find_spark_home

from sparkext import toolchain
from sparkext.errors import SessionError
from sparkext.toolchain import Stamp

logger = logging.getLogger(__name__)

_PACKAGE = Path(__file__).resolve().parent
SOURCES = _PACKAGE / "jvm"
PACKAGED_JARS = _PACKAGE / "jars"


class JarError(SessionError):
    """The jar of the JVM extension is missing or does not fit, and cannot be made."""


def cache_folder() -> Path:
    """Folder for rebuilt jars and archives of classes: ``$XDG_CACHE_HOME/spark-cqels``, or ``~/.cache/spark-cqels``."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG base directory rules say that a relative path is to be ignored.
    root = base if base.is_absolute() else Path.home() / ".cache"
    return root / "spark-cqels"


def expected_stamp() -> Stamp:
    """What a jar must have been compiled for and from to be used here.

    Raises JarError when the Scala sources or Spark's jars are missing, or Spark is too old.
    """
    try:
        return _stamp_once(SOURCES, _spark_jars(), pyspark.__version__)
    except toolchain.ToolchainError as error:
        raise JarError(str(error)) from error


@lru_cache
def _stamp_once(sources: Path, jars: Path, version: str) -> Stamp:
    # Once a process: editing a source while a session runs must not make the session's jar unfit.
    digest = toolchain.source_hash(toolchain.scala_sources(sources, version))
    return Stamp(version, toolchain.scala_version(jars), digest)


def locate() -> Path:
    """Path of a jar that fits the installed PySpark and the packaged sources.

    The packaged jar for this Spark when it fits; else the one in the cache; else it is compiled into the cache,
    which takes about ten seconds and is logged. Raises JarError when that does not work.
    """
    expected = expected_stamp()
    packaged = PACKAGED_JARS / expected.jar_name
    if toolchain.read_stamp(packaged) == expected:
        return packaged
    version, scala, digest = expected
    cached = cache_folder() / f"{version}_{scala}-{digest}.jar"
    if toolchain.read_stamp(cached) == expected:
        return cached
    why = _why(packaged, expected)
    logger.warning("%s; compiling it once into %s, about 10 s", why, cached)
    try:
        sources = toolchain.scala_sources(SOURCES, version)
        toolchain.compile_jar(sources, _spark_jars(), version, cached)
    except toolchain.JavaMissingError as error:
        raise JarError(
            f"The JVM extension has to be compiled for Spark {version}, which needs Java. {error}"
        ) from error
    except toolchain.ToolchainError as error:
        raise JarError(
            f"The JVM extension could not be compiled for Spark {version} (it is for"
            f" {toolchain.SPARKS}). {error}"
        ) from error
    return cached


def _spark_jars() -> Path:
    # Under spark-submit the module pyspark lies in an archive, and SPARK_HOME is set.
    beside = Path(pyspark.__file__).parent / "jars"
    return beside if beside.is_dir() else Path(_find_spark_home()) / "jars"


def _why(jar: Path, expected: Stamp) -> str:
    if not any(toolchain.read_stamp(jar)):
        return f"The JVM extension has not been compiled for Spark {expected.spark}"
    return "The Scala sources have changed since the JVM extension was compiled"
