"""Samples of surveys: errors by design, and Cox regression with weights, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from incrowd.release.sampling import covariance, weighted_cox


def by_definition(influence, strata, clusters):
    """The variance of one estimate: over strata, n / (n - 1) times the squares of what clusters differ."""
    total = 0.0
    for stratum in set(strata):
        sums = {}
        for value, own, cluster in zip(influence, strata, clusters, strict=True):
            if own == stratum:
                sums[cluster] = sums.get(cluster, 0.0) + value
        sums = np.array(list(sums.values()))
        total += len(sums) / (len(sums) - 1) * ((sums - sums.mean()) ** 2).sum()
    return total


def test_the_variance_of_strata_and_clusters_is_that_of_its_definition():
    random = np.random.default_rng(5)
    strata = random.integers(0, 3, 60)
    # Clusters of different strata have the same numbers.
    clusters = random.integers(0, 6, 60)
    influence = random.normal(size=60)
    variance = covariance(influence[:, None], strata, clusters)[0, 0]
    assert variance == pytest.approx(by_definition(influence, strata, clusters))


def test_a_record_of_weight_two_counts_twice():
    random = np.random.default_rng(6)
    times, events = random.integers(1, 9, 40).astype(float), random.integers(0, 2, 40).astype(float)
    design = random.normal(size=(40, 2))
    weights = random.integers(1, 4, 40)
    twice = np.repeat(np.arange(40), weights)
    weighted, scores, information = weighted_cox(times, events, design, weights.astype(float))
    repeated, _, other = weighted_cox(times[twice], events[twice], design[twice], np.ones(len(twice)))
    assert weighted == pytest.approx(repeated)
    assert information == pytest.approx(other)
    assert scores.sum(axis=0) == pytest.approx([0, 0], abs=1e-8)


def test_the_influence_of_a_record_is_the_slope_in_its_weight():
    random = np.random.default_rng(7)
    times, events = random.exponential(size=30), random.integers(0, 2, 30).astype(float)
    design, weights = random.normal(size=(30, 2)), random.uniform(0.5, 2, 30)
    slope, scores, information = weighted_cox(times, events, design, weights)
    influence = scores @ np.linalg.inv(information)
    for record in (0, 11, 29):
        heavier = weights.copy()
        heavier[record] *= 1 + 1e-6
        change = (weighted_cox(times, events, design, heavier)[0] - slope) / 1e-6
        assert influence[record] == pytest.approx(change, rel=1e-3, abs=1e-6)
