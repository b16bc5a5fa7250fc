"""Runs of the arrival bench over a world of a few people."""

from __future__ import annotations

import argparse

from bench import arrival

RATE = 40


def arguments(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    arrival.add_arguments(parser)
    return parser.parse_args(["--scale", "0.003", "--rate", str(RATE), "--seconds", "3", *given])
