"""Folders of any file system that Spark can reach, through Hadoop's FileSystem."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from static_data.jvm import java_class


class Folder:
    """One folder by its path; local paths need no scheme."""

    def __init__(self, spark: SparkSession, path: str | os.PathLike[str]) -> None:
        text = os.fspath(path)
        self.name = text
        self.path = text if "://" in text else f"file://{Path(text).absolute()}"
        scheme, separator, rest = self.path.partition("://")
        self._local = Path(rest) if separator and scheme == "file" else None
        self._spark = spark
        self._jvm: Any = spark.sparkContext._jvm
        self._path: Any = java_class(self._jvm, "org.apache.hadoop.fs.Path")
        self._configuration = spark.sparkContext._jsc.hadoopConfiguration()
        self._system = self._at("").getFileSystem(self._configuration)

    def _at(self, inner: str) -> Any:
        return self._path(f"{self.path}/{inner}" if inner else self.path)

    def child(self, inner: str) -> Folder:
        """A folder in this one."""
        return Folder(self._spark, f"{self.path}/{inner}")

    def sibling(self, ending: str) -> Folder:
        """A folder beside this one with a name not used yet."""
        return Folder(self._spark, f"{self.path.rstrip('/')}.{ending}-{uuid.uuid4().hex[:8]}")

    def exists(self, inner: str = "") -> bool:
        """Whether the folder, or something in it, exists."""
        return bool(self._system.exists(self._at(inner)))

    def is_empty(self) -> bool:
        """Whether it exists and holds nothing."""
        at = self._at("")
        return bool(self._system.exists(at)) and len(self._system.listStatus(at)) == 0

    def make(self) -> None:
        """Make the folder and those above it."""
        self._system.mkdirs(self._at(""))

    def siblings(self, ending: str) -> list[Folder]:
        """The folders beside this one that `sibling` has named."""
        at = self._at("")
        above, begin = at.getParent(), f"{at.getName()}.{ending}-"
        if not self._system.exists(above):
            return []
        names = [status.getPath().getName() for status in self._system.listStatus(above)]
        path = self.path.rstrip("/").rpartition("/")[0]
        return [Folder(self._spark, f"{path}/{n}") for n in sorted(names) if n.startswith(begin)]

    def delete_empty(self) -> None:
        """Delete the folder, which holds nothing; raises OSError where it does, nothing happens when there is none."""
        try:
            self._system.delete(self._at(""), False)
        except Py4JJavaError as error:
            raise OSError(f"{self.name}: {error.java_exception.getMessage()}") from error

    def delete(self) -> None:
        """Delete the folder and all in it; nothing happens when there is none."""
        self._system.delete(self._at(""), True)

    def rename(self, to: Folder) -> None:
        """Give the folder another name in the same file system; raises OSError when that fails."""
        if to.exists():
            raise OSError(f"{to.name} exists")
        if not self._system.rename(self._at(""), to._at("")):
            raise OSError(f"cannot rename {self.name} to {to.name}")

    def copy(self, to: Folder) -> None:
        """Copy the folder with all in it."""
        copied = self._jvm.org.apache.hadoop.fs.FileUtil.copy(
            self._system, self._at(""), to._system, to._at(""), False, self._configuration
        )
        if not copied:
            raise OSError(f"cannot copy {self.name} to {to.name}")

    def size(self) -> int:
        """Bytes of all files in it."""
        return int(self._system.getContentSummary(self._at("")).getLength())

    def read_text(self, inner: str) -> str:
        """The text of a UTF-8 file in it."""
        if self._local is not None:
            return (self._local / inner).read_text(encoding="utf-8")
        stream = self._system.open(self._at(inner))
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).decode(
                "utf-8"
            )
        finally:
            stream.close()

    def write_text(self, inner: str, text: str) -> None:
        """Write a UTF-8 file in it, replacing what was there."""
        if self._local is not None:
            # Not by Hadoop, which would lay a checksum file beside it.
            (self._local / inner).write_text(text, encoding="utf-8")
            return
        stream = self._system.create(self._at(inner), True)
        try:
            stream.write(bytearray(text.encode("utf-8")))
        finally:
            stream.close()
