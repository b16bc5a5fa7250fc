"""A Spark session for one command: started quietly and quickly, or the one that is there already."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from sparkext.config import Settings
from sparkext.errors import CheckpointError, ConfigurationError, SessionError
from sparkext.setting_keys import PREFIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.engine import Engine

_SEMANTICS = f"{PREFIX}semantics"
_THROWN = re.compile(r"(?:Exception in thread \"\w+\" [\w.$]+|Caused by: (?:\w+\.)*([\w$]+)): (.+)")
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # PySpark tells Java with each column which line of a program made it: there is no program.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}


def checked_settings(given: Sequence[tuple[str, str]], semantics: str | None) -> dict[str, str]:
    """The ``spark.cqels.*`` settings of the command; the last value of a key counts.

    Raises ConfigurationError for a key or a value that does not exist.

    >>> checked_settings([("spark.cqels.allowedLateness", "5s")], "rspql")
    {'spark.cqels.allowedLateness': '5s', 'spark.cqels.semantics': 'rspql'}
    """
    settings = dict(given)
    for key in settings:
        if not key.startswith(PREFIX):
            raise ConfigurationError(key, f"there is no such key; keys begin with {PREFIX}")
    if semantics is not None:
        if settings.get(_SEMANTICS, semantics) != semantics:
            other = settings[_SEMANTICS]
            raise ConfigurationError(
                _SEMANTICS, f"{other!r} by --set, {semantics!r} by --semantics"
            )
        settings[_SEMANTICS] = semantics
    Settings.from_mapping(settings)
    return settings


@contextmanager
def spark_session(arguments: Namespace, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session with the extension and these settings.

    An application that runs in this process already is used, in a session of its own, and left
    running; else one is started, and stopped on leaving. Raises SessionError.
    """
    from pyspark.sql import SparkSession

    from sparkext.session import require_extension

    running = SparkSession.getActiveSession()
    if running is not None:
        require_extension(running)
        session = running.newSession()
        for key, value in settings.items():
            session.conf.set(key, value)
        yield session
        return
    session = _start(arguments, settings)
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def opened_engine(
    spark: SparkSession, work_dir: str | None, checkpoint: str | None = None
) -> Iterator[Engine]:
    """An engine that keeps its static tables in `work_dir` (None: a temporary folder); closed on leaving."""
    from sparkext.engine import Engine

    engine = Engine(spark, work_dir=work_dir, checkpoint=checkpoint)
    try:
        yield engine
    except BaseException:
        with suppress(CheckpointError):  # it is logged, and what went wrong first is what is told
            engine.close()
        raise
    engine.close()


def _start(arguments: Namespace, settings: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    from sparkext.session import configure

    builder = SparkSession.builder.master(arguments.master).appName("cqels")
    if not arguments.debug:
        for key, value in _QUIET.items():
            builder.config(key, value)
    if arguments.master.startswith("local"):
        for key, value in _local_settings().items():
            builder.config(key, value)
    memory = arguments.driver_memory or _default_memory()
    if memory is not None:
        builder.config("spark.driver.memory", memory)
    for key, value in settings.items():
        builder.config(key, value)
    # What the JVM writes before Spark's log level holds must not mix with answers and messages.
    with tempfile.TemporaryFile() as chatter:
        try:
            configure(builder)
            with _own_address(arguments.master):
                if not arguments.debug:
                    _launch(builder, chatter)
                    _make_session(builder)
                session = builder.getOrCreate()
            if not arguments.debug:
                _announce_archive(builder)
            return session
        except SessionError:
            raise
        except Exception as error:
            if arguments.debug:
                raise
            reason = _reason(error, chatter)
            raise SessionError(
                f"Spark cannot be started on {arguments.master}: {reason}"
            ) from error


def _announce_archive(builder: SparkSession.Builder) -> None:
    from sparkext.class_archive import writes_archive
    from sparkext.jar import cache_folder

    if writes_archive(str(builder._options.get("spark.driver.defaultJavaOptions", ""))):
        sys.stderr.write(
            "cqels: starts will take about half the time, by an archive of classes (160 MB) that is"
            f" written to {cache_folder()} after this command has ended;"
            " --set spark.cqels.classArchive=false forgoes that\n"
        )


def _launch(builder: SparkSession.Builder, chatter: IO[bytes]) -> None:
    from pyspark import SparkConf, SparkContext, java_gateway

    if SparkContext._gateway is not None:
        return
    options = {key: str(value) for key, value in builder._options.items()}
    conf = SparkConf(loadDefaults=False).setAll(list(options.items()))
    launch: Any = java_gateway.launch_gateway
    gateway = launch(conf, {"stdout": chatter, "stderr": chatter})
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


def _make_session(builder: SparkSession.Builder) -> None:
    """Make the session that `builder` will find, without the functions of Spark's ML library."""
    from pyspark import SparkConf, SparkContext

    conf = SparkConf().setAll([(key, str(value)) for key, value in builder._options.items()])
    context = SparkContext.getOrCreate(conf)
    jvm: Any = context._jvm
    jvm.org.apache.spark.sql.cqels.spark.CommandSession.start(context._jsc.sc())


def _reason(error: Exception, chatter: IO[bytes]) -> str:
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java.getMessage() or java)
    if "JAVA_GATEWAY_EXITED" in text:
        chatter.seek(0)
        lines = chatter.read().decode("utf-8", "replace").splitlines()
        # A virtual machine that cannot begin says so in one line, and why in the next.
        lines = [line for line in lines if line.strip() and "initialization of VM" not in line]
        thrown = [
            ": ".join(filter(None, found.groups())) for found in map(_THROWN.match, lines) if found
        ]
        text = next(iter(thrown or lines), "the Java process ended at once")
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)


def _local_settings() -> dict[str, str]:
    """What makes small jobs on one machine start sooner; answers do not depend on it."""
    return {
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


@contextmanager
def _own_address(master: str) -> Iterator[None]:
    """Where all is on one machine: Spark looks up the machine's name if it is told no address, and some have none."""
    name = "SPARK_LOCAL_IP"
    if not master.startswith("local") or name in os.environ:
        yield
        return
    os.environ[name] = "127.0.0.1"
    try:
        yield
    finally:
        del os.environ[name]


def _default_memory() -> str | None:
    """A quarter of the machine's memory, which is Java's own rule; Spark's is a fixed gigabyte."""
    if "SPARK_DRIVER_MEMORY" in os.environ:
        return None
    try:
        bytes_ = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
    return f"{max(bytes_ // 4, 1 << 30) >> 20}m"
