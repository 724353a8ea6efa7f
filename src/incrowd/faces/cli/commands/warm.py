"""`incrowd warm`: compile all kernels."""

from __future__ import annotations

from incrowd.faces.cli.logs import LOG


def warm() -> None:
    """Compile all loops now, so that no later run waits.

    It is kept for this Python on this machine.
    """
    from incrowd.core.kernels import warming
    from incrowd.faces.cli.tables import progress

    with progress() as job:
        ready = warming.warm(job)
    LOG.say(f"{ready} kernels are ready")
