"""The archive of classes: which one is taken, which are not, and that it is never in the way."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkext import jar
from sparkext.class_archive import (
    ClassArchive,
    find_archive,
    plan_archive,
    sealed_name,
    writes_archive,
)

ROOT = Path(__file__).resolve().parents[3]
CONTENT = bytes(range(256)) * 8


@pytest.fixture(autouse=True)
def no_options_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SPARK_DIST_CLASSPATH"):
        monkeypatch.delenv(name, raising=False)
    for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DRIVER_MEMORY"):
        monkeypatch.delenv(name, raising=False)


class Installation:
    """Files that stand for a Java, a Spark and the jar, and a cache folder that is not there yet."""

    def __init__(self, folder: Path) -> None:
        self.java = self._file(folder / "java" / "bin" / "java")
        self.modules = self._file(folder / "java" / "lib" / "modules")
        self.base = self._file(folder / "java" / "lib" / "server" / "classes.jsa")
        self.spark = folder / "spark"
        self._file(self.spark / "jars" / "spark-core.jar")
        self.jar = self._file(folder / "spark-cqels.jar")
        self.cache = folder / "cache" / "spark-cqels"
        self.version = "4.3.0"
        self.conf = {"spark.driver.extraClassPath": str(self.jar)}

    def _file(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
        return path

    def plan(self, **changed: str) -> ClassArchive | None:
        conf = {**self.conf, **{f"spark.driver.{key}": value for key, value in changed.items()}}
        return plan_archive(self.cache, self.java, self.spark, self.version, conf)

    def start(self, **changed: str) -> Path:
        plan = self.plan(**changed)
        assert plan is not None
        return plan.start

    def write(self, start: Path, content: bytes = CONTENT) -> Path:
        start.parent.mkdir(parents=True, exist_ok=True)
        path = start.parent / sealed_name(start.name, content)
        path.write_bytes(content)
        return path


@pytest.fixture
def installed(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


def test_the_first_start_writes_and_the_next_one_reads(installed: Installation) -> None:
    first = installed.plan()
    assert first is not None and first.file is None
    assert writes_archive(first.java_options())
    assert "-XX:+RecordDynamicDumpInfo" in first.java_options()
    written = installed.write(first.start)
    second = installed.plan()
    assert second == ClassArchive(first.start, written)
    assert f"-XX:SharedArchiveFile={written}" in second.java_options()
    assert not writes_archive(second.java_options())
    assert "RecordDynamicDumpInfo" not in second.java_options()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_archive_is_ignored_and_deleted(tmp_path: Path, data: st.DataObject) -> None:
    """Cut off, grown, or with bits turned round; the whole one beside it is taken."""
    start = tmp_path / "4.3.0-a1"
    path = tmp_path / sealed_name(start.name, CONTENT)
    place = data.draw(st.integers(0, len(CONTENT) - 1))
    damaged = data.draw(
        st.sampled_from(
            [
                CONTENT[:place],
                CONTENT + CONTENT[:1],
                CONTENT[:place] + bytes([CONTENT[place] ^ 0x10]) + CONTENT[place + 1 :],
            ]
        )
    )
    path.write_bytes(damaged)
    whole = tmp_path / sealed_name(start.name, b"whole")
    whole.write_bytes(b"whole")
    os.utime(whole, (1, 1))
    assert find_archive(start) == whole
    assert not path.exists()
    whole.unlink()
    assert find_archive(start) is None


def test_what_is_half_written_or_has_no_seal_is_not_taken(installed: Installation) -> None:
    start = installed.start()
    whole = installed.write(start)
    whole.rename(start.parent / f"{start.name}-4711.part")
    (start.parent / f"{start.name}-x.jsa").write_bytes(CONTENT)
    (start.parent / f"{start.name}-1-00000000.jsa").mkdir()
    assert find_archive(start) is None


def test_the_newest_archive_is_taken_and_marked_as_used(installed: Installation) -> None:
    start = installed.start()
    older, newer = installed.write(start, b"older"), installed.write(start, b"newer")
    os.utime(older, (1000, 1000))
    os.utime(newer, (2000, 2000))
    before = time.time() - 60
    assert find_archive(start) == newer
    assert newer.stat().st_mtime > before
    assert older.stat().st_mtime == 1000


def test_another_java_spark_jar_or_option_has_another_archive(installed: Installation) -> None:
    seen = {installed.start()}

    def is_new(start: Path) -> bool:
        known = start in seen
        seen.add(start)
        return not known

    assert not is_new(installed.start())
    for path in (installed.modules, installed.base, installed.jar):
        path.write_text("another")
        assert is_new(installed.start())
    (installed.spark / "jars" / "added.jar").write_text("")
    os.utime(installed.spark / "jars", (1, 1))
    assert is_new(installed.start())
    installed.version = "4.3.1"
    assert is_new(installed.start())
    assert is_new(installed.start(extraClassPath=f"/other.jar:{installed.jar}"))
    assert is_new(installed.start(extraJavaOptions="-XX:+UseSerialGC"))
    # References are wider in large heaps.
    assert is_new(installed.start(memory="64g"))
    assert not is_new(installed.start(memory="40960m"))
    assert not is_new(installed.start(memory="2g"))


@pytest.mark.parametrize(
    "option", ["-XX:SharedArchiveFile=/mine", "-XX:ArchiveClassesAtExit=/mine", "-Xshare:off"]
)
def test_who_has_plans_of_his_own_keeps_to_them(
    installed: Installation, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert installed.plan(extraJavaOptions=f"-Xss8m {option}") is None
    assert installed.plan(defaultJavaOptions=option) is None
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", option)
    assert installed.plan() is None


@pytest.mark.parametrize("missing", ["modules", "base"])
def test_a_java_without_archives_has_none(installed: Installation, missing: str) -> None:
    getattr(installed, missing).unlink()
    assert installed.plan() is None


def test_folders_on_the_class_path_are_left_alone(
    installed: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java ends on the spot when it is to write an archive and finds files in one."""
    conf = installed.spark / "conf"
    conf.mkdir()
    assert installed.plan() is not None
    (conf / "spark-defaults.conf").write_text("")
    assert installed.plan() is None
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "nowhere"))
    assert installed.plan() is not None
    assert installed.plan(extraClassPath=f"{installed.jar}:{conf}") is None


def test_a_cache_that_cannot_be_written_is_only_read(
    installed: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = installed.start()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert installed.plan() is None
    written = installed.write(start)
    assert installed.plan() == ClassArchive(start, written)


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]), min_size=1))
def test_paths_are_quoted_as_spark_splits_them(name: str) -> None:
    start = Path("/cache") / name.replace("/", "_")
    options = shlex.split(ClassArchive(start, None).java_options())
    assert options[-1] == f"-Dcqels.classArchive.write={start}"


PROGRAM = """
import json, re, sys
from pathlib import Path
from pyspark import SparkContext
from pyspark.sql import SparkSession
import sparkext
from sparkext.answers import ResultFormat
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder.config("spark.log.level", "ERROR").config("spark.driver.memory", "1g")
for pair in sys.argv[2:]:
    builder.config(*pair.split("=", 1))
sparkext.configure(builder)
told = {"options": builder._options.get("spark.driver.defaultJavaOptions", "")}
if sys.argv[1] == "run":
    spark = builder.getOrCreate()
    engine = sparkext.Engine(spark)
    told["answer"] = engine.select("ASK { VALUES ?x { 1 2 } }").answer().to_text(ResultFormat.JSON)
    maps = Path(f"/proc/{SparkContext._gateway.proc.pid}/maps")
    told["mapped"] = re.findall("4[^/]*[.]jsa", maps.read_text()) if maps.exists() else None
    engine.close()
    spark.stop()
print("TOLD", json.dumps(told))
"""


def begin(cache: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(process: subprocess.Popen[str]) -> dict[str, object]:
    """What the program told, once it and its Java have ended, which share its output."""
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert "[cds]" not in out + err
    # Nothing but ours: also Java's word on what it has written would stand here.
    lines = [line for line in out.splitlines() if not line.startswith("WARNING: Using incubator")]
    assert len(lines) == 1, out
    found: dict[str, object] = json.loads(lines[0].removeprefix("TOLD "))
    return found


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache folder, with a blank in its name, that has the jar if it had to be compiled."""
    folder = tmp_path / "a cache"
    (folder / "spark-cqels").mkdir(parents=True)
    compiled = jar.locate()
    if compiled.parent != jar.PACKAGED_JARS:
        (folder / "spark-cqels" / compiled.name).symlink_to(compiled)
    return folder


def test_the_switch_and_its_values(cache: Path) -> None:
    """Off leaves no trace; what is no truth value is an error that names the key."""
    key = "spark.cqels.classArchive"
    off, wrong = begin(cache, "configure", f"{key}=false"), begin(cache, "configure", f"{key}=si")
    assert "rchive" not in str(told(off)["options"])
    assert f"{key}: must be true or false, not 'si'" in wrong.communicate(timeout=600)[1]


@pytest.mark.slow
def test_two_processes_at_once_and_those_after_them(cache: Path) -> None:
    folder = cache / "spark-cqels"
    options = str(told(begin(cache, "configure"))["options"])
    if not writes_archive(options):
        pytest.skip("this Java and Spark have no archives of classes")
    # An archive that is whole, but not Java's: it is refused by Java, and deleted.
    name = re.search(rf"{pyspark.__version__}-[0-9a-f]{{16}}(?=\")", options)
    assert name is not None
    foreign = folder / sealed_name(name[0], CONTENT)
    foreign.write_bytes(CONTENT)
    refused = told(begin(cache, "run"))
    assert "true" in str(refused["answer"])
    assert not refused["mapped"]
    assert not foreign.exists() or refused["mapped"] is None
    foreign.unlink(missing_ok=True)

    both = [begin(cache, "run"), begin(cache, "run")]
    for process in both:
        found = told(process)
        assert writes_archive(str(found["options"]))
        assert "true" in str(found["answer"])
    assert not list(folder.glob("*.part"))
    (archive,) = folder.glob("*.jsa")
    after = told(begin(cache, "run"))
    assert "true" in str(after["answer"])
    assert after["mapped"] is None or set(after["mapped"]) == {archive.name}  # type: ignore[call-overload]
