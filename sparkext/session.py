"""Start a Spark session with the JVM extension in it, or say clearly why that does not work."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from sparkext import jar, toolchain
from sparkext.class_archive import ClassArchive, plan_archive
from sparkext.config import Settings, names_of
from sparkext.errors import ArgumentError, SessionError
from sparkext.setting_keys import PREFIX
from static_data.jvm import java_class

if TYPE_CHECKING:
    from py4j.java_gateway import JVMView

logger = logging.getLogger(__name__)

EXTENSION = "org.apache.spark.sql.cqels.CqelsExtensions"

# Lets EXPLAIN tell which static sides of a streaming job are kept, and why others are not.
EXPLAIN_PROVIDER = "org.apache.spark.sql.cqels.kept.KeptSidesExplained"
_EXPLAIN_PROVIDERS = "spark.sql.extendedExplainProviders"

# Both are read once, at launch: the default code cache of 100 thrashes at 150 prepared plans, and
# with the default page size every hash relation of Spark takes 64 MB, however small.
LAUNCH_SETTINGS = {"spark.sql.codegen.cache.maxEntries": "1000", "spark.buffer.pageSize": "1m"}

# Look-ups in large indexes wait for memory; with small pages, for the page table as well.
HUGE_PAGES = "-XX:+UseTransparentHugePages"
_HUGE_PAGES_MODE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
_CLASS_ARCHIVE = f"{PREFIX}classArchive"

_CONNECT = (
    "A client of Spark Connect does not reach the Spark driver, in which the extension works, so this needs"
    " a classic session. The streaming jobs of clients keep their static sides as they are, where the"
    f" server was started with --jars $(cqels jar) --conf spark.sql.extensions={EXTENSION}"
)


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Add the extension to `builder` and give it back; call it before ``getOrCreate()``.

    Sets what must be known when the JVM starts (the jar, the extension, code cache, page sizes, the
    archive of classes), who adds to EXPLAIN, and no other setting. Lists of the user (jars, class
    path, extensions, providers of EXPLAIN) are appended to, and a value the user chose for code cache,
    page size or default options of Java stays; the options for the archive stand before the latter.

    Raises ArgumentError when `builder` is no builder, SessionError when a session is already running
    without the extension, for Spark Connect, or without Java 17; JarError when there is no jar;
    ConfigurationError when `spark.cqels.classArchive` is neither true nor false.
    """
    if not isinstance(builder, SparkSession.Builder):
        raise ArgumentError("builder", _not_a_builder(builder))
    options: dict[str, Any] = builder._options
    _refuse_connect(options)
    java = None
    running = SparkSession._instantiatedSession if _jvm_is_running() else None
    if _jvm_is_running():
        _check_running(running)
    else:
        try:
            java = toolchain.require_java()
        except toolchain.JavaMissingError as error:
            raise SessionError(f"Spark cannot be started. {error}") from error
    path = str(jar.locate())
    known = {**_spark_defaults(), **{key: str(value) for key, value in options.items()}}
    builder.config("spark.jars", _append(known.get("spark.jars"), path, ","))
    # The archive has classes of the class path only, and some threads of servers look nowhere else.
    class_path = known.get("spark.driver.extraClassPath")
    builder.config("spark.driver.extraClassPath", _append(class_path, path, os.pathsep))
    extensions = known.get("spark.sql.extensions")
    builder.config("spark.sql.extensions", _append(extensions, EXTENSION, ","))
    explaining = known.get(_EXPLAIN_PROVIDERS)
    if explaining is None and running is not None:
        # The one of these that a session may have changed while it runs.
        explaining = running.conf.get(_EXPLAIN_PROVIDERS, None)
    builder.config(_EXPLAIN_PROVIDERS, _append(explaining, EXPLAIN_PROVIDER, ","))
    for key, value in launch_settings().items():
        if key not in known:
            builder.config(key, value)
    archive = None if java is None else _class_archive(java, {**known, **options})
    if archive is not None:
        present = str(options.get(_JAVA_OPTIONS, known.get(_JAVA_OPTIONS, "")))
        builder.config(_JAVA_OPTIONS, f"{archive.java_options()} {present}".rstrip())
    return builder


def _class_archive(java: Path, conf: Mapping[str, Any]) -> ClassArchive | None:
    """What the JVM is to do with class archives; None where the user wants none or had his say."""
    texts = {key: str(value) for key, value in conf.items()}
    names = names_of("class_archive")
    wanted = {name: text for name, text in texts.items() if name in names}
    if not Settings.from_mapping(wanted).class_archive:
        return None
    home, version = Path(_find_spark_home()), jar.expected_stamp().spark
    archive = plan_archive(jar.cache_folder(), java, home, version, texts)
    if archive is not None and archive.file is None:
        logger.info(
            "No archive of classes fits this Java and Spark yet: if an engine is used, one of about"
            " 160 MB is written to %s-... at the end, and the next start takes about half the time"
            " (%s=false forgoes that)",
            archive.start,
            _CLASS_ARCHIVE,
        )
    return archive


def launch_settings(mode: Path = _HUGE_PAGES_MODE) -> dict[str, str]:
    """The settings that `configure` adds where the user chose none, beside jar and extension.

    Java is asked to use huge pages where the file `mode` says that the system offers them: without
    them, it would complain at each start.
    """
    try:
        offered = "[never]" not in mode.read_text(encoding="utf-8")
    except OSError:
        offered = False  # No Linux, or one without huge pages.
    java = {"spark.driver.defaultJavaOptions": HUGE_PAGES} if offered else {}
    return {**LAUNCH_SETTINGS, **java}


def require_extension(spark: SparkSession) -> None:
    """Check that the running session `spark` has the extension, from a jar that fits.

    Raises ArgumentError when `spark` is no session, SessionError when the extension is not there or
    was compiled for another Spark or from other sources.
    """
    if not isinstance(spark, SparkSession):
        kind = type(spark)
        if kind.__module__.startswith("pyspark.sql.connect"):
            raise SessionError(f"{_CONNECT}.")
        raise ArgumentError("spark", f"A SparkSession is needed, not {_described(spark)}.")
    _check_running(spark)


def _check_running(spark: SparkSession | None) -> None:
    """Raise SessionError unless the running JVM, and `spark` if given, have the extension."""
    advice = (
        "Call sparkext.configure(SparkSession.builder) before anything starts Spark in this"
        " process (in a notebook: restart the kernel first)."
    )
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        advice = (
            "The program was started by spark-submit, so the jar must be given to it:"
            f" --jars $(cqels jar) --conf spark.sql.extensions={EXTENSION}"
        )
    SparkContext._ensure_initialized()
    jvm = SparkContext._jvm
    assert jvm is not None
    path = _loaded_jar(jvm)
    if path is None:
        raise SessionError(f"Spark is already running without the jar of the extension. {advice}")
    _check_stamp(path)
    context = spark.sparkContext if spark is not None else SparkContext._active_spark_context
    if context is None or context._jsc is None:
        return  # The JVM runs with the jar, and no Spark application in it: all is still open.
    if context.version != jar.expected_stamp().spark:
        raise SessionError(
            f"PySpark is {jar.expected_stamp().spark}, but the Spark that runs is {context.version}"
            " (SPARK_HOME names another installation?)."
        )
    if EXTENSION not in _split(context._jsc.getConf().get("spark.sql.extensions", "")):
        raise SessionError(
            "A SparkSession or SparkContext is already running without the extension"
            f" (spark.sql.extensions lacks {EXTENSION}). Stop it first. {advice}"
        )


def _loaded_jar(jvm: JVMView) -> Path | None:
    """The jar or folder from which the JVM loads the extension; None when it cannot."""
    try:
        loader = java_class(jvm, "java.lang.Thread").currentThread().getContextClassLoader()
        loaded = java_class(jvm, "java.lang.Class").forName(EXTENSION, False, loader)
        source = loaded.getProtectionDomain().getCodeSource().getLocation().toString()
    except Py4JError:
        return None
    return Path(unquote(urlparse(source).path))


def _check_stamp(path: Path) -> None:
    found, expected = toolchain.read_stamp(path), jar.expected_stamp()
    if found.spark != expected.spark:
        raise SessionError(
            f"The extension in the running Spark ({path}) was compiled for Spark"
            f" {found.spark or 'unknown'}, but PySpark is {expected.spark}. Start a new process."
        )
    if found != expected:
        raise SessionError(
            f"The extension in the running Spark ({path}) was compiled from other sources than"
            " those installed here. Start a new process."
        )


def _jvm_is_running() -> bool:
    # spark-submit has started the JVM before this Python process, and says so by this variable.
    return SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ


def _refuse_connect(options: Mapping[str, Any]) -> None:
    named = [key for key in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED") if key in os.environ]
    named += [key for key in ("spark.remote",) if key in options]
    mode = options.get("spark.api.mode", os.environ.get("SPARK_API_MODE", ""))
    if str(mode).lower() == "connect":
        named.append("spark.api.mode=connect")
    if named:
        raise SessionError(f"{_CONNECT}. For a classic session remove {', '.join(named)}.")


def _not_a_builder(given: object) -> str:
    if type(given).__module__.startswith("pyspark.sql.connect"):
        return f"{_CONNECT}. sparkext.configure() takes pyspark.sql.SparkSession.builder."
    hint = ""
    if isinstance(given, SparkSession):
        hint = " Call it before getOrCreate(): a running session cannot take up the extension."
    return (
        "sparkext.configure() takes a session builder, such as SparkSession.builder,"
        f" not {_described(given)}.{hint}"
    )


def _described(given: object) -> str:
    return "None" if given is None else f"an object of type {type(given).__name__}"


def _spark_defaults() -> dict[str, str]:
    """What ``spark-defaults.conf`` says: a value set by a builder replaces it, so we extend it."""
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    try:
        text = Path(folder, "spark-defaults.conf").read_text(encoding="utf-8")
    except OSError:
        return {}  # The file is optional.
    lines = (line.strip() for line in text.splitlines() if not line.lstrip().startswith("#"))
    pairs = (line.replace("=", " ", 1).split(None, 1) for line in lines)
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def _append(present: str | None, added: str, separator: str) -> str:
    """`present` with `added` at its end, once.

    >>> _append(None, "b", ","), _append("a", "b", ","), _append("b,a", "b", ",")
    ('b', 'a,b', 'b,a')
    """
    parts = _split(present, separator)
    return separator.join(parts if added in parts else [*parts, added])


def _split(text: str | None, separator: str = ",") -> list[str]:
    return [part.strip() for part in (text or "").split(separator) if part.strip()]
