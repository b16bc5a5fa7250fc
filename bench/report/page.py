"""One HTML page of all that the steps have found: no script, nothing fetched, drawings within."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.report.figures import BESIDE, FIGURES, Beside, Remade
from bench.report.papers import PAPERS
from bench.report.results import cell
from bench.report.steps import Outcome

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); } h3 { margin: 2rem 0 .3rem; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child, .text td, .text th { text-align: left; }
.wide { overflow-x: auto; max-height: 26rem; } code, pre { font-size: 13px; background: var(--soft); }
pre { padding: .6rem; overflow-x: auto; } .drawings { display: flex; flex-wrap: wrap; gap: .8rem; }
.drawings svg { background: #fff; border-radius: 6px; max-width: 100%; height: auto; }
.done { color: #00845f; } .failed, .ended, .interrupted { color: #c43c00; } .not-run { color: #777; }
@media (prefers-color-scheme: dark) { .done { color: #3ecf9a; } .failed, .ended, .interrupted { color: #ff8a55; } }
"""


_NUMBERS = itertools.count(1)


@dataclass
class Run:
    """A run of all steps so far: how it was asked for, on which machine, and the outcomes by the steps' titles.

    `settings` are all options of each step's bench with what they were, `about` the first paragraph of what it says
    of itself.
    """

    quick: bool
    started: str
    machine: Mapping[str, Any]
    versions: Mapping[str, Any]
    outcomes: list[Outcome]
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    command: str = ""

    @property
    def seconds(self) -> float:
        """What all steps took."""
        return sum(one.seconds for one in self.outcomes)

    def of(self, title: str) -> Outcome | None:
        """The outcome of a step, None if it was not asked for."""
        return next((one for one in self.outcomes if one.step.title == title), None)


def page(run: Run) -> str:
    """The page."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        '<meta name=viewport content="width=device-width">',
        f"<title>spark-cqels: figures of the papers</title><style>{_STYLE}</style>",
        "<h1>Figures of the papers, made again</h1>",
        *_head(run),
        *_overview(run),
    ]
    for key, paper in PAPERS.items():
        parts.append(f"<h2>{_e(paper.title)}</h2><p>There: {_e(paper.machine)}.</p>")
        parts += [
            text for figure in FIGURES if figure.paper == key for text in _figure(figure, run)
        ]
    parts.append("<h2>Beside other systems, and by itself</h2>")
    parts += [text for beside in BESIDE for text in _beside(beside, run)]
    parts += _steps(run)
    return "\n".join(parts) + "\n"


def _head(run: Run) -> Iterable[str]:
    kind = (
        "quick: small worlds, few evaluations, to show that all works and not for figures"
        if run.quick
        else "whole"
    )
    yield f"<p>{run.started}, {run.seconds / 60:.1f} minutes so far; a {kind} run. <code>{_e(run.command)}</code></p>"
    facts = {_facts(run.machine, run.versions): None}
    # Results that were kept may be of another machine, or of other versions.
    facts |= {
        _facts(one.result["machine"], one.result["versions"]): None
        for one in run.outcomes
        if one.result and "machine" in one.result
    }
    for each in map(dict, facts):
        yield _table([each], list(each))
    yield (
        "<p>Nothing is warmed up: evaluations count from the first one on, in processes that start anew in whole runs."
        " All data are generated from seeds; answers are compared between all that answer the same. Times are in"
        " milliseconds.</p>"
    )


def _facts(machine: Mapping[str, Any], versions: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    told = {name: version or "not installed" for name, version in versions.items()}
    return (*machine.items(), *told.items())


def _overview(run: Run) -> Iterable[str]:
    yield "<h2>What was made again</h2>"
    rows = []
    for figure in FIGURES:
        if not figure.step:
            continue
        outcome = run.of(figure.step)
        state = outcome.state if outcome else "not run"
        rows.append(
            f"<tr><td>{_e(figure.label)}<td>{_e(figure.title)}<td><code>{figure.step}</code>"
            f"<td class={state.replace(' ', '-')}>{state}<td>{_e(figure.reported)}"
        )
    yield (
        "<table class=text><tr><th>figure<th>of<th>bench<th>state<th>the paper says"
        + "".join(rows)
        + "</table>"
    )


def _figure(figure: Remade, run: Run) -> Iterable[str]:
    yield f"<h3>{_e(figure.label)}: {_e(figure.title)}</h3>"
    if not figure.step:
        yield f"<p>{_e(figure.elsewhere)}</p>"
        return
    yield f"<p>The paper: {_e(figure.reported)}</p>"
    outcome = run.of(figure.step)
    yield from _missing(outcome, figure.step, run.quick)
    if outcome is not None:
        rows = [row for row in outcome.rows if figure.only(row)]
        yield from _drawings(figure, rows, outcome)
        yield _table(rows, figure.columns or None)
        yield from _left_out(outcome)


def _beside(beside: Beside, run: Run) -> Iterable[str]:
    outcome = run.of(beside.step)
    yield f"<h3>{_e(beside.title)}</h3>"
    yield from _missing(outcome, beside.step, run.quick)
    if outcome is not None:
        yield from _drawings(beside, outcome.rows, outcome)
        yield _table(outcome.rows, beside.columns or None)
        yield from _left_out(outcome)


def _left_out(outcome: Outcome) -> Iterable[str]:
    """What the bench says of rows that are not there, and of peers that answered a part."""
    for name in ("notes", "given_up", "answered"):
        if found := outcome.summary.get(name):
            told = found if isinstance(found, str) else "; ".join(_notes(found))
            yield f"<p>{name.replace('_', ' ')}: {_e(told)}</p>"


def _notes(notes: Any) -> list[str]:
    pairs = notes.items() if isinstance(notes, Mapping) else enumerate(notes)
    return [f"{name}: {text}" if isinstance(name, str) else str(text) for name, text in pairs]


def _missing(outcome: Outcome | None, step: str, quick: bool) -> Iterable[str]:
    if outcome is None:
        yield f"<p class=not-run>Not run: <code>python -m bench all --only {step}</code></p>"
    elif outcome.state == "not run":
        yield f"<p class=not-run>Not run: <code>{_e(outcome.step.command(quick))}</code></p>"
    elif outcome.state != "done":
        said = "\n".join(outcome.said)
        yield f"<p class={outcome.state}>The bench {outcome.state} after {outcome.seconds:.0f} s. Its last words:</p>"
        yield f"<pre>{_e(said)}</pre>"


def _drawings(
    of: Remade | Beside, rows: Sequence[Mapping[str, Any]], outcome: Outcome
) -> Iterable[str]:
    if of.draw is None or not rows:
        return
    kept = outcome.drawn.get(id(of))
    if kept is not None:  # the page is written anew after each step, and drawing takes a second
        yield kept
        return
    try:
        drawn = [svg for svg in of.draw(rows, outcome.summary) if svg]
    except ImportError:
        yield "<p class=not-run>Without matplotlib there are no drawings: pip install 'spark-cqels[plot]'</p>"
        return
    except (LookupError, TypeError, ValueError) as error:  # kept rows of another version, perhaps
        yield f"<p class=failed>These rows cannot be drawn: {_e(type(error).__name__)}: {_e(error)}</p>"
        return
    inlined = "".join(_inline(svg, next(_NUMBERS)) for svg in drawn)
    outcome.drawn[id(of)] = f"<div class=drawings>{inlined}</div>"
    yield outcome.drawn[id(of)]


def _inline(svg: str, number: int) -> str:
    """The element alone, as what stands before it is for files; ids that it refers to get a name that no other has.

    >>> _inline('<?xml?><svg><g id="axes_1"/><path id="m1"/><use href="#m1"/></svg>', 3)
    '<svg><g/><path id="d3-m1"/><use href="#d3-m1"/></svg>'
    """
    element = re.sub(r"\A.*?(?=<svg)", "", svg, count=1, flags=re.DOTALL)
    used = set(re.findall(r'(?:href="|url\()#([\w-]+)', element))
    element = re.sub(
        r' id="([^"]*)"',
        lambda found: f' id="d{number}-{found[1]}"' if found[1] in used else "",
        element,
    )
    return re.sub(r'((?:href="|url\()#)', rf"\g<1>d{number}-", element)


def _steps(run: Run) -> Iterable[str]:
    yield "<h2>Benches, data, seeds and commands</h2>"
    for one in run.outcomes:
        title = one.step.title
        state = f"<span class={one.state.replace(' ', '-')}>{one.state}</span>"
        yield f"<h3>{_e(title)}</h3><p>{state}, {one.seconds:.0f} s. {_e(run.about.get(one.step.bench, ''))}</p>"
        yield f"<pre>{_e(one.step.command(run.quick))}</pre>"
        given = {k: v for k, v in run.settings.get(title, {}).items() if v is not None}
        if given:
            yield "<p>" + _e(", ".join(f"{name} {value}" for name, value in given.items())) + "</p>"
        small = {k: v for k, v in one.summary.items() if isinstance(v, str | int | float | bool)}
        if small:
            yield _table([small], list(small))


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    if not rows:
        return ""
    names = [name for name in columns or rows[0] if any(row.get(name) is not None for row in rows)]
    head = "".join(f"<th>{_e(name)}" for name in names)
    lines = ["<tr>" + "".join(f"<td>{_e(cell(row.get(name)))}" for name in names) for row in rows]
    return f"<div class=wide><table><tr>{head}" + "\n".join(["", *lines]) + "</table></div>"


def _e(text: object) -> str:
    return html.escape(str(text))
