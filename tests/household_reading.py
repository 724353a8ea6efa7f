"""Households that change places: a table, and a slow reading of the swapping."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import polars as pl

import incrowd as ic

__all__ = ["SWAP", "homes", "read", "schema_of"]

SWAP = {"household-swap": 0.4, "together": "zip+town"}


def homes(seed: int = 1, count: int = 300) -> pl.DataFrame:
    """Rows of households of one to five, in a random order, with some rows without a household."""
    rng = np.random.default_rng(seed)
    rows = []
    for home in range(count):
        place = int(rng.integers(0, 20))
        for member in range(int(rng.integers(1, 6))):
            # One household in eleven has two homes, and then its rows disagree.
            at = (place + member) % 20 if home % 11 == 0 else place
            rows.append((None if home % 13 == 0 else home, f"{at:05}", f"town {at // 2}", "ns"[home % 2]))
    order = rng.permutation(len(rows))
    frame = pl.DataFrame([rows[n] for n in order], schema=["home", "zip", "town", "site"], orient="row")
    return frame.with_columns(age=pl.lit(30), n=pl.int_range(pl.len()))


def schema_of(treatments, **roles):
    insensitive = ["zip", "town", "site", "n"]
    return ic.Schema(
        ["age"], insensitive=insensitive, treatments=treatments, **{"household": "home", **roles}
    )


def read(raw: pl.DataFrame, found: pl.DataFrame, *, within: bool = False) -> tuple[int, int]:
    """Hold a release against the definition; return how many households moved, and how many could."""
    whole = raw.select("home", "n", "site", old="zip", place="town").join(
        found.select("n", "zip", "town"), on="n"
    )
    rows = defaultdict(list)
    for home, n, site, old, place, new, town in whole.rows():
        rows[("row", n) if home is None else home].append((site, (old, place), (new, town)))
    came, left, moved, able = Counter(), Counter(), 0, 0
    for members in rows.values():
        sites, before, after = (set(each) for each in zip(*members, strict=True))
        if len(before) > 1 or (within and len(sites) > 1):
            assert all(old == new for _, old, new in members)
            continue
        assert len(after) == 1
        able += 1
        moved += before != after
        stratum = (len(members), *(sites if within else ()))
        left[(stratum, *before)] += 1
        came[(stratum, *after)] += 1
    # Each size keeps its number of households in each place: they are pairs of one size.
    assert came == left
    return moved, able
