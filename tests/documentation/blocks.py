"""The code in the pages of `docs`: found by sybil, run page by page, and held to the output that stands below it.

python runs in one namespace a page; bash is typed into a folder of the page's own, `cqels` in this process; sparql is
registered, or selected; output is what the block before it printed, in which `...` stands for anything. Other languages
are shown, not run.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import SkipTest

from sybil import Document, Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, SkipParser

from sparkext.cli import main
from sparkext.language import parse_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCS = Path(__file__).resolve().parents[2] / "docs"
PREPARED = Path(__file__).parent / "prepared"
RUN = ("python", "bash", "sparql", "sql")
SHOWN = ("sh", "text", "turtle", "trig", "yaml", "toml", "json", "ini", "properties")
"""Languages of blocks that are not run: what a server, a cluster or an installation is told, data, diagrams."""

_CHECKER = doctest.OutputChecker()
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class WrongPageError(Exception):
    """What a page shows is not what happens."""


def run_python(example: Example) -> None:
    """Run a block in the page's namespace."""
    code = compile("\n" * (example.line) + str(example.parsed), example.path, "exec")
    with _printing(example):
        exec(code, example.namespace)


def run_bash(example: Example) -> None:
    """Do what a shell would, in the page's folder."""
    with _printing(example):
        for command in commands(str(example.parsed)):
            _do(command)


def run_sparql(example: Example) -> None:
    """Register a query that has windows, select another."""
    text = str(example.parsed)
    engine = example.namespace["queries"]
    query = parse_query(text)
    if not query.windows:
        engine.select(text).close()
        return
    for window in query.windows:
        engine.register_stream(window.stream.value)
    example.namespace["registered"] = registered = engine.register_query(text)
    registered.stop()


def run_sql(example: Example) -> None:
    """Run it in the session."""
    with _printing(example):
        example.namespace["spark"].sql(str(example.parsed)).show()


def check_output(example: Example) -> None:
    """Hold what the block before has printed to what the page shows."""
    printed, wanted = example.namespace.pop("printed", ""), str(example.parsed)
    example.namespace["outputs"].append((wanted, printed))
    if not _CHECKER.check_output(wanted, printed, _FLAGS) and not example.namespace.get(
        "recording"
    ):
        shown = doctest.Example("", wanted)
        difference = _CHECKER.output_difference(shown, printed, _FLAGS | doctest.REPORT_NDIFF)
        raise WrongPageError(f"{example.path}:{example.line}\n{difference}")


PAGES = Sybil(
    parsers=[
        *(
            CodeBlockParser(language, evaluator)
            for language, evaluator in (
                ("python", run_python),
                ("bash", run_bash),
                ("sparql", run_sparql),
                ("sql", run_sql),
                ("output", check_output),
            )
        ),
        SkipParser(),
    ],
    path=str(DOCS),
)


def run_page(name: str, namespace: dict[str, Any]) -> list[tuple[str, str]]:
    """Run all blocks of a page; gives what its output blocks show, each with what was printed.

    `namespace` is what is at hand; `prepared/NAME.py` adds to it. Raises what a block raises, and WrongPageError.
    """
    document = PAGES.parse(DOCS / name)
    document.namespace.update(namespace, outputs=[])
    with working_folder(namespace["spark"]) if "spark" in namespace else contextlib.nullcontext():
        _run(document, name)
    outputs: list[tuple[str, str]] = document.namespace["outputs"]
    return outputs


def _run(document: Document, name: str) -> None:
    prepared = PREPARED / f"{Path(name).stem}.py"
    if prepared.exists():
        exec(
            compile(prepared.read_text(encoding="utf-8"), str(prepared), "exec"), document.namespace
        )
    try:
        for example in document.examples():
            evaluator = example.region.evaluator
            if evaluator is not check_output and evaluator in (run_python, run_bash, run_sql):
                _nothing_left(example)
            with contextlib.suppress(SkipTest):  # by a comment in the page that says why
                example.evaluate()
        _nothing_left(example)
    finally:
        if "spark" in document.namespace:
            for job in document.namespace["spark"].streams.active:
                job.stop()
        for made in ("engine", "queries"):
            if made in document.namespace:
                document.namespace[made].close()


@contextlib.contextmanager
def working_folder(spark: SparkSession) -> Iterator[None]:
    """Have Spark look for relative paths where this process does; its JVM stays where it was started."""
    jvm, conf = spark._jvm, spark._jsc.hadoopConfiguration()
    local = jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf)
    before = local.getWorkingDirectory()
    local.setWorkingDirectory(jvm.org.apache.hadoop.fs.Path(str(Path.cwd())))
    # Where checkpoints of streaming queries lie is told by a FileContext, which is made anew each time.
    started_in = jvm.java.lang.System.setProperty("user.dir", str(Path.cwd()))
    try:
        yield
    finally:
        local.setWorkingDirectory(before)
        jvm.java.lang.System.setProperty("user.dir", started_in)


def commands(text: str) -> Iterator[str]:
    """The commands of a block, each with its here-document or with the lines that go on after a backslash.

    >>> list(commands("cat > a <<'END'\\n1\\nEND\\ncqels run \\\\\\n  a"))
    ["cat > a <<'END'\\n1\\nEND", 'cqels run \\\\\\n  a']
    """
    lines = iter(text.splitlines())
    for line in lines:
        command = [line]
        here = re.search(r"<<'?(\w+)'?", line)
        while (here and command[-1] != here[1]) or (not here and command[-1].endswith("\\")):
            command.append(next(lines))
        if line.strip() and not line.startswith("#"):
            yield "\n".join(command)


def _do(command: str) -> None:
    if not command.startswith("cqels "):
        done = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, check=False)
        sys.stdout.write(done.stdout)
        status, said = done.returncode, done.stderr
    else:
        command, _, other = command.partition(" || ")
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = main(shlex.split(command.replace("\\\n", " "), comments=True)[1:])
        said = errors.getvalue()
        status = 0 if other == "true" else status
    if status:
        raise WrongPageError(f"{command}\nended with status {status}: {said}")


@contextlib.contextmanager
def _printing(example: Example) -> Iterator[None]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        yield
    example.namespace["printed"] = out.getvalue()


def _nothing_left(example: Example) -> None:
    """What a block prints is shown."""
    printed = example.namespace.pop("printed", "")
    if printed:
        raise WrongPageError(
            f"{example.path}, before line {example.line}: not shown: {printed[:500]!r}"
        )
