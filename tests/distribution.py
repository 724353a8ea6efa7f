"""Which process of a run takes which tests."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

__all__ = ["FilesAndSpark"]

ON_SPARK = ("release/jobs/test_distributed.py", "fuzz/test_cases.py")
"""Files of tests on the session of Spark, beside those whose names say so."""
CLUSTER = "release/jobs/test_spark_cluster.py"
"""Has processes of its own and no use for the session; it waits for them half of its time."""


LONG = (
    "fuzz/test_commands.py", "core/kernels/test_cache.py", "faces/studio/test_studio_hostile.py",
    "faces/studio/test_studio_for_all.py", "/test_contributing.py",
)  # fmt: skip
"""Files of few tests that take long. At the end of a run one process alone would wait for them."""


class FilesAndSpark(LoadFileScheduling):
    """A file's tests stay in one process, and all that need Spark in one, which begins with them.

    A session takes long to start and long to become fast, so there is one. Its tests are the longest
    part of a run that cannot be shared out. The next process begins with the cluster.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if file.endswith(CLUSTER):
            return "cluster"
        return "spark" if "spark" in nodeid.lower() or file.endswith(ON_SPARK) else file

    def _assign_work_unit(self, node) -> None:
        long = [file for file in self.workqueue if file.endswith(LONG)]
        for first in (*long, "cluster", "spark"):
            if first in self.workqueue:
                self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)
