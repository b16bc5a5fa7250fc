"""Results of benches: what one hands back, all of them run in turn, papers' figures drawn from them, one HTML page."""

from bench.report.results import (
    PACKAGES,
    BenchError,
    Report,
    machine,
    progress,
    table,
    versions,
)

__all__ = ["PACKAGES", "BenchError", "Report", "machine", "progress", "table", "versions"]
