"""Sets as quasi-identifiers: 500,000 cells with 2 to 10 of 1,600 items, k = 5, two known items.

Run with ``python benchmarks/sets.py``. It makes baskets by a law of Zipf, with four levels of groups above
the items, releases the table, and prints seconds of processor time, memory and loss. With a number of rows it
makes as many; with ``--share 0.05`` it may leave one item of twenty out; with ``--verify`` it checks the
release.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import incrowd as ic

NAMES = [f"{chr(65 + group // 100)}{group % 100:02}.{item}" for group in range(160) for item in range(10)]


def table_of(rows: int, seed: int = 0) -> pl.DataFrame:
    """Draw baskets, in which item n is 1/n as frequent as the first."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, len(NAMES) + 1)
    lengths = rng.integers(2, 11, rows)
    drawn = rng.permutation(len(NAMES))[rng.choice(len(NAMES), lengths.sum(), p=weights / weights.sum())]
    items = pl.DataFrame({"row": np.repeat(np.arange(rows), lengths), "item": np.array(NAMES)[drawn]})
    cells = items.group_by("row", maintain_order=True).agg("item")["item"].list.join(";")
    return pl.DataFrame({"codes": cells})


def policy_of(share: float) -> ic.Policy:
    """Return the policy: a tree by prefixes of four lengths."""
    tree = ic.Hierarchy.from_paths([name, name[:3], name[:2], name[:1], "*"] for name in NAMES)
    codes = ic.Attribute("codes", "quasi", kind="set", parts=";", known=2, hierarchy=tree)
    return ic.Policy(ic.Schema.of_attributes([codes]), "k-anonymity:5", max_suppression=share)


def main() -> None:
    """Release a table, and print what it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="?", type=int, default=500_000)
    parser.add_argument("--share", type=float, default=0.0)
    parser.add_argument("--verify", action="store_true")
    given = parser.parse_args()
    table, policy = table_of(given.rows), policy_of(given.share)
    # Loops are compiled, or read from the cache, before the clock starts.
    ic.anonymize(table.head(2_000), policy_of(0.5))
    began = time.process_time()
    release = ic.anonymize(table, policy)
    took = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    sets = release.sets
    print(f"{given.rows:,} rows: {took:.1f} s of processor time, {memory:.1f} GB at most")
    print(f"loss {sets.loss:.4f}, {sets.left_out:,} of {sets.occurrences:,} items left out")
    if given.verify:
        from incrowd.release.verification import verify

        with tempfile.TemporaryDirectory() as folder:
            release.write(Path(folder) / "safe.parquet")
            policy.write(Path(folder) / "policy.toml")
            began = time.process_time()
            result = verify(Path(folder) / "safe.parquet", Path(folder) / "policy.toml")
            print(f"verify: {time.process_time() - began:.1f} s; {result.verdict.text}")


if __name__ == "__main__":
    main()
