"""A driver as a process of its own, so that a test can kill a worker while it waits for its job.

``python spark_driver.py MASTER INPUT OUTPUT BLOCKS SLOW``; what happened is printed as one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
warnings.simplefilter("ignore")

import polars as pl  # noqa: E402

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


def main(master: str, source: str, target: str, blocks: str, slow: str) -> None:
    session = local_session(
        master,
        spark_executor_memory="512m",
        spark_driver_memory="1g",
        spark_executor_cores="1",
        spark_cores_max="2",
    )
    say("ready")
    table = session.read.parquet(source)
    known = ic.Mondrian() if blocks else ic.Optimal()
    try:
        if float(slow):
            # Not before it is to be written: what is slow is slow again for every look at the rows.
            table = slowed(table.repartition(6), float(slow), target + ".begun")
        release = ic.anonymize(
            table, schema(), MODELS, known, max_suppression=0.1, blocks=int(blocks) if blocks else None
        )
        release.write(target)
    except ic.IncrowdError as error:
        say(json.dumps({"error": type(error).__name__, "text": str(error)}))
        return
    figures = {"classes": release.privacy.classes, "ncp": release.utility["ncp"].value}
    figures["rows"] = len(pl.read_parquet(f"{target}/*.parquet"))
    say(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
