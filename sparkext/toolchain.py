"""The Java toolchain: find Java, check its version, compile the Scala part into one jar for one Spark.

Sources that differ between versions of Spark lie in folders ``since_4_2`` and the like: of the files
with one name, the one of the newest folder that is not newer than Spark is compiled.

This module uses the standard library only and imports nothing of this project, because the build
hook (``hatch_build.py``) loads it by path before the project, or its dependencies, are installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

logger = logging.getLogger(__name__)

OLDEST_JAVA = 17
SPARKS = "4.1, 4.2 or 4.3"
_STAMPED = ("Spark-Version", "Scala-Version", "Source-Hash")
_SINCE = re.compile(r"since_(\d+)_(\d+)")
# No -release: with a Java newer than the one named it needs a full JDK, and a JRE is enough here.
COMPILER_FLAGS = ("-deprecation", "-feature")
# A short-lived JVM: without the slow second compiler and parallel collector it takes half the time.
JVM_FLAGS = ("-Xss8m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
INSTALL_JAVA = (
    f"Install Java {OLDEST_JAVA} or newer (for instance the package"
    f" openjdk-{OLDEST_JAVA}-jre-headless) and put it on PATH, or set JAVA_HOME to its folder."
)


class ToolchainError(Exception):
    """Java, PySpark's Scala compiler or the Scala sources are missing or do not work."""


class JavaMissingError(ToolchainError):
    """No usable Java: not found, not startable, or too old."""


class Stamp(NamedTuple):
    """What a jar was compiled for and from: Spark's version, Scala's such as 2.13, the hash of the sources.

    All are empty where nothing is recorded.
    """

    spark: str
    scala: str
    sources: str

    @property
    def jar_name(self) -> str:
        """The name of such a jar, as Spark names its own."""
        return f"spark-cqels_{self.scala}-{self.spark}.jar"


def find_java() -> Path:
    """Path of the ``java`` program that Spark will start: JAVA_HOME first, then PATH.

    Raises JavaMissingError when there is none.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        # Spark looks nowhere else once JAVA_HOME is set, so neither do we.
        found = shutil.which("java", path=str(Path(home) / "bin"))
        if found is None:
            raise JavaMissingError(
                f"JAVA_HOME is set to {home}, but there is no bin/java in it. {INSTALL_JAVA}"
            )
        return Path(found)
    found = shutil.which("java")
    if found is None:
        raise JavaMissingError(
            f"Java was not found: there is no java on PATH and JAVA_HOME is not set. {INSTALL_JAVA}"
        )
    return Path(found)


def parse_java_version(text: str) -> int | None:
    """Feature release named in the output of ``java -version``, or None when it names none.

    >>> parse_java_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> parse_java_version('java version "1.8.0_392"')
    8
    >>> parse_java_version('no such thing') is None
    True
    """
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


def require_java() -> Path:
    """Path of a ``java`` that is new enough; raises JavaMissingError in plain words otherwise."""
    java = find_java()
    try:
        shown = subprocess.run(
            [str(java), "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaMissingError(f"{java} could not be run: {error}. {INSTALL_JAVA}") from error
    version = parse_java_version(shown.stderr + shown.stdout)
    if version is None:
        raise JavaMissingError(f"{java} does not say which version it is. {INSTALL_JAVA}")
    if version < OLDEST_JAVA:
        raise JavaMissingError(
            f"{java} is Java {version}, which is too old: Spark needs {OLDEST_JAVA}. {INSTALL_JAVA}"
        )
    return java


def pyspark_folder() -> Path:
    """Folder of the installed PySpark package; it is not imported.

    Raises ToolchainError when PySpark is not installed.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ToolchainError("PySpark is not installed: pip install pyspark")
    return Path(spec.origin).parent


def pyspark_version(folder: Path) -> str:
    """Version of the PySpark in `folder`, read from its ``version.py``."""
    try:
        text = (folder / "version.py").read_text(encoding="utf-8")
    except OSError as error:
        raise ToolchainError(f"The version of PySpark in {folder} is not readable") from error
    found = re.search(r"""__version__[^=]*=\s*['"]([^'"]+)['"]""", text)
    if found is None:
        raise ToolchainError(f"The version of PySpark in {folder} is not readable")
    return found.group(1)


def scala_version(jars: Path) -> str:
    """The binary version of Scala, such as 2.13, for which the Spark in the folder `jars` was built.

    Raises ToolchainError when there is no Spark in it.
    """
    for path in sorted(jars.glob("spark-core_*.jar")):
        return path.name.removeprefix("spark-core_").partition("-")[0]
    raise ToolchainError(f"There is no Spark in {jars}: the full pyspark package is needed")


def scala_sources(folder: Path, version: str) -> list[Path]:
    """The Scala files below `folder` that are compiled for Spark `version`, by path.

    Raises ToolchainError when there are none, or none for so old a Spark.
    """
    sources = sorted(folder.rglob("*.scala"), key=lambda path: path.relative_to(folder).as_posix())
    if not sources:
        raise ToolchainError(f"There are no Scala sources in {folder}: the installation is damaged")
    chosen: dict[Path, Path] = {}
    for path in sorted(sources, key=_since):
        since = _since(path)
        place = path.parent.parent / path.name if since else path
        if since <= _release(version):
            chosen[place] = path
        elif place not in chosen:
            raise ToolchainError(f"Spark {version} is too old: it must be {SPARKS}")
    return [chosen[place] for place in sorted(chosen)]


def _since(path: Path) -> tuple[int, ...]:
    """The oldest Spark for which a source is compiled; empty for all."""
    found = _SINCE.fullmatch(path.parent.name)
    return tuple(map(int, found.groups())) if found else ()


def _release(version: str) -> tuple[int, ...]:
    """Major and minor number.

    >>> _release("4.3.0"), _release("4.10.0.dev1")
    ((4, 3), (4, 10))
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None:
        raise ToolchainError(f"{version} is no version of Spark")
    return tuple(map(int, found.groups()))


def source_hash(sources: Sequence[Path]) -> str:
    """16 hexadecimal digits that change when a source, its name or a compiler flag changes."""
    digest = hashlib.sha256("\n".join(COMPILER_FLAGS).encode())
    for source in sources:
        content = source.read_bytes()
        digest.update(f"\n{source.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def compile_jar(sources: Sequence[Path], jars: Path, version: str, target: Path) -> None:
    """Compile `sources` with the Scala compiler in `jars`, Spark `version`, and write `target`.

    The jar's manifest records what it was compiled for and from. It appears under its name only when
    complete, so two processes may compile the same jar at the same time.
    Raises JavaMissingError without Java, ToolchainError when compilation fails.
    """
    java = require_java()
    if not list(jars.glob("scala-compiler-*.jar")):
        raise ToolchainError(
            f"There is no Scala compiler in {jars}: the full pyspark package is needed,"
            " pyspark-client is not enough"
        )
    if not list(jars.glob(f"spark-core_*-{version}.jar")):
        raise ToolchainError(f"The jars in {jars} are not those of Spark {version}")
    stamp = Stamp(version, scala_version(jars), source_hash(sources))
    logger.info("Compiling %d Scala files for Spark %s, about 10 s", len(sources), version)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".compile-", dir=target.parent) as scratch:
            classes = Path(scratch) / "classes"
            classes.mkdir()
            _run_compiler(java, jars, sources, classes)
            finished = Path(scratch) / target.name
            _write_jar(classes, finished, stamp)
            finished.replace(target)
    except OSError as error:
        raise ToolchainError(f"The jar {target} could not be written: {error}") from error
    logger.info("Wrote %s", target)


def _run_compiler(java: Path, jars: Path, sources: Sequence[Path], classes: Path) -> None:
    command = [str(java), *JVM_FLAGS, "-cp", str(jars / "*"), "scala.tools.nsc.Main", "-usejavacp"]
    command += [*COMPILER_FLAGS, "-d", str(classes), *map(str, sources)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ToolchainError(f"The Scala sources do not compile:\n{done.stdout.strip()}")
    if done.stdout.strip():
        logger.debug("The Scala compiler says:\n%s", done.stdout.strip())


def _write_jar(classes: Path, jar: Path, stamp: Stamp) -> None:
    manifest = (
        "Manifest-Version: 1.0\r\n"
        "Created-By: spark-cqels\r\n"
        + "".join(f"{name}: {text}\r\n" for name, text in zip(_STAMPED, stamp, strict=True))
        + "\r\n"
    )
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        # Fixed time stamps: the same sources give the same jar, byte for byte.
        archive.writestr(_entry("META-INF/MANIFEST.MF"), manifest)
        for path in sorted(classes.rglob("*.class")):
            archive.writestr(_entry(path.relative_to(classes).as_posix()), path.read_bytes())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def read_manifest(jar: Path) -> dict[str, str]:
    """The main attributes of the manifest of `jar`; empty when it is no readable jar of ours."""
    try:
        with zipfile.ZipFile(jar) as archive:
            text = archive.read("META-INF/MANIFEST.MF").decode("utf-8")
    except (OSError, KeyError, zipfile.BadZipFile, UnicodeDecodeError):
        return {}
    pairs = (line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return {name: value.strip() for name, value in pairs}


def read_stamp(jar: Path) -> Stamp:
    """What `jar` was compiled for and from; empty texts where nothing is recorded."""
    manifest = read_manifest(jar)
    return Stamp(*(manifest.get(name, "") for name in _STAMPED))
