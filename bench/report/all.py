"""All benches one after the other, and one HTML page: every figure of the papers made again, beside papers and peers.

Each bench is a process of its own (`python -m bench NAME --json FILE`) and is ended after `--limit` minutes; when
`--minutes` are over, no more are begun. After each one the page is written again, so that a run that is interrupted
(Ctrl-C) shows what there is; `--resume` goes on with what has no result yet, `--draw` makes the page of what there is,
each of what was run with the same options. A run exits with 1 where a bench failed, was ended or not begun.

OUT/report.html is the page; OUT/results/NAME.json, NAME.log and NAME.state are what each bench has found and said, and
what came of it.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.report.known import discover, parser_of
from bench.report.page import Run, page
from bench.report.results import Report, machine, progress, versions
from bench.report.steps import Outcome, Step, earlier, forget, run_step

NAME = "all"
COLUMNS = ("bench", "state", "seconds", "rows", "command")
# In the order of the papers, then what is compared with peers, then what is of this project alone.
STEPS = (
    Step("semantics"),
    Step("cqels"),
    Step("adapt"),
    Step("star"),
    Step("tvs"),
    Step("placement"),
    Step("many", ("--seconds", "15")),
    Step("arrival"),
    Step("arrival", ("--scale", "0.1", "--seconds", "20", "--rate", "1000"), "arrival-small", quick=False),
    Step("unchanged"),
    Step("sql"),
    Step("events"),
    Step("ways"),
    Step("intake", ("--elements", "5000000")),
    Step("throughput"),
    Step("restart"),
    Step("scale", ("--triples", "1000000", "10000000")),
    Step("soak"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options beside --quick and --json."""
    names = [step.title for step in STEPS]
    parser.add_argument("--out", type=Path, default=Path("report"), help="folder (default: report)")
    parser.add_argument(
        "--only", action="append", choices=names, metavar="NAME", help=f"repeatable; of {', '.join(names)}"
    )  # fmt: skip
    parser.add_argument(
        "--limit", type=float, help="minutes after which a bench is ended (default 15; quick 3)"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        help="minutes after which no more are begun (default 120; quick 10)",
    )
    parser.add_argument("--resume", action="store_true", help="keep results that are there already")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="another engine for arrival (see python -m bench arrival --help); repeatable",
    )
    parser.add_argument("--draw", action="store_true", help="run nothing; draw what there is")


def run(args: argparse.Namespace) -> Report:
    """Runs them; a row for each, whatever came of it."""
    wanted = set(args.only or ())
    steps = [
        _with_peers(s, args.peer)
        for s in STEPS
        if (s.title in wanted if wanted else s.quick or not args.quick)
    ]
    results = args.out / "results"
    limit_s = 60 * ((3 if args.quick else 15) if args.limit is None else args.limit)
    all_s = 60 * ((10 if args.quick else 120) if args.minutes is None else args.minutes)
    run = _begun(args, steps)
    # SIGTERM is heard as Ctrl-C is, in the background, too: the bench that runs is ended, and the page written.
    if not args.draw and threading.current_thread() is threading.main_thread():
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, signal.default_int_handler)
    if args.resume or args.draw:
        run.outcomes[:] = [earlier(step, args.quick, results) for step in steps]
    else:
        for step in steps:
            forget(step, results)
    began = time.monotonic()
    for number, step in enumerate(() if args.draw else steps):
        if run.outcomes[number].state == "done":
            continue
        if time.monotonic() - began >= all_s:
            break
        progress(f"{number + 1} of {len(steps)}: {step.title} (up to {limit_s / 60:.0f} min)")
        done = run_step(step, args.quick, results, limit_s)
        run.outcomes[number] = done
        progress(f"    {step.title}: {done.state}, {done.seconds:.0f} s")
        if done.state == "interrupted":
            break
        _write(run, args.out)
    path = _write(run, args.out)
    progress(f"wrote {path}")
    spent = sum(one.seconds for one in run.outcomes)
    return Report(
        NAME,
        [_row(one, args.quick) for one in run.outcomes],
        {"seconds": round(spent), "page": str(path)},
        whole=args.draw or all(one.state == "done" for one in run.outcomes),
    )


def _with_peers(step: Step, given: list[str]) -> Step:
    added = tuple(part for peer in given for part in ("--peer", peer))
    return replace(step, always=added) if step.bench == "arrival" else step


def _begun(args: argparse.Namespace, steps: list[Step]) -> Run:
    benches = {name: module for name, module in discover().items() if name != NAME}
    parser = parser_of(benches)
    settings = {}
    for step in steps:
        given = vars(parser.parse_args(step.arguments(args.quick)))
        settings[step.title] = {
            k: v for k, v in given.items() if k not in ("name", "json", "quick")
        }
    about = {name: _first_paragraph(module.__doc__) for name, module in benches.items()}
    return Run(
        quick=args.quick,
        started=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        machine=machine(),
        versions=versions(),
        outcomes=[Outcome(step) for step in steps],
        settings=settings,
        about=about,
        command=_command(args),
    )


def _command(args: argparse.Namespace) -> str:
    """How it was asked for, without the places of files."""
    parts = ["python -m bench all"]
    for name in ("quick", "resume", "draw"):
        parts += [f"--{name}"] if getattr(args, name) else []
    for name in ("limit", "minutes"):
        given = getattr(args, name)
        parts += [] if given is None else [f"--{name} {given:g}"]
    parts += [f"--only {name}" for name in args.only or ()]
    parts += [f"--peer {shlex.quote(peer)}" for peer in args.peer]
    return " ".join([*parts, f"--out {shlex.quote(args.out.name)}"])


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").strip().split("\n\n")[0].split())


def _write(run: Run, out: Path) -> Path:
    path = out / "report.html"
    out.mkdir(parents=True, exist_ok=True)
    path.write_text(page(run), encoding="utf-8")
    return path


def _row(outcome: Outcome, quick: bool) -> dict[str, Any]:
    return {
        "bench": outcome.step.title,
        "state": outcome.state,
        "seconds": outcome.seconds,
        "rows": len(outcome.rows),
        "command": outcome.step.command(quick),
    }
