"""`incrowd warm`: compile all kernels."""

from __future__ import annotations

from incrowd.faces.cli.logs import LOG
from incrowd.faces.cli.tables import progress


def warm() -> None:
    """Compile all loops now, so that no later run waits.

    It is kept for this Python on this machine.
    """
    from incrowd.core.kernels import warming

    with progress() as job:
        ready = warming.warm(job)
    LOG.say(f"{ready} kernels are ready")
