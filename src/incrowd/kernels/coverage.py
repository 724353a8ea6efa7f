"""Which keys cover which records of another table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.grouping import group_members
from incrowd.kernels.jit import compiled, over_ranges

__all__ = ["covered_weights"]


@compiled
def _candidates(match, starts, counts):
    """Count the keys whose label covers each value."""
    for value in range(match.shape[0]):
        for label in range(match.shape[1]):
            if match[value, label]:
                counts[value] += starts[label + 1] - starts[label]


@compiled
def _cover(
    start, stop, keys, match, offsets, labels, counts, values, starts, label_offset, members, records, weights
):
    attributes = keys.shape[1]
    covered = np.zeros(keys.shape[0], np.int64)
    outside = 0
    for record in range(start, stop):
        # Walk over the keys that the most selective attribute leaves, and look at the others.
        chosen = 0
        for j in range(1, attributes):
            if counts[values[j] + records[record, j]] < counts[values[chosen] + records[record, chosen]]:
                chosen = j
        found = False
        row = offsets[chosen] + records[record, chosen] * labels[chosen]
        for label in range(labels[chosen]):
            if not match[row + label]:
                continue
            base = label_offset[chosen] + label
            for position in range(starts[base], starts[base + 1]):
                key = members[chosen, position]
                fits = True
                for j in range(attributes):
                    if not match[offsets[j] + records[record, j] * labels[j] + keys[key, j]]:
                        fits = False
                        break
                if fits:
                    covered[key] += weights[record]
                    found = True
        if not found:
            outside += weights[record]
    return covered, outside


def covered_weights(
    keys: Sequence[NDArray[np.unsignedinteger]],
    matches: Sequence[NDArray[np.bool_]],
    records: Sequence[NDArray[np.unsignedinteger]],
    weights: NDArray[np.int64],
) -> tuple[NDArray[np.int64], int]:
    """Add up the weights of the records that each key covers.

    Parameters
    ----------
    keys
        Per attribute the label of each key: uint[keys].
    matches
        Per attribute whether a label covers a value: bool[values, labels].
    records
        Per attribute the value of each record: uint[records].
    weights
        int64[records]

    Returns
    -------
    covered
        int64[keys]
    outside
        Weight of the records that no key covers.
    """
    labels = np.array([match.shape[1] for match in matches])
    sizes = np.array([match.size for match in matches])
    values = np.array([match.shape[0] for match in matches])
    counts, starts, members = [], [], []
    for match, codes in zip(matches, keys, strict=True):
        indptr, ordered = group_members(codes.astype(np.int64), match.shape[1])
        count = np.zeros(match.shape[0], np.int64)
        _candidates(match, indptr, count)
        counts.append(count)
        starts.append(indptr)
        members.append(ordered)
    before = lambda amounts: np.concatenate(([0], np.cumsum(amounts)[:-1]))  # noqa: E731
    work = np.arange(len(weights) + 1, dtype=np.int64) * 50
    results = over_ranges(
        _cover,
        work,
        np.column_stack([codes.astype(np.int64) for codes in keys]),
        np.concatenate([match.ravel() for match in matches]),
        before(sizes),
        labels,
        np.concatenate(counts),
        before(values),
        np.concatenate(starts),
        before(labels + 1),
        np.array(members),
        np.column_stack([codes.astype(np.int64) for codes in records]),
        weights,
    )
    covered = np.sum([result[0] for result in results], axis=0)
    return covered, int(sum(result[1] for result in results))
