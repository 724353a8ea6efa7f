"""A real Spark cluster on loopback: a master and two workers, each a separate process."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from spark_session import SHORT_LIVED, SOURCES

__all__ = ["Cluster", "cluster"]


@dataclass
class Cluster:
    """The master's address, and the workers' processes."""

    folder: Path
    master: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a master or a worker in a separate session, with output to a file."""
        import pyspark

        home = Path(pyspark.__file__).parent
        script = home / "bin" / "spark-class"
        log = (self.folder / f"{kind}{len(self.processes)}.log").open("wb")
        process = subprocess.Popen(
            [
                "bash",
                str(script),
                f"org.apache.spark.deploy.{kind.lower()}.{kind}",
                "--host",
                "127.0.0.1",
                *arguments,
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ
            | {
                "SPARK_HOME": str(home),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_WORKER_DIR": str(self.folder / "work"),
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
                "PYTHONPATH": SOURCES,
                "PYSPARK_PYTHON": sys.executable,
            },
        )
        log.close()
        self.processes.append(process)
        return process

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker of a single core, and wait until the master knows the worker."""
        worker = self.start("Worker", "--cores", "1", "--memory", "1g", "--webui-port", "0", self.master)
        self.said(worker, "Worker", r"(Successfully registered with master)")
        return worker

    def said(self, process: subprocess.Popen[bytes], kind: str, pattern: str, seconds: float = 90) -> str:
        """Wait until a process has written something."""
        log = self.folder / f"{kind}{self.processes.index(process)}.log"
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            match = re.search(pattern, log.read_text(errors="replace"))
            if match:
                return match[1]
            assert process.poll() is None, f"the {kind} ended: {log.read_text(errors='replace')[-2000:]}"
            time.sleep(0.1)
        raise AssertionError(f"the {kind} did not start: {log.read_text(errors='replace')[-2000:]}")

    def worker_of(self, pid: int) -> int:
        """Return the number of the worker that a process works for."""
        return next(number for number, worker in enumerate(self.workers) if pid in _below(worker.pid))

    def kill_worker(self, number: int) -> None:
        """Kill a worker, with all executors and Python processes, at once, as a power cut would."""
        descendants = _below(self.workers[number].pid)
        for pid in [self.workers[number].pid, *descendants]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """End everything that was started here."""
        for process in reversed(self.processes):
            for pid in [process.pid, *_below(process.pid)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait(30)


def _below(pid: int) -> list[int]:
    """Return the processes below a process, at any depth."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                status = (entry / "stat").read_text()
                children.setdefault(int(status.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    result, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        result += below
        waiting += below
    return result


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start a master and workers of a single core each, none of which outlives the block."""
    result = Cluster(folder)
    try:
        master = result.start("Master", "--port", "0", "--webui-port", "0")
        result.master = result.said(master, "Master", r"Starting Spark master at (spark://\S+)")
        result.workers = [result.add_worker() for _ in range(workers)]
        yield result
    finally:
        result.stop()
