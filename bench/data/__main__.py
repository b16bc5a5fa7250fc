"""Command line of the generators: `python -m bench.data dblp --scale 1 --out DIR`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from bench.data import rdf_files, sightings, world

DBLP = f"""\
DBLP-shaped people, papers and citations, and badge sightings of some of the authors.

Static data (dblp-0.nt.gz, dblp-1.nt.gz, ...: 4 parts for each unit of scale, at least 2)
  people            {world.PEOPLE:,} x scale, each with a foaf:name that occurs once, in research
                    groups of {world.SMALLEST_GROUP} or more, {world.MEAN_GROUP} in the mean
  papers            {world.PAPERS:,} x scale
  dc:creator        1 to {len(world.AUTHORS)} authors a paper, 2.67 in the mean (0.8 M x scale);
                    each from the paper's group with probability {world.AUTHOR_FROM_GROUP}, picked
                    by productivity, a power law of exponent {world.PRODUCTIVITY_EXPONENT}
  dcterms:references 5 a paper in the mean (1.5 M x scale), to papers of smaller number, picked
                    by popularity, a power law of exponent {world.POPULARITY_EXPONENT};
                    with probability {world.REFERENCE_TO_GROUP} among papers of the same group

Rooms (localization.ttl): {sightings.ROOMS} rooms with a loc:name such as "Room 17".

Stream (sightings.nq): every element is one named graph with one triple, person loc:at room, and
its prov:generatedAtTime, whole seconds from {rdf_files.timestamp(0)}.
  badge holders     {world.HOLDERS:,}, at most a quarter of the people; all authors of groups
                    chosen at random
  movement          a group stays at least {sightings.MINIMUM_STAY_SECONDS} s in a room,
                    {sightings.MEAN_STAY_SECONDS} s in the mean; a member goes along with
                    probability {sightings.FOLLOWS_GROUP}, up to
                    {sightings.LATECOMER_SECONDS} s late, else alone to a room of its own
  rate              sightings a second, spread evenly: up to one a holder, nobody is sighted
                    twice in a second

Also written: queries/q1.rspql ... q4.rspql and manifest.json (counts and parameters).
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.data", description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    dblp = kinds.add_parser(
        "dblp",
        help="DBLP-shaped static data and badge sightings",
        description=DBLP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    dblp.add_argument("--scale", type=float, default=1.0, help="size of the world (default 1)")
    dblp.add_argument("--out", type=Path, required=True, help="folder to write to")
    dblp.add_argument(
        "--seed",
        type=int,
        default=world.DEFAULT_SEED,
        help=f"the same seed gives the same files (default {world.DEFAULT_SEED})",
    )
    dblp.add_argument("--rate", type=int, default=1000, help="sightings a second (default 1000)")
    dblp.add_argument("--seconds", type=int, default=120, help="length of the stream (default 120)")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Runs the generator named by the arguments; returns the exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    started = time.perf_counter()
    try:
        made = world.generate_world(args.scale, args.seed)
        manifest = rdf_files.write_world(made, args.out, args.rate, args.seconds)
    except ValueError as error:
        parser.error(str(error))
    counts = manifest["counts"]
    assert isinstance(counts, dict)
    listed = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    print(f"{args.out}: {listed}; {time.perf_counter() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
