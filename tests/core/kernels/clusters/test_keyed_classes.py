"""Points are cut in two at the largest saving, read again over all cuts."""

import numpy as np
import pytest

from incrowd.core.kernels.clusters.keyed_classes import Cells, halve


def numbers(*sizes):
    """Cells of numbers: ranks lo .. hi cost 10 for each step in between, and 3."""
    about = np.zeros((len(sizes), 6), np.int64)
    values = [10 * np.arange(size) for size in sizes]
    for j in range(len(sizes)):
        # Kind 0 is a number; no rank is the missing one.
        about[j] = 0, sum(sizes[:j]), sizes[j], -1, 10**6, 3
    return Cells(about, np.concatenate(values).astype(np.int64))


def cost(column):
    return len(column) * (10 * (max(column) - min(column)) + 3) if min(column) < max(column) else 0


def cuts(points, factors):
    """The saving of a cut at the median of each attribute, with the points below the cut."""
    for j, factor in enumerate(factors):
        column = sorted(point[j] for point in points)
        if column[0] == column[-1]:
            continue
        median = column[len(column) // 2]
        bar = median if column[0] < median else median + 1
        below = [i for i, point in enumerate(points) if point[j] < bar]
        left = [points[i][j] for i in below]
        right = [point[j] for point in points if point[j] >= bar]
        yield factor * (cost(column) - cost(left) - cost(right)), below


@pytest.mark.parametrize("seed", range(30))
def test_the_best_median_cuts(seed):
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 9, 3)
    ranks = random.integers(0, sizes, (int(random.integers(2, 60)), 3))
    ranks[:, 0] = ranks[0, 0]
    factors = random.uniform(0.5, 1.5, 3)
    members = np.arange(len(ranks))
    below = halve(ranks, members, numbers(*sizes.tolist()), factors)
    result = list(cuts(ranks.tolist(), factors.tolist()))
    if not result:
        assert below == 0
        return
    _, best = max(result, key=lambda cut: cut[0])
    assert members[:below].tolist() == best
    # Both sides stand in their old order.
    assert members[below:].tolist() == [i for i in range(len(ranks)) if i not in best]
    assert 0 < below < len(ranks)


def test_only_the_points_that_are_named_are_cut():
    ranks = np.array([[0], [9], [5], [9], [1], [0]])
    members = np.array([2, 4, 5])
    assert halve(ranks, members, numbers(10), np.ones(1)) == 1
    assert members.tolist() == [5, 2, 4]


def test_points_that_are_all_alike_are_not_cut():
    members = np.arange(5)
    assert halve(np.ones((5, 2), np.int64), members, numbers(3, 3), np.ones(2)) == 0
    assert members.tolist() == [0, 1, 2, 3, 4]


def test_of_many_points_a_sample_says_where():
    ranks = np.random.default_rng(3).permutation(20_000).reshape(-1, 1)
    below = halve(ranks, np.arange(20_000), numbers(20_000), np.ones(1))
    assert 8_000 < below < 12_000


def test_points_that_no_sample_sees_are_cut_all_the_same():
    ranks = np.zeros((100_000, 1), np.int64)
    ranks[1] = 1
    members = np.arange(100_000)
    assert halve(ranks, members, numbers(2), np.ones(1)) == 99_999
    assert members[-1] == 1
