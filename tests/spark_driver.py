"""A driver as a process of its own, so that a test can kill a worker while it waits for its job.

``python spark_driver.py MASTER INPUT FOLDER BLOCKS SECONDS`` releases the rows of INPUT to FOLDER/first, and once
more, each look at a partition taking so many seconds, to FOLDER/second; what happened is a line of JSON each.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
warnings.simplefilter("ignore")

import incrowd as ic  # noqa: E402
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


def slowed(table, seconds: float, flag: str):
    """The same rows, of which every partition takes its time and says that it has begun."""

    def wait(batches):
        Path(flag).touch()
        time.sleep(seconds)
        yield from batches

    return table.mapInArrow(wait, table.schema)


def main(master: str, source: str, targets: str, blocks: str, slow: str) -> None:
    """Release the rows twice: as they are, and slowed."""
    session = local_session(
        master,
        spark_executor_memory="512m",
        spark_driver_memory="1g",
        spark_executor_cores="1",
        spark_cores_max="2",
    )
    algorithm = ic.Mondrian() if blocks else ic.Optimal()
    rows = session.read.parquet(source)
    for target, seconds in ((targets + "/first", 0.0), (targets + "/second", float(slow))):
        table = slowed(rows.repartition(6), seconds, target + ".begun") if seconds else rows
        try:
            release = ic.anonymize(
                table,
                schema(),
                MODELS,
                algorithm,
                max_suppression=0.1,
                blocks=int(blocks) if blocks else None,
            )
            release.write(target)
        except ic.IncrowdError as error:
            say(json.dumps({"error": type(error).__name__, "text": str(error)}))
        else:
            say(json.dumps({"classes": release.privacy.classes, "ncp": release.utility["ncp"].value}))


if __name__ == "__main__":
    main(*sys.argv[1:])
