"""Long runs with faults: ``python -m tests.soak stream|cluster --minutes 60``.

``stream``: a stream that is killed, interrupted, left without room on its disk and continued in
rotated files must end in the model of a run without faults. ``cluster``: fits on a Dask cluster
that loses a worker every few seconds must equal fits without a cluster. Figures are printed at
the end. Exit status 1 when anything was lost, doubled or different.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path

from tests.soak import cluster, stream


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("what", choices=["stream", "cluster"])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**40))
    parser.add_argument(
        "--disk", type=Path, help="a small file system of its own, to be filled by `stream`"
    )
    options = parser.parse_args()
    if options.what == "cluster":
        return cluster.soak(options.minutes, options.seed)
    return stream.soak(options.minutes, options.seed, options.disk)


if __name__ == "__main__":
    sys.exit(main())
