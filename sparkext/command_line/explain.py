"""`cqels explain`: the plan of a continuous query, before and after its streams are replayed."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from sparkext.command_line.inputs import prepared
from sparkext.command_line.output import check_output, opened_output
from sparkext.command_line.replay import report_lines
from sparkext.runtime.explaining.history_plot import check_plot


def execute(arguments: Namespace) -> None:
    """Run the command; raises what `sparkext.command_line.messages` can put into words."""
    if arguments.history is not None:
        check_output(arguments.history)
        check_plot(arguments.history)
    with prepared(arguments, streams_needed=arguments.history is not None) as inputs:
        before = inputs.query.explain()
        after, found = None, {}
        if inputs.recordings:
            found = inputs.replay(skipped_file=arguments.skipped)
            after = inputs.query.explain()
        if arguments.history:
            inputs.query.plot_history(arguments.history)
        with opened_output(None) as file:
            if arguments.json:
                plans = {"before": before.data, "after": None if after is None else after.data}
                file.write(json.dumps(plans, indent=2, ensure_ascii=False) + "\n")
            elif after is None:
                file.write(f"{before}\n")
            else:
                file.write(f"before the replay\n{before}\n\nafter the replay\n{after}\n")
                file.write(f"{inputs.query.progress}\n")
        for line in report_lines(inputs.engine, found):
            sys.stderr.write(f"cqels: {line}\n")
