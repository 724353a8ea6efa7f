"""Which process of a run takes which tests."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

__all__ = ["FilesAndSpark"]

ON_SPARK = ("jobs/test_distributed.py", "fuzz/test_cases.py")
"""Files of tests on Spark, beside those whose names say so."""


class FilesAndSpark(LoadFileScheduling):
    """A file's tests stay in one process, and all that need Spark in one, which begins with them.

    A session takes long to start and long to become fast, so there is one. Its tests are the longest
    part of a run that cannot be shared out.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "spark" if "spark" in nodeid.lower() or file.endswith(ON_SPARK) else file

    def _assign_work_unit(self, node) -> None:
        if "spark" in self.workqueue:
            self.workqueue.move_to_end("spark", last=False)
        super()._assign_work_unit(node)
