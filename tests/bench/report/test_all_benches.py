"""`python -m bench all`: what becomes of each step, and what the page shows of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench.__main__ import discover, main
from bench.report import all as all_benches
from bench.report.drawings import series
from bench.report.figures import BESIDE, FIGURES
from bench.report.page import Run, page
from bench.report.papers import PAPERS
from bench.report.steps import ROOT, Outcome, Step, earlier, run_step

TITLES = [step.title for step in all_benches.STEPS]

# A row of each bench, as it writes them, some values left out.
ROWS: dict[str, list[dict[str, Any]]] = {
    "cqels": [{"query": "q1", "rate": 1000, "p50_ms": 3.25, "preprocessing_p50_ms": 3.5, "systemx_p50_ms": None},
              {"query": "q2", "rate": 1000, "p50_ms": 4.0, "preprocessing_p50_ms": 12.0, "systemx_p50_ms": 1966.0}],
    "many": [{"query": q, "instances": n, "sharing": "on", "p50_ms": n / 7} for q in ("q1", "q2") for n in (10, 1000)],
    "adapt": [{"stream": "drift <b>", "engine_ms": 198.0, "hindsight_ms": 524.0, "duckdb_ms": 424.0}],
    "star": [{"serialisation": "plain", "annotated": n, "bytes_star": 600 * n, "bytes_reification": 1000 * n,
              "gzip_star": 200, "gzip_reification": 300, "star_ms": 0.7, "reification_ms": 0.9, "optimised_ms": 1.2}
             for n in (1, 10)],
    "tvs": [*({"query": "q1a", "threshold": t, "functions": "native", "placement": p, "p50_ms": 3.4}
              for t in (0.0, 1.0) for p in ("early", "late", "cost")),
            {"query": "q4a", "functions": "native", "lazy": "on", "cache": "off", "p50_ms": 3.4}],
    "placement": [{"cardinality": 0.1, "selectivity": s, "functions": "dear", "early_ms": 44.3, "late_ms": 40.0,
                   "cost_ms": 41.0} for s in (0.0, 0.5)],
    "semantics": [{"figure": f, "setting": "t0 = 0", "printed": "5: a", "ours": "5: a", "same": True, "instants": [5],
                   "printed_instants": [5]} for f in ("RSP-QL Figure 4", "RSP-QL Figure 5", "RSEP-QL Figure 1")],
    "arrival": [{"query": "q1", "rate": 1000, "p50_ms": 6.5, "duckdb_p50_ms": 4.7, "spark_p50_ms": 410.0}],
    "sql": [{"query": "who", "rate": rate, "p50_ms": 10.4, "spark_p50_ms": 594.0} for rate in (1000, 5000)],
    "events": [{"query": query, "open": n, "together": together, "p50_ms": 18.0, "duckdb_p50_ms": 19.0}
               for query, together in (("two steps", 1), ("two steps", 10), ("three steps", 1)) for n in (10, 100)],
}  # fmt: skip


def outcome(step: Step, state: str = "done", rows: list[dict[str, Any]] | None = None) -> Outcome:
    result = {"rows": rows, "summary": {"seed": 7}} if rows is not None else None
    return Outcome(step, state, 12.0, result, ["loading <data>", "the last word"])


def made(outcomes: list[Outcome], quick: bool = True) -> str:
    machine = {"system": "Linux x86_64", "processor": "AMD", "cores": 2}
    return page(Run(quick, "2026-11-28", machine, {"python": "3.11", "rdflib": None}, outcomes))


def test_every_figure_and_comparison_has_a_step_or_says_where_it_is_held_to() -> None:
    steps = {step.title for step in all_benches.STEPS}
    assert {figure.step for figure in FIGURES if figure.step} <= steps
    assert {beside.step for beside in BESIDE} <= steps
    assert steps == {f.step for f in FIGURES if f.step} | {b.step for b in BESIDE}
    assert all(bool(figure.step) != bool(figure.elsewhere) for figure in FIGURES)
    assert {figure.paper for figure in FIGURES} == set(PAPERS)
    for figure in FIGURES:
        for path in re.findall(r"(?:tests|bench|docs|adaptive)/[\w/.*]+\w", figure.elsewhere):
            assert list(ROOT.glob(path)), f"{figure.label}: {path}"


def test_every_bench_is_a_step() -> None:
    assert {step.bench for step in all_benches.STEPS} == set(discover()) - {"all", "demo"}


def test_the_page_draws_what_is_there_and_says_what_is_missing() -> None:
    outcomes = [
        outcome(step, "done" if step.title in ROWS else "ended", ROWS.get(step.title))
        for step in all_benches.STEPS
    ]
    text = made(outcomes)
    for figure in FIGURES:
        assert f"<h3>{figure.label}: " in text
    assert "drift &lt;b&gt;" in text and "<b>" not in text.replace("drift <b>", "")
    assert "The bench ended after 12 s" in text and "loading &lt;data&gt;" in text
    assert "CQELS (paper)" in text and "System X (paper)" in text
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(drawings) == 19
    for drawing in drawings:
        ElementTree.fromstring(drawing)
    named = [set(re.findall(r'\bid="([^"]+)"', drawing)) for drawing in drawings]
    ids = [name for names in named for name in names]
    assert len(ids) == len(set(ids))


def test_the_page_needs_nothing_from_elsewhere() -> None:
    text = made([outcome(step, rows=ROWS.get(step.title, [])) for step in all_benches.STEPS])
    without_names = re.sub(
        r'xmlns(:\w+)?="[^"]*"|<metadata>.*?</metadata>', "", text, flags=re.DOTALL
    )
    assert not re.findall(r"<script|<link|\bsrc=|@import|url\((?!#)|https?://", without_names)
    assert str(ROOT) not in text


@pytest.mark.parametrize("title", TITLES)
def test_a_page_of_one_step_alone_is_whole(title: str) -> None:
    step = next(step for step in all_benches.STEPS if step.title == title)
    text = made([outcome(step, "interrupted")], quick=False)
    assert text.count("Not run:") >= len(FIGURES) - 8
    assert step.command(False).replace("'", "&#x27;") in text
    assert set(re.findall(r"bench all --only ([\w-]+)", text)) == set(TITLES) - {title}


def test_no_row_hides_another() -> None:
    with pytest.raises(ValueError, match="p50_ms: two rows whose open is 10"):
        series([{"open": 10, "p50_ms": 1.0}, {"open": 10, "p50_ms": 2.0}], "open", "p50_ms", "ours")
    twice = [*ROWS["events"], *ROWS["events"]]
    step = next(step for step in all_benches.STEPS if step.title == "events")
    text = made([outcome(step, rows=twice)])
    assert "These rows cannot be drawn: ValueError: p50_ms: two rows" in text


def test_results_that_were_kept_say_which_machine_they_are_of() -> None:
    done = outcome(Step("star"), rows=ROWS["star"])
    assert done.result is not None
    done.result |= {"machine": {"processor": "another"}, "versions": {"rdflib": "7.1.0"}}
    text = made([done])
    assert "AMD" in text and "another" in text and "7.1.0" in text


def test_a_bench_that_fails_and_one_that_takes_too_long(tmp_path: Path) -> None:
    failed = run_step(Step("arrival", ("--peers", "nobody")), False, tmp_path, 600)
    assert (failed.state, failed.result) == ("failed", None)
    assert "unknown peer nobody" in failed.said[-1]
    ended = run_step(Step("soak"), True, tmp_path, 0.2)
    assert (ended.state, ended.rows) == ("ended", [])


def test_a_result_of_an_earlier_run_is_found_again(tmp_path: Path) -> None:
    step = Step("star", ("--rounds", "9"))
    assert earlier(step, True, tmp_path).state == "not run"
    leave(tmp_path, step, "done")
    found = earlier(step, True, tmp_path)
    assert (found.state, found.seconds, len(found.rows)) == ("done", 41.0, 2)
    # What a quick run has found is nothing of a whole one.
    assert earlier(step, False, tmp_path).state == "not run"
    (tmp_path / "star.state").write_text("{", encoding="utf-8")
    assert earlier(step, True, tmp_path).state == "not run"


def leave(folder: Path, step: Step, state: str) -> None:
    """What a quick run of a step leaves."""
    folder.mkdir(exist_ok=True)
    left = {"arguments": step.arguments(True), "state": state, "seconds": 41.0, "said": ["the end"]}
    (folder / f"{step.title}.state").write_text(json.dumps(left), encoding="utf-8")
    if state == "done":
        result = {"rows": ROWS[step.bench], "summary": {}}
        (folder / f"{step.title}.json").write_text(json.dumps(result), encoding="utf-8")


def test_what_is_there_is_drawn_without_running_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leave(tmp_path / "results", Step("star"), "done")
    leave(tmp_path / "results", Step("many"), "failed")
    assert main(["all", "--draw", "--quick", "--out", str(tmp_path)]) == 0
    assert re.search(r"^star +done +41", capsys.readouterr().out, re.MULTILINE)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.count("<svg") == 2
    assert "The bench failed after 41 s" in text and "<pre>the end" in text
    assert "seed 1" in text  # that of the elements of star


def test_a_run_in_which_all_is_done_exits_with_0(tmp_path: Path) -> None:
    leave(tmp_path / "results", Step("star"), "done")
    chosen = ["--quick", "--only", "star", "--out", str(tmp_path)]
    assert main(["all", *chosen, "--resume"]) == 0
    assert main(["all", *chosen, "--minutes", "0"]) == 1  # it is not begun
    # Nor is what the run before has left taken for something of this one.
    assert main(["all", *chosen, "--resume", "--minutes", "0"]) == 1


@pytest.mark.parametrize(
    "kind", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_an_interrupted_run_ends_its_bench_and_leaves_a_page(
    tmp_path: Path, kind: signal.Signals
) -> None:
    leave(tmp_path / "results", Step("star"), "done")
    chosen = ["--quick", "--resume", "--out", str(tmp_path)]
    chosen += ["--only", "semantics", "--only", "many", "--only", "star"]
    process = subprocess.Popen(
        [sys.executable, "-m", "bench", "all", *chosen],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stderr is not None
    assert "1 of 3: semantics" in process.stderr.readline()
    log = tmp_path / "results" / "semantics.log"
    while not log.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(kind)
    process.communicate(timeout=300)
    assert process.returncode == 1
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<td class=interrupted>interrupted" in text
    assert "<td class=not-run>not run" in text
    assert "<td class=done>done" in text  # that of before
