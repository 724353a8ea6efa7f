"""A driver as a separate process, so that a test can kill a worker during a job.

``python spark_driver.py MASTER INPUT`` takes jobs as lines of JSON, ``{"folder": ..., "blocks": ...}``. For each it
releases the rows of INPUT to the folder's ``first``, and once more to ``second``, where a partition is held up: one
of the raw rows where the release is made in blocks, one of the released rows, while it is written, where it is not.
What happened is a line of JSON each.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent))
warnings.simplefilter("ignore")

import incrowd as ic  # noqa: E402
from incrowd.engines.spark import in_random_order  # noqa: E402
from spark_session import local_session  # noqa: E402


def schema() -> ic.Schema:
    return ic.Schema(
        quasi={"age": None, "sex": None, "zip": ic.Hierarchy.prefix()},
        sensitive=["diagnosis"],
        insensitive=["id"],
    )


MODELS = (ic.KAnonymity(5), ic.LDiversity(2))


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def held_up(table, folder: str):
    """The same rows, where a partition announces the process, and waits until a worker was killed."""

    def wait(batches):
        flags = Path(folder) / "flags"
        (flags / f"begun-{os.getpid()}").touch()
        until = time.monotonic() + 120
        while not (flags / "killed").exists() and time.monotonic() < until:
            time.sleep(0.02)
        yield from batches

    return table.mapInArrow(wait, table.schema)


def release(table, target: str, blocks: int | None) -> None:
    """Release the rows, and report the outcome."""
    algorithm = ic.Mondrian() if blocks else ic.Optimal()
    try:
        # Each row is looked for in what is written, so that suppressed ones stay.
        result = ic.anonymize(
            table,
            schema(),
            MODELS,
            algorithm,
            max_suppression=0.1,
            suppressed="keep",
            blocks=blocks,
            unanswered="write",
        )
        result.write(target)
    except ic.IncrowdError as error:
        say(json.dumps({"error": type(error).__name__, "text": str(error)}))
    else:
        say(json.dumps({"classes": result.privacy.classes, "ncp": result.utility["ncp"].value}))


def main(master: str, source: str) -> None:
    """Release the rows twice for each job: unchanged, and held up."""
    session = local_session(
        master,
        spark_executor_memory="512m",
        spark_driver_memory="1g",
        spark_executor_cores="1",
        spark_cores_max="2",
    )
    rows = session.read.parquet(source)
    for line in sys.stdin:
        job = json.loads(line)
        folder, blocks = job["folder"], job["blocks"]
        release(rows, f"{folder}/first", blocks)
        if blocks:
            release(held_up(rows.repartition(6), folder), f"{folder}/second", blocks)
            continue

        def reordered(rows, folder=folder):
            return held_up(in_random_order(rows), folder)

        with patch("incrowd.engines.spark.in_random_order", reordered):
            release(rows, f"{folder}/second", blocks)


if __name__ == "__main__":
    main(*sys.argv[1:])
