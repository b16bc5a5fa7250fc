"""The jar: compiled from the sources, stamped, and rebuilt into the cache when it does not fit."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pyspark
import pytest

from sparkext import jar, toolchain
from sparkext.errors import SessionError
from sparkext.toolchain import JavaMissingError, Stamp, ToolchainError

ROOT = Path(__file__).resolve().parents[3]
SPARK = (toolchain.pyspark_folder() / "jars", pyspark.__version__)
SCALA = "package tiny\nobject Answer { def value: Int = 42 }\n"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one small Scala file that stands for the packaged sources; an empty cache."""
    folder = tmp_path / "jvm"
    folder.mkdir()
    (folder / "Answer.scala").write_text(SCALA)
    monkeypatch.setattr(jar, "SOURCES", folder)
    monkeypatch.setattr(jar, "PACKAGED_JARS", tmp_path / "jars")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def fake_java(folder: Path, says: str) -> None:
    """A program `java` in `folder` that answers every call with `says`."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "java"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o755)


def chosen(folder: Path) -> list[Path]:
    return toolchain.scala_sources(folder, pyspark.__version__)


def write_stamp(path: Path, stamp: Stamp) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    manifest = (
        f"Manifest-Version: 1.0\r\nSpark-Version: {stamp.spark}\r\n"
        f"Scala-Version: {stamp.scala}\r\nSource-Hash: {stamp.sources}\r\n\r\n"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", manifest)


def test_a_jar_is_compiled_stamped_and_reproducible(sources: Path, tmp_path: Path) -> None:
    files = chosen(sources)
    targets = [tmp_path / "one" / "out.jar", tmp_path / "two" / "out.jar"]
    for target in targets:
        toolchain.compile_jar(files, *SPARK, target)
        assert [path.name for path in target.parent.iterdir()] == ["out.jar"]
    assert targets[0].read_bytes() == targets[1].read_bytes()
    assert toolchain.read_stamp(targets[0]) == jar.expected_stamp()
    with zipfile.ZipFile(targets[0]) as archive:
        assert archive.namelist()[0] == "META-INF/MANIFEST.MF"
        assert "tiny/Answer.class" in archive.namelist()


def test_the_version_is_read_without_importing_pyspark() -> None:
    assert toolchain.pyspark_version(toolchain.pyspark_folder()) == pyspark.__version__


def test_jars_of_another_spark_are_refused(sources: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"are not those of Spark 4\.2\.9"):
        toolchain.compile_jar(chosen(sources), SPARK[0], "4.2.9", tmp_path / "out.jar")


def test_a_source_that_does_not_compile_is_named(sources: Path, tmp_path: Path) -> None:
    (sources / "Wrong.scala").write_text('object Wrong { val x: Int = "text" }\n')
    target = tmp_path / "out" / "out.jar"
    with pytest.raises(ToolchainError, match=r"(?s)do not compile.*Wrong\.scala:1"):
        toolchain.compile_jar(chosen(sources), *SPARK, target)
    assert list(target.parent.iterdir()) == []


def test_the_hash_sees_content_and_names(sources: Path) -> None:
    first = toolchain.source_hash(chosen(sources))
    (sources / "Answer.scala").rename(sources / "Reply.scala")
    second = toolchain.source_hash(chosen(sources))
    (sources / "Reply.scala").write_text(SCALA.replace("42", "43"))
    third = toolchain.source_hash(chosen(sources))
    assert len({first, second, third}) == 3


def test_the_packaged_jar_is_used_when_it_fits(sources: Path) -> None:
    stamp = jar.expected_stamp()
    for other in ("4.1.0", "4.2.0", "4.4.0"):
        made = stamp._replace(spark=other)
        write_stamp(jar.PACKAGED_JARS / made.jar_name, made)
    packaged = jar.PACKAGED_JARS / f"spark-cqels_2.13-{pyspark.__version__}.jar"
    write_stamp(packaged, stamp)
    assert jar.locate() == packaged
    assert not jar.cache_folder().exists()


def test_a_jar_for_another_spark_is_rebuilt_once_into_the_cache(
    sources: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stamp = jar.expected_stamp()
    other = stamp._replace(spark="4.0.9")
    write_stamp(jar.PACKAGED_JARS / other.jar_name, other)
    with caplog.at_level(logging.WARNING, logger="sparkext"):
        built = jar.locate()
    assert built == jar.cache_folder() / f"{stamp.spark}_{stamp.scala}-{stamp.sources}.jar"
    assert toolchain.read_stamp(built) == stamp
    assert f"has not been compiled for Spark {stamp.spark}" in caplog.text
    caplog.clear()
    made = built.stat().st_mtime_ns
    assert jar.locate() == built
    assert built.stat().st_mtime_ns == made
    assert caplog.text == ""


def test_a_damaged_jar_in_the_cache_is_replaced(sources: Path) -> None:
    stamp = jar.expected_stamp()
    cached = jar.cache_folder() / f"{stamp.spark}_{stamp.scala}-{stamp.sources}.jar"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"PK half a jar")
    assert jar.locate() == cached
    assert toolchain.read_stamp(cached) == stamp


def test_two_processes_may_compile_the_same_jar(sources: Path, tmp_path: Path) -> None:
    target = tmp_path / "cache" / "same.jar"
    program = (
        "import sys; from pathlib import Path; from sparkext import toolchain as t;"
        "home = t.pyspark_folder(); version = t.pyspark_version(home);"
        "sources = t.scala_sources(Path(sys.argv[1]), version);"
        "t.compile_jar(sources, home / 'jars', version, Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", program, str(sources), str(target)]
    running = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    complaints = [process.communicate(timeout=300)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], complaints
    assert [path.name for path in target.parent.iterdir()] == ["same.jar"]
    assert toolchain.read_stamp(target) == jar.expected_stamp()


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("4.1.0", ["All", "One-4.1", "Two-4.1", "Three-4.1"]),
        ("4.2.7", ["All", "One-4.2", "Two-4.1", "Three-4.1"]),
        ("4.3.0.dev1", ["All", "One-4.2", "Two-4.3", "Three-4.1"]),
        ("4.10.1", ["All", "One-4.2", "Two-4.3", "Three-4.10"]),
        ("5.0.0", ["All", "One-4.2", "Two-4.3", "Three-4.10"]),
    ],
)
def test_the_newest_source_that_is_not_newer_than_spark(
    version: str, expected: list[str], tmp_path: Path
) -> None:
    """Of the files with one name in folders of versions."""
    forms = {"One": ("4.1", "4.2"), "Two": ("4.1", "4.3"), "Three": ("4.1", "4.10")}
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "All.scala").write_text("All")
    for name, versions in forms.items():
        for since in versions:
            folder = tmp_path / "room" / f"since_{since.replace('.', '_')}"
            folder.mkdir(exist_ok=True)
            (folder / f"{name}.scala").write_text(f"{name}-{since}")
    found = toolchain.scala_sources(tmp_path, version)
    assert sorted(path.read_text() for path in found) == sorted(expected)
    with pytest.raises(ToolchainError, match=r"Spark 4\.0\.2 is too old: it must be 4\.1"):
        toolchain.scala_sources(tmp_path, "4.0.2")


def test_a_spark_that_is_too_old_is_an_error(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sources / "since_4_1").mkdir()
    (sources / "since_4_1" / "Reply.scala").write_text(SCALA.replace("Answer", "Reply"))
    monkeypatch.setattr(jar.pyspark, "__version__", "4.0.1")
    with pytest.raises(
        jar.JarError, match=r"Spark 4\.0\.1 is too old: it must be 4\.1, 4\.2 or 4\.3"
    ):
        jar.locate()


def test_a_spark_that_is_too_new_is_told_when_nothing_compiles(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jar.pyspark, "__version__", "4.9.0")
    with pytest.raises(
        jar.JarError, match=r"Spark 4\.9\.0 \(it is for 4\.1, 4\.2 or 4\.3\)\. The jars"
    ):
        jar.locate()


def test_the_versions_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (spark,) = (name for name in project["dependencies"] if name.startswith("pyspark"))
    first, *_, last = (int(minor) for minor in re.findall(r"4\.(\d+)", toolchain.SPARKS))
    assert spark == f"pyspark>=4.{first},<4.{last + 1}"


def test_without_java_nothing_is_rebuilt_and_the_message_says_why(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(jar.JarError, match=r"needs Java\. .*no java on PATH.*Java 17 or newer"):
        jar.locate()
    assert issubclass(jar.JarError, SessionError)


def test_a_cache_that_cannot_be_written_is_named(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(jar.JarError, match=r"file/spark-cqels/.*\.jar could not be written"):
        jar.locate()


def test_an_installation_without_sources_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jar, "SOURCES", tmp_path)
    with pytest.raises(jar.JarError, match="no Scala sources"):
        jar.locate()


def test_the_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/cache")
    assert jar.cache_folder() == Path("/some/cache/spark-cqels")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/some/home")
    assert jar.cache_folder() == Path("/some/home/.cache/spark-cqels")


def test_java_home_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "home" / "bin", 'openjdk version "21.0.1" 2023-10-17')
    fake_java(tmp_path / "path", 'openjdk version "17.0.1" 2021-10-19')
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert toolchain.require_java() == tmp_path / "home" / "bin" / "java"
    monkeypatch.delenv("JAVA_HOME")
    assert toolchain.require_java() == tmp_path / "path" / "java"


@pytest.mark.parametrize(
    ("says", "complaint"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11, which is too old"),
        ('java version "1.8.0_392"', "is Java 8, which is too old"),
        ("hello", "does not say which version"),
    ],
)
def test_an_unfit_java_is_refused(
    says: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(tmp_path / "bin", says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissingError, match=complaint):
        toolchain.require_java()


def test_a_wrong_java_home_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissingError, match=f"JAVA_HOME is set to {tmp_path}"):
        toolchain.find_java()
