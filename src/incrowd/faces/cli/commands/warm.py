"""`incrowd warm`: compile kernels."""

from __future__ import annotations

from incrowd.faces.cli.logs import LOG
from incrowd.faces.cli.options import AlgorithmName


def warm(algorithm: AlgorithmName = None) -> None:
    """Compile all loops, or an algorithm's, so that no run waits.

    It is kept for this Python on this machine.
    """
    from incrowd.core.kernels import warming
    from incrowd.faces.cli.tables import progress
    from incrowd.search import ALGORITHMS

    with progress() as job:
        ready = warming.warm(job, algorithm and ALGORITHMS.parse(algorithm).name)
    LOG.say(f"{ready} kernels are ready")
