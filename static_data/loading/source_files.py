"""The files of one load: found, their formats told, their sizes known, before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from static_data.errors import MissingFileError
from static_data.files.format_sniffing import HEAD_BYTES, told_format
from static_data.files.packings import ByteStream, Compression, open_unpacked, unpacked
from static_data.files.rdf_formats import FileFormat, RdfFormat, named_format


@dataclass(frozen=True)
class SourceFile:
    """One file to load: the name the user gave, URI, format, size in bytes as stored."""

    name: str
    uri: str
    format: FileFormat
    size: int

    @property
    def local_path(self) -> Path | None:
        """The path when the file is on this machine's file system, else None."""
        return Path(self.name) if "://" not in self.name else None


def remote_content(spark: SparkSession, name: str, most: int | None = None) -> bytes:
    """The bytes, or so many of the first, of a file that is not on this machine, as stored; raises MissingFileError."""
    jvm: Any = spark.sparkContext._jvm
    remote = jvm.org.apache.hadoop.fs.Path(name)
    try:
        system = remote.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
        stream = system.open(remote)
        try:
            if most is not None:
                return bytes(stream.readNBytes(most))
            return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()
    except Py4JJavaError as error:
        message = error.java_exception.getMessage()
        raise MissingFileError(name, f"cannot be read: {message}") from error


def find_files(
    spark: SparkSession,
    files: str | Path | Sequence[str | Path],
    format: str | RdfFormat | None = None,
) -> list[SourceFile]:
    """Look up `files` (local paths, or URIs of any file system that Spark knows), in the order
    given.

    Raises UnsupportedFormatError and MissingFileError, each naming the file.
    """
    named = [files] if isinstance(files, (str, Path)) else list(files)
    return [_find(spark, str(name), format) for name in named]


def _find(spark: SparkSession, name: str, format: str | RdfFormat | None) -> SourceFile:
    named_format(name, format)  # What the name already rules out is said first.
    if name.startswith("file://"):
        name = name[len("file://") :]
    if "://" not in name:
        path = Path(name)
        if not path.is_file():
            raise MissingFileError(name, "is a folder" if path.is_dir() else "no such file")
        try:
            path.open("rb").close()
        except OSError as error:
            raise MissingFileError(name, error.strerror or str(error)) from error
        kind = told_format(name, format, lambda packing: open_unpacked(path, packing), path)
        return SourceFile(name, path.absolute().as_uri(), kind, path.stat().st_size)
    jvm: Any = spark.sparkContext._jvm
    remote = jvm.org.apache.hadoop.fs.Path(name)
    system = remote.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    if not system.exists(remote) or system.getFileStatus(remote).isDirectory():
        raise MissingFileError(name)

    def opener(packing: Compression) -> ByteStream:
        # Of a packed file all may be needed for its first block; of others what is looked at and a byte order mark.
        most = HEAD_BYTES + 8 if packing is Compression.NONE else None
        return unpacked(remote_content(spark, name, most), packing)

    kind = told_format(name, format, opener)
    return SourceFile(name, name, kind, system.getFileStatus(remote).getLen())
