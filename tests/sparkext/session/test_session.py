"""configure() and require_extension(): what they set, and what they say when it cannot work."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sparkext
from sparkext import jar, toolchain
from sparkext.errors import SessionError
from sparkext.session import (
    EXPLAIN_PROVIDER,
    EXTENSION,
    HUGE_PAGES,
    launch_settings,
    require_extension,
)

ROOT = Path(__file__).resolve().parents[3]
ADDED = {
    "spark.jars",
    "spark.driver.extraClassPath",
    "spark.sql.extensions",
    "spark.sql.extendedExplainProviders",
    "spark.sql.codegen.cache.maxEntries",
    "spark.buffer.pageSize",
    *launch_settings(),
}
QUIET = '.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")'
PREAMBLE = f"""
import sys
import sparkext
from sparkext.errors import SessionError
from sparkext.session import require_extension
from pyspark.sql import SparkSession
def plain():
    return SparkSession.builder{QUIET}
def refused(call, *arguments):
    try:
        call(*arguments)
    except SessionError as error:
        print("REFUSED", type(error).__name__, error)
    else:
        print("ACCEPTED")
"""


def fresh_process(program: str, **changed: str | None) -> str:
    """What `program` prints in a Python of its own; `changed` environment, None removes."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **changed}
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + program],
        env={name: value for name, value in environment.items() if value is not None},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def options(builder: SparkSession.Builder) -> dict[str, str]:
    return dict(builder._options)


@pytest.fixture
def no_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that takes the place of Spark's configuration folder."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


def test_only_what_must_be_set_at_launch_is_set(no_defaults: Path) -> None:
    # The archive of classes, whose options depend on what is in the cache, has tests of its own.
    own = {"spark.app.name": "x", "spark.cqels.classArchive": "false"}
    builder = SparkSession.builder.config(map=own)
    assert sparkext.configure(builder) is builder
    found = options(builder)
    assert set(found) == {*own, *ADDED}
    assert found["spark.jars"] == found["spark.driver.extraClassPath"] == str(jar.locate())
    assert found["spark.sql.extensions"] == EXTENSION
    assert found["spark.sql.extendedExplainProviders"] == EXPLAIN_PROVIDER
    assert found["spark.sql.codegen.cache.maxEntries"] == "1000"
    assert found["spark.buffer.pageSize"] == "1m"


def test_lists_of_the_user_are_kept_and_their_values_too(no_defaults: Path) -> None:
    builder = (
        SparkSession.builder.config("spark.jars", "/a.jar, /b.jar")
        .config("spark.driver.extraClassPath", "/c.jar")
        .config("spark.sql.extensions", "org.example.Other")
        .config("spark.sql.extendedExplainProviders", "org.example.Explained")
        .config("spark.buffer.pageSize", "2m")
        .config("spark.sql.codegen.cache.maxEntries", 5000)
    )
    once = options(sparkext.configure(builder))
    assert once["spark.jars"] == f"/a.jar,/b.jar,{jar.locate()}"
    assert once["spark.driver.extraClassPath"] == f"/c.jar{os.pathsep}{jar.locate()}"
    assert once["spark.sql.extensions"] == f"org.example.Other,{EXTENSION}"
    explained = f"org.example.Explained,{EXPLAIN_PROVIDER}"
    assert once["spark.sql.extendedExplainProviders"] == explained
    assert once["spark.buffer.pageSize"] == "2m"
    assert once["spark.sql.codegen.cache.maxEntries"] == "5000"
    assert options(sparkext.configure(builder)) == once


@pytest.mark.parametrize(
    ("mode", "asked"),
    [
        ("always [madvise] never", True),
        ("[always] madvise never", True),
        ("always madvise [never]", False),
    ],
)
def test_huge_pages_are_asked_for_where_there_are_any(
    tmp_path: Path, mode: str, asked: bool
) -> None:
    (tmp_path / "enabled").write_text(mode + "\n")
    settings = launch_settings(tmp_path / "enabled")
    assert (settings.get("spark.driver.defaultJavaOptions") == HUGE_PAGES) is asked


def test_huge_pages_are_not_asked_for_where_nothing_is_known_of_them(tmp_path: Path) -> None:
    assert "spark.driver.defaultJavaOptions" not in launch_settings(tmp_path / "enabled")


def test_default_options_of_java_stay_as_the_user_chose_them(no_defaults: Path) -> None:
    builder = SparkSession.builder.config("spark.driver.defaultJavaOptions", "-Xss8m")
    builder.config("spark.cqels.classArchive", "false")
    assert options(sparkext.configure(builder))["spark.driver.defaultJavaOptions"] == "-Xss8m"


def test_lists_in_the_defaults_file_are_kept(no_defaults: Path) -> None:
    (no_defaults / "spark-defaults.conf").write_text(
        "# comment\n\nspark.jars   /d.jar\nspark.sql.extensions=org.example.Other\n"
        "spark.buffer.pageSize 4m\n"
    )
    found = options(sparkext.configure(SparkSession.builder))
    assert found["spark.jars"] == f"/d.jar,{jar.locate()}"
    assert found["spark.sql.extensions"] == f"org.example.Other,{EXTENSION}"
    assert "spark.buffer.pageSize" not in found


@pytest.mark.parametrize(
    ("given", "said"), [(None, "not None"), ("local[2]", "type str"), (SparkSession, "type type")]
)
def test_something_else_than_a_builder_is_refused(given: object, said: str) -> None:
    with pytest.raises(TypeError, match=f"takes a session builder.*{said}"):
        sparkext.configure(given)  # type: ignore[arg-type]


def test_a_session_instead_of_a_builder_is_refused(spark: SparkSession) -> None:
    with pytest.raises(TypeError, match=r"type SparkSession.*before getOrCreate"):
        sparkext.configure(spark)  # type: ignore[arg-type]


def test_a_session_with_the_extension_is_accepted_and_used_again(spark: SparkSession) -> None:
    require_extension(spark)
    assert sparkext.configure(SparkSession.builder).getOrCreate() is spark
    require_extension(spark.newSession())
    with pytest.raises(TypeError, match="A SparkSession is needed, not an object of type int"):
        require_extension(1)  # type: ignore[arg-type]


def test_the_launch_settings_arrive_in_the_session(spark: SparkSession) -> None:
    configuration = spark.sparkContext.getConf()
    assert configuration.get("spark.buffer.pageSize") == "1m"
    assert spark.conf.get("spark.sql.codegen.cache.maxEntries") == "1000"


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("SPARK_REMOTE", "sc://localhost", "SPARK_REMOTE"),
        ("SPARK_API_MODE", "connect", "spark.api.mode=connect"),
    ],
)
def test_spark_connect_by_environment_is_refused(
    variable: str, value: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SessionError, match=f"Spark Connect does not reach.*{named}"):
        sparkext.configure(SparkSession.builder)


def test_spark_connect_by_builder_is_refused() -> None:
    with pytest.raises(SessionError, match=r"Spark Connect does not reach.*spark\.remote"):
        sparkext.configure(SparkSession.builder.remote("sc://localhost"))
    with pytest.raises(SessionError, match="Spark Connect does not reach"):
        sparkext.configure(SparkSession.builder.config("spark.api.mode", "connect"))


@pytest.mark.slow
def test_a_running_spark_without_the_jar_is_refused() -> None:
    said = fresh_process(
        """
spark = plain().getOrCreate()
refused(sparkext.configure, SparkSession.builder)
refused(require_extension, spark)
spark.stop()
refused(sparkext.configure, SparkSession.builder)
"""
    ).splitlines()
    assert len(said) == 3
    for line in said:
        assert line.startswith("REFUSED SessionError Spark is already running without the jar")
        assert "sparkext.configure(SparkSession.builder) before" in line


@pytest.mark.slow
def test_a_running_session_without_the_extension_is_refused() -> None:
    said = fresh_process(
        f"""
spark = plain().config("spark.driver.extraClassPath", {str(jar.locate())!r}).getOrCreate()
refused(sparkext.configure, SparkSession.builder)
refused(require_extension, spark)
spark.stop()
again = sparkext.configure(plain()).getOrCreate()
refused(require_extension, again)
"""
    ).splitlines()
    assert len(said) == 3
    for line in said[:2]:
        assert line.startswith("REFUSED SessionError A SparkSession or SparkContext is already")
        assert f"spark.sql.extensions lacks {EXTENSION}" in line
    assert said[2] == "ACCEPTED"


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ("Spark-Version", "compiled for Spark 0.0.0"),
        pytest.param("Source-Hash", "from other sources", marks=pytest.mark.slow),
    ],
)
def test_a_running_spark_with_another_jar_is_refused(
    changed: str, complaint: str, tmp_path: Path
) -> None:
    other = tmp_path / "other jar.jar"
    stamped = toolchain.read_manifest(jar.locate())
    manifest = "".join(f"{k}: {v}\r\n" for k, v in {**stamped, changed: "0.0.0"}.items())
    with zipfile.ZipFile(jar.locate()) as archive, zipfile.ZipFile(other, "w") as copy:
        for name in archive.namelist():
            content = manifest.encode() if name.endswith("MANIFEST.MF") else archive.read(name)
            copy.writestr(name, content)
    said = fresh_process(
        f"""
spark = (plain().config("spark.driver.extraClassPath", {str(other)!r})
         .config("spark.sql.extensions", {EXTENSION!r}).getOrCreate())
refused(require_extension, spark)
refused(sparkext.configure, SparkSession.builder)
"""
    ).splitlines()
    assert len(said) == 2
    for line in said:
        assert line.startswith("REFUSED SessionError The extension in the running Spark")
        assert complaint in line
        assert str(other) in line


def test_a_missing_java_is_said(tmp_path: Path) -> None:
    said = fresh_process("refused(sparkext.configure, plain())", PATH=str(tmp_path), JAVA_HOME=None)
    assert said.startswith("REFUSED SessionError Spark cannot be started. Java was not found")
    assert "Install Java 17 or newer" in said


def test_an_old_java_is_said(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    program.chmod(0o755)
    said = fresh_process("refused(sparkext.configure, plain())", JAVA_HOME=str(tmp_path))
    assert said.startswith("REFUSED SessionError Spark cannot be started.")
    assert "is Java 11, which is too old" in said


@pytest.mark.slow
@pytest.mark.parametrize("with_jar", [True, False])
def test_a_program_started_by_spark_submit(with_jar: bool, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        PREAMBLE
        + "refused(sparkext.configure, plain())\n"
        + "refused(require_extension, plain().getOrCreate())\n"
    )
    command = [str(toolchain.pyspark_folder() / "bin" / "spark-submit")]
    if with_jar:
        command += ["--jars", str(jar.locate())]
        command += ["--conf", f"spark.sql.extensions={EXTENSION}"]
    done = subprocess.run(
        [*command, str(program)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith(("ACC", "REF"))]
    if with_jar:
        assert said == ["ACCEPTED", "ACCEPTED"]
    else:
        assert all("started by spark-submit" in line and "--jars" in line for line in said)
        assert len(said) == 2
