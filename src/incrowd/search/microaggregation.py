"""Optimal univariate microaggregation."""

from __future__ import annotations

from typing import ClassVar

from incrowd.core.errors import ParameterError, named
from incrowd.core.lazy import NDArray, np
from incrowd.search.base import SearchProblem
from incrowd.search.local import LocalAlgorithm


class Microaggregation(LocalAlgorithm):
    """Groups the values of a number or date, at least k records each, with the least squared error.

    The error is made by giving every record the mean of its group. The grouping is optimal among all
    groupings with at least k records a group. If another model fails, groups are joined afterwards. Then the
    grouping was optimal before joining.

    There must be exactly one quasi-identifier, a number or a date. Of groupings with the same error, the one
    with smaller last groups is taken. Missing values count as one value beyond all others. The time grows
    with the number of records times k.

    Use the output style ``mean`` for microaggregated values.

    References
    ----------
    Hansen and Mukherjee, A polynomial algorithm for optimal univariate microaggregation, IEEE TKDE 15(4),
    2003.
    """

    name: ClassVar[str] = "microaggregation"
    summary: ClassVar[str] = "optimal groups of one number or date: least squared error to the group's mean"
    paper: ClassVar[str] = "Hansen and Mukherjee 2003"
    weighted: ClassVar[bool] = False

    def assign(self, problem: SearchProblem) -> tuple[NDArray[np.int32], int]:
        """Find the shortest path over the sorted values.

        Raises
        ------
        ParameterError
            When there is not exactly one quasi-identifier, or it is no number or date.
        """
        from incrowd.core.kernels.clusters.groups import least_squares_groups

        domains = problem.frequency.domains
        if len(domains) != 1 or not domains[0].ordered:
            columns = named(domain.name for domain in domains)
            raise ParameterError(
                f"{self.name} works on one number or date without hierarchy, not on {columns}; use mdav"
            )
        numbers = domains[0].places.copy()
        present = numbers[~np.isnan(numbers)]
        if domains[0].missing >= 0:
            numbers[domains[0].missing] = 2 * present[-1] - present[0] + 1 if len(present) else 0.0
        values = numbers[problem.frequency.codes[0]]
        order = np.argsort(values, kind="stable")
        starts = least_squares_groups(values[order], min(problem.least, len(order)))
        class_of_row = np.empty(len(order), np.int32)
        class_of_row[order] = np.searchsorted(starts, np.arange(len(order)), side="right") - 1
        return class_of_row, len(starts)
