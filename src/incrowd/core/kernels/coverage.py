"""Weights of the records covered by each generalized key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.grouping import group_members
from incrowd.core.kernels.jit import compiled, over_ranges


class _Labels(NamedTuple):
    """Lookup tables of labels, by attribute j: covered values, and keys with the label.

    ``match[offsets[j] + value * labels[j] + label]`` is whether a label covers a value, and
    ``counts[values[j] + value]`` the number of keys with a label that covers the value. The keys of a label
    are ``members[j, i]`` for i from ``starts[first[j] + label]`` to the start of the next label.
    """

    match: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    labels: NDArray[np.int64]
    counts: NDArray[np.int64]
    values: NDArray[np.int64]
    starts: NDArray[np.int64]
    first: NDArray[np.int64]
    members: NDArray[np.int64]


@compiled
def _candidates(match, starts, counts):
    """Count the keys with a label that covers each value."""
    for value in range(match.shape[0]):
        for label in range(match.shape[1]):
            if match[value, label]:
                counts[value] += starts[label + 1] - starts[label]


@compiled
def _cover(start, stop, keys, tables, records, weights):
    match, offsets, labels = tables.match, tables.offsets, tables.labels
    counts, values, starts = tables.counts, tables.values, tables.starts
    attributes = keys.shape[1]
    covered = np.zeros(keys.shape[0], np.int64)
    outside = 0
    for record in range(start, stop):
        # Walk over the keys selected by the most selective attribute, and test the other attributes.
        attribute = 0
        for j in range(1, attributes):
            if (
                counts[values[j] + records[record, j]]
                < counts[values[attribute] + records[record, attribute]]
            ):
                attribute = j
        is_covered = False
        row = offsets[attribute] + records[record, attribute] * labels[attribute]
        for label in range(labels[attribute]):
            if not match[row + label]:
                continue
            base = tables.first[attribute] + label
            for position in range(starts[base], starts[base + 1]):
                key = tables.members[attribute, position]
                fits = True
                for j in range(attributes):
                    if not match[offsets[j] + records[record, j] * labels[j] + keys[key, j]]:
                        fits = False
                        break
                if fits:
                    covered[key] += weights[record]
                    is_covered = True
        if not is_covered:
            outside += weights[record]
    return covered, outside


def covered_weights(
    keys: Sequence[NDArray[np.unsignedinteger]],
    matches: Sequence[NDArray[np.bool_]],
    records: Sequence[NDArray[np.unsignedinteger]],
    weights: NDArray[np.int64],
) -> tuple[NDArray[np.int64], int]:
    """Sum the weights of the records covered by each key::

        key 0 = (20-29, *)    covers records 1 (25, m) and 2 (28, f)
        key 1 = (20-39, f)    covers records 2 (28, f) and 3 (31, f)

    Record 2 counts for both keys.

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
    tables = _Labels(
        match=np.concatenate([match.ravel() for match in matches]),
        offsets=before(sizes),
        labels=labels,
        counts=np.concatenate(counts),
        values=before(values),
        starts=np.concatenate(starts),
        first=before(labels + 1),
        members=np.array(members),
    )
    results = over_ranges(
        _cover,
        work,
        np.column_stack([codes.astype(np.int64) for codes in keys]),
        tables,
        np.column_stack([codes.astype(np.int64) for codes in records]),
        weights,
    )
    covered = np.sum([result[0] for result in results], axis=0)
    return covered, int(sum(result[1] for result in results))
