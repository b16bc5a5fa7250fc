"""The archive of loaded classes with which Java starts in about half the time (JEP 350).

Spark loads and checks some 15,000 classes before its first answer. A JVM that was started with the
options of `java_options` and found no archive writes one when it ends (`ClassArchive.scala`), the
next ones map it. Java itself checks that class path and build are those of the archive, and goes on
without it otherwise; what it does not check, and would crash over, is the content: so the file's
name holds its length and checksum.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

READ = "cqels.classArchive.read"
WRITE = "cqels.classArchive.write"
ENDING = ".jsa"
# Java warns of each class that cannot be archived, and of an archive that does not fit.
_QUIET = "-Xlog:cds*=off"
_SEAL = re.compile(r"-([0-9a-f]+)-([0-9a-f]{8})\.jsa\Z")
# Who has plans of his own for archives keeps to them.
_OWN_PLANS = ("SharedArchiveFile", "ArchiveClassesAtExit", "-Xshare", "DynamicDump", "SharedArch")
_OPTION_KEYS = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
_OPTION_VARIABLES = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
_FOLDER_VARIABLES = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
_SIZE = re.compile(r"\s*(\d+)\s*([kmgt]?)b?\s*\Z", re.IGNORECASE)
_MEBIBYTES = {"k": 1 / 1024, "": 1, "m": 1, "g": 1024, "t": 1024 * 1024}
# From 32 GiB on, references are wider, and the archives of smaller heaps do not fit.
_WIDE_FROM = 31 * 1024


@dataclass(frozen=True)
class ClassArchive:
    """What a JVM is to do with archives: map `file`; where that is None, write one named `start`-..."""

    start: Path
    file: Path | None

    def java_options(self) -> str:
        """Options for ``spark.driver.defaultJavaOptions``, quoted as Spark reads them."""
        if self.file is not None:
            options = [_QUIET, f"-XX:SharedArchiveFile={self.file}", f"-D{READ}={self.file}"]
        else:
            options = [_QUIET, "-XX:+RecordDynamicDumpInfo", f"-D{WRITE}={self.start}"]
        return " ".join(map(_quoted, options))


def plan_archive(
    folder: Path, java: Path, spark_home: Path, spark_version: str, conf: Mapping[str, str]
) -> ClassArchive | None:
    """The archive in `folder` for a JVM of `java` with the class path and options in `conf`.

    `conf` holds the settings of the session, class path included. None where there can be no
    archive: folders with files on the class path, options of the user's own for archives, a
    program `java` without archives, or a folder that cannot be written.
    """
    chosen = [conf.get(key, "") for key in _OPTION_KEYS]
    chosen += [os.environ.get(name, "") for name in _OPTION_VARIABLES]
    if any(word in options for options in chosen for word in _OWN_PLANS):
        return None
    if any(map(_holds_files, _class_folders(spark_home, conf))):
        logger.debug("A folder on the class path holds files: there is no class archive for that")
        return None
    build = _build(java)
    if build is None:
        return None
    jars = conf.get("spark.driver.extraClassPath", "").split(os.pathsep)
    facts = [
        *build,
        *(f"{jar} {_stamp(Path(jar))}" for jar in jars),
        f"{spark_home} {_stamp(spark_home / 'jars')}",
        str(_is_wide(conf.get("spark.driver.memory", os.environ.get("SPARK_DRIVER_MEMORY", "1g")))),
        *chosen,
    ]
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    start = folder / f"{spark_version}-{digest}"
    found = find_archive(start)
    if found is None and not os.access(_nearest_existing(folder), os.W_OK):
        return None
    return ClassArchive(start, found)


def find_archive(start: Path) -> Path | None:
    """The newest whole archive whose name begins with `start`; a damaged one is deleted."""
    candidates = []
    for path in start.parent.glob(f"{start.name}-*{ENDING}"):
        try:
            candidates.append((path.stat().st_mtime, path))
        except OSError:
            continue  # Another process has deleted it.
    for _, path in sorted(candidates, reverse=True):
        if _is_whole(path):
            _touch(path)
            return path
        _delete(path)
    return None


def writes_archive(java_options: str) -> bool:
    """Whether a JVM with these options writes an archive when it ends."""
    return f"-D{WRITE}=" in java_options


def sealed_name(start: str, content: bytes) -> str:
    """The name of an archive: what it begins with, then length and CRC-32 in hexadecimal digits.

    >>> sealed_name("4.3.0-a1", b"classes")
    '4.3.0-a1-7-02ed7ec5.jsa'
    """
    return f"{start}-{len(content):x}-{zlib.crc32(content):08x}{ENDING}"


def _is_whole(path: Path) -> bool:
    seal = _SEAL.search(path.name)
    if seal is None:
        return False
    try:
        if path.stat().st_size != int(seal[1], 16):
            return False
        checksum = 0
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                checksum = zlib.crc32(block, checksum)
    except OSError:
        return False
    return checksum == int(seal[2], 16)


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:
        logger.debug("%s could not be marked as used", path)


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        logger.debug("%s is damaged and could not be deleted", path)


def _build(java: Path) -> list[str] | None:
    """What tells one installation of Java from another; None where `java` has no archives."""
    program = java.resolve()
    library = program.parent.parent / "lib"
    # The second is the archive of Java's own classes, on which all others build. It is not there
    # with JVMs that have no such archives, and beside a script that starts a Java of its choice.
    stamps = [_stamp(library / "modules"), _stamp(library / "server" / "classes.jsa")]
    return None if "" in stamps else [str(program), *stamps]


def _stamp(path: Path) -> str:
    """Length and time of change, which is what Java itself compares; empty when not there."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_size} {found.st_mtime_ns}"


def _class_folders(spark_home: Path, conf: Mapping[str, str]) -> list[Path]:
    folders = [os.environ[name] for name in _FOLDER_VARIABLES if os.environ.get(name)]
    if "SPARK_CONF_DIR" not in os.environ:
        folders.append(str(spark_home / "conf"))
    listed = conf.get("spark.driver.extraClassPath", "").split(os.pathsep)
    listed += os.environ.get("SPARK_DIST_CLASSPATH", "").split(os.pathsep)
    return [Path(name) for name in [*folders, *listed] if name]


def _holds_files(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except OSError:
        return False  # A jar, a pattern of jars, or nothing.


def _nearest_existing(folder: Path) -> Path:
    return next((path for path in (folder, *folder.parents) if path.exists()), folder)


def _is_wide(memory: str) -> bool:
    size = _SIZE.match(memory)
    return size is not None and int(size[1]) * _MEBIBYTES[size[2].lower()] >= _WIDE_FROM


def _quoted(option: str) -> str:
    """`option` as one word of what Spark splits at blanks.

    >>> _quoted("-Xss8m"), _quoted("-Da=/one two")
    ('-Xss8m', '"-Da=/one two"')
    """
    if not re.search(r"[\s\"'\\]", option):
        return option
    return '"' + option.replace("\\", "\\\\").replace('"', '\\"') + '"'
