"""A lower bound of the loss of every k-anonymous recoding, to compare with the loss of a release."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import TableError
from incrowd.core.lazy import np
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import COUNT, SEED
from incrowd.core.table.schema import Schema
from incrowd.release.policy.arguments import as_schema

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable

_CERTAIN = 1.959963984540054


@dataclass(frozen=True)
class LossBound(InNotebooks):
    """A lower bound of the loss LM.

    Attributes
    ----------
    value
        The mean over records of what each loses at least, 0 to 1.
    low
        The lower end of its 95 % confidence interval where records were sampled; else the value.
    records
        Records that it was computed of.
    """

    _shown = ("value", "low", "records")

    value: float
    low: float
    records: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def loss_bound(table: Any, schema: Schema, k: int, *, sample: int = 20_000, seed: int = 0) -> LossBound:
    """Bound the loss LM of every recoding of a table into equivalence classes of k records.

    A record is in a class with k - 1 others or more. So its cells cover the one of them that it shares least
    with, and this one costs no less than the (k - 1)-th nearest of all records. No recoding that tells the
    truth and has classes of k records loses less: neither full-domain nor local recoding, nor suppression.
    How much more the best one loses is not known; to find it is NP-hard.

    Parameters
    ----------
    table
        A frame, or a path of a table.
    schema
        The columns; weights and hierarchies count as in the metric ``loss``.
    k
        Records of a class, at least.
    sample
        Records of which it is computed. More than the table has: all of them.
    seed
        Seed of the sample.

    Raises
    ------
    InputError
        When the table cannot be read or does not fit the schema, or has fewer than k records.

    References
    ----------
    Meyerson and Williams, On the complexity of optimal k-anonymity, PODS 2004 (NP-hardness; the distance of
    two records as what they have to lose together).

    Examples
    --------
    >>> import incrowd as ic, polars as pl
    >>> ages = pl.DataFrame({"age": [30, 31, 33, 40]})
    >>> round(ic.loss_bound(ages, ic.Schema(quasi=["age"]), 2).value, 3)
    0.275
    """
    from incrowd.engines import engine_for, loaded

    schema = as_schema(schema)
    k = COUNT.check(k, "loss_bound", "k")
    sample = COUNT.check(sample, "loss_bound", "sample")
    seed = SEED.check(seed, "loss_bound", "seed")
    frequency = engine_for(loaded(table)).count(schema).frequency
    if frequency.records < k:
        raise TableError(f"loss_bound: the table has {frequency.records:,} records, and a class needs {k:,}")
    return _bound(frequency, schema, k, sample, seed)


def _bound(frequency: FrequencyTable, schema: Schema, k: int, sample: int, seed: int) -> LossBound:
    from incrowd.core.kernels.clusters.keyed_classes import Points, least_costs, tabulate
    from incrowd.core.kernels.jit import over_ranges
    from incrowd.search._points import PricedKeys

    keys = PricedKeys.of_table(frequency, schema.quasi)
    costs = keys.costs
    for j, domain in enumerate(frequency.domains):
        if keys.is_set(j):
            # Two values are a set of two, which costs one value more.
            first, last = costs.nodes[j], costs.nodes[j + 1]
            costs.node_cost[first:last] //= max(domain.size - 1, 1)
    ranks = np.column_stack([codes.astype(np.int64) for codes in frequency.codes])
    weights = frequency.weights.astype(np.int64)
    whole = frequency.records <= sample
    sampled, counts = np.arange(frequency.keys), weights
    if not whole:
        random = np.random.default_rng(seed)
        of_row = random.choice(frequency.records, sample, replace=False)
        key = np.searchsorted(np.cumsum(weights), of_row, side="right")
        sampled, counts = np.unique(key, return_counts=True)
    least_loss = np.zeros(len(sampled), np.int64)
    work = np.arange(len(sampled) + 1, dtype=np.int64) * frequency.keys
    over_ranges(least_costs, work, sampled, Points(ranks, weights), tabulate(costs), k, least_loss)
    each = least_loss / max(int(costs.whole.sum()), 1)
    count = int(counts.sum())
    value = float(each @ counts) / count
    if whole:
        return LossBound(value, value, count)
    error = math.sqrt(float(counts @ (each - value) ** 2) / max(count - 1, 1) / count)
    return LossBound(value, max(value - _CERTAIN * error, 0.0), count)
