"""Command line of the generators: `python -m bench.data dblp --scale 1 --out DIR`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from bench.data import rdf_files, sightings, tunnel, tunnel_files, world

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

TVS = """\
The tunnel-ventilation workload of the uncertainty paper: oxygen and temperature in the sectors of
a road tunnel, measured with errors that are probability distributions.

Static data (tunnel.nt): 23 triples a sector, and 6 of the kinds of sensors; kinds 1 have an error
that all their sensors share, U(-0.01,0.01) for oxygen and U(-2,2) for temperature.

Streams (ox1.nq, ox2.nq, temp1.nq, temp2.nq): an element for each sector and second, of the
temperatures for every second sector; a named graph with six triples and its prov:generatedAtTime.
  ox1    uniform between 0.17 and 0.25
  ox2    normal, mean 0.21, standard deviation 0.015; each reading annotated with N(0,0.005)
  temp1  uniform between 21 and 31
  temp2  normal, mean 26, standard deviation 2; each reading annotated with N(0,0.5)
The second parameter of N is the variance.

Also written: queries/q1a.rspql ... q6b.rspql and manifest.json (counts and parameters). Q2 and Q3
filter on variables from outside a window: run them with spark.cqels.filterScope=lift.
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
    tvs = kinds.add_parser(
        "tvs",
        help="a tunnel's sensors, with uncertain readings",
        description=TVS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tvs.add_argument("--out", type=Path, required=True, help="folder to write to")
    tvs.add_argument(
        "--sectors",
        type=int,
        default=tunnel.SECTORS,
        help=f"sectors of the tunnel (default {tunnel.SECTORS})",
    )
    tvs.add_argument(
        "--seconds",
        type=int,
        default=tunnel.SECONDS,
        help=f"length of the streams (default {tunnel.SECONDS})",
    )
    tvs.add_argument(
        "--seed",
        type=int,
        default=tunnel.DEFAULT_SEED,
        help=f"the same seed gives the same files (default {tunnel.DEFAULT_SEED})",
    )
    tvs.add_argument(
        "--threshold",
        type=float,
        default=0.8,
        help="probability that the queries ask for (default 0.8)",
    )
    return parser


def _write(args: argparse.Namespace) -> dict[str, object]:
    if args.kind == "tvs":
        made = tunnel.Tunnel(args.sectors, args.seconds, args.seed)
        return tunnel_files.write_tunnel(made, args.out, args.threshold)
    generated = world.generate_world(args.scale, args.seed)
    return rdf_files.write_world(generated, args.out, args.rate, args.seconds)


def main(argv: list[str] | None = None) -> int:
    """Runs the generator named by the arguments; returns the exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    started = time.perf_counter()
    try:
        manifest = _write(args)
    except ValueError as error:
        parser.error(str(error))
    counts = manifest["counts"]
    assert isinstance(counts, dict)
    listed = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    print(f"{args.out}: {listed}; {time.perf_counter() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
