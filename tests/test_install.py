"""Wheel and sdist: complete, and the wheel works when installed alone in an empty folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pyspark
import pytest

import sparkext
from sparkext import toolchain

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.slow


# A first example, whole: an environment, the wheel in it, and one command over these.
FIRST = {
    "people.ttl": """@prefix : <http://example.org/> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
:ann foaf:name "Ann" . :bob foaf:name "Bob" .
""",
    "sightings.trig": """@prefix : <http://example.org/> . @prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:g1 { :ann :at :hall . } :g1 prov:generatedAtTime "2026-01-01T10:00:01Z"^^xsd:dateTime .
:g2 { :bob :at :hall . } :g2 prov:generatedAtTime "2026-01-01T10:00:02Z"^^xsd:dateTime .
""",
    "where.rspql": """PREFIX : <http://example.org/> PREFIX foaf: <http://xmlns.com/foaf/0.1/>
REGISTER RSTREAM :where AS SELECT ?name
FROM NAMED WINDOW :w ON :sightings [RANGE PT10S]
WHERE { WINDOW :w { ?person :at :hall } ?person foaf:name ?name }
""",
}


def run(*command: str | Path, cwd: Path, **changed: str) -> subprocess.CompletedProcess[str]:
    """Run `command` outside the checkout and outside this virtual environment."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**environment, **changed},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
        check=False,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the checkout with the PySpark of this environment."""
    return built_wheel(tmp_path_factory.mktemp("dist"))


def built_wheel(folder: Path, **changed: str) -> Path:
    if run(sys.executable, "-c", "import hatchling", cwd=folder).returncode != 0:
        pytest.skip("hatchling is not installed; make test-all installs it")
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation")
    done = run(*pip, "--wheel-dir", folder, ROOT, cwd=folder, **changed)
    assert done.returncode == 0, done.stdout
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_one_jar_and_the_packages(wheel: Path) -> None:
    assert re.fullmatch(r"spark_cqels-\d+\.\d+\.\d+-py3-none-any\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    jars = [name for name in names if name.endswith(".jar")]
    assert jars == [f"sparkext/jars/spark-cqels_2.13-{pyspark.__version__}.jar"]
    folder = ROOT / "sparkext" / "jvm"
    sources = {path.relative_to(ROOT).as_posix() for path in folder.rglob("*.scala")}
    assert {name for name in names if name.endswith(".scala")} == sources
    assert any(name.endswith(".lark") for name in names)
    page = {f"sparkext/page/web/{file.name}" for file in (ROOT / "sparkext/page/web").iterdir()}
    assert len(page) > 10 and page <= set(names)
    folders = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert folders == {"static_data", "adaptive", "sparkext"}
    assert {f"{folder}/py.typed" for folder in folders} <= set(names)
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_what_the_wheel_says_of_itself(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(wheel) as archive:
        (about,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = message_from_bytes(archive.read(about))
        licence = archive.read(about.replace("METADATA", "licenses/LICENSE")).decode("utf-8")
        whole = "".join(
            archive.read(name).decode("utf-8", "replace")
            for name in archive.namelist()
            if ".dist-info/" in name
        )
    assert licence == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert metadata["Version"] == project["version"] == sparkext.__version__
    assert metadata["Summary"] == project["description"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata.get_all("Classifier") == project["classifiers"]
    extras = project["optional-dependencies"]
    assert set(metadata.get_all("Provides-Extra") or []) == set(extras)
    assert str(metadata.get_payload()).startswith("# spark-cqels")
    assert str(ROOT) not in whole


def test_the_newest_part_of_the_changelog_is_that_of_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[([\d.]+)\]", changes, re.MULTILINE)
    assert newest is not None and newest[1] == sparkext.__version__


def test_a_wheel_is_built_of_the_sdist_alone(tmp_path: Path) -> None:
    if run(sys.executable, "-c", "import hatchling", cwd=tmp_path).returncode != 0:
        pytest.skip("hatchling is not installed; make test-all installs it")
    build = (sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path)
    done = run(*build, cwd=ROOT)
    assert done.returncode == 0, done.stdout
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ("README.md", "LICENSE", "CHANGELOG.md", "Makefile", "hatch_build.py", "PKG-INFO")
    assert {*wanted, "docs/streams.md", "tests/conftest.py", "bench/__main__.py"} <= names
    assert not [name for name in names if name.endswith((".jar", ".pyc"))]
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation")
    done = run(*pip, "--wheel-dir", tmp_path, sdist, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    (built,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        jars = [name for name in archive.namelist() if name.endswith(".jar")]
    assert jars == [f"sparkext/jars/spark-cqels_2.13-{pyspark.__version__}.jar"]


def test_a_wheel_with_jars_for_several_versions_of_spark(tmp_path: Path) -> None:
    others = sorted(Path(sys.prefix).glob("spark-*/lib/python*/site-packages/pyspark"))
    if not others:
        pytest.skip("there is no other PySpark; make test-versions installs some")
    named = os.pathsep.join(map(str, others))
    with zipfile.ZipFile(built_wheel(tmp_path, CQELS_BUILD_PYSPARKS=named)) as archive:
        archive.extractall(tmp_path)
    found = sorted((tmp_path / "sparkext" / "jars").iterdir())
    stamps = [toolchain.read_stamp(jar) for jar in found]
    versions = [pyspark.__version__, *map(toolchain.pyspark_version, others)]
    assert sorted(stamp.spark for stamp in stamps) == sorted(versions)
    assert [stamp.jar_name for stamp in stamps] == [jar.name for jar in found]


def test_the_wheel_works_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    fresh, empty = tmp_path / "venv", tmp_path / "empty"
    empty.mkdir()
    made = run(sys.executable, "-m", "venv", fresh, cwd=empty)
    assert made.returncode == 0, made.stdout
    installed = run(fresh / "bin" / "pip", "install", wheel, cwd=empty)
    assert installed.returncode == 0, installed.stdout
    shown = run(fresh / "bin" / "cqels", "--help", cwd=empty)
    assert shown.returncode == 0, shown.stdout
    assert "run" in shown.stdout
    assert "explain" in shown.stdout
    for name, text in FIRST.items():
        (empty / name).write_text(text, encoding="utf-8")
    stream = "http://example.org/sightings=sightings.trig"
    first = ("where.rspql", "--static", "people.ttl", "--stream", stream)
    answered = run(fresh / "bin" / "cqels", "run", *first, cwd=empty)
    assert answered.returncode == 0, answered.stdout
    lines = [json.loads(line) for line in answered.stdout.splitlines() if line.startswith("{")]
    names = [[row["name"]["value"] for row in line["results"]["bindings"]] for line in lines]
    assert names == [["Ann"], ["Ann", "Bob"]], answered.stdout
    program = (
        "import sparkext; from pyspark.sql import SparkSession\n"
        "from sparkext import jar; from sparkext.session import require_extension\n"
        "assert jar.locate().parent == jar.PACKAGED_JARS, jar.locate()\n"
        "spark = sparkext.configure(SparkSession.builder.master('local[1]')).getOrCreate()\n"
        "require_extension(spark); print('works', spark.range(3).count())\n"
    )
    done = run(fresh / "bin" / "python", "-c", program, cwd=empty)
    assert done.returncode == 0, done.stdout
    assert "works 3" in done.stdout
    assert not any(empty.glob("*.jar"))


def test_a_build_without_java_ends_with_one_message(tmp_path: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import hatch_build as build\n"
    program += "from pathlib import Path\n"
    program += "hook = build.JarBuildHook.__new__(build.JarBuildHook)\n"
    program += "build.JarBuildHook.root = Path(sys.argv[1])\n"
    program += "hook.initialize('standard', {'artifacts': []})\n"
    copy = tmp_path / "tree" / "sparkext"
    (copy / "jvm").mkdir(parents=True)
    (copy / "toolchain.py").write_bytes((ROOT / "sparkext" / "toolchain.py").read_bytes())
    (copy / "jvm" / "Some.scala").write_text("object Some\n")
    arguments = (sys.executable, "-c", program, copy.parent)
    done = run(*arguments, cwd=tmp_path, PATH=str(tmp_path), JAVA_HOME="")
    assert done.returncode == 1
    assert done.stdout.startswith("spark-cqels cannot be built. Java was not found")
    assert done.stdout.count("\n") == 1


def test_build_and_run_time_name_the_same_pyspark() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    built_with = [r for r in project["build-system"]["requires"] if r.startswith("pyspark")]
    runs_with = [r for r in project["project"]["dependencies"] if r.startswith("pyspark")]
    assert built_with == runs_with
    assert len(built_with) == 1
