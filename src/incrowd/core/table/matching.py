"""The rule by which `*` and missing cells match others."""

from __future__ import annotations

from collections.abc import Sequence

from incrowd.core.lazy import NDArray, np
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.wildcard_classes import Column, WildcardClasses


def are_wildcards(texts: Sequence[str | None]) -> NDArray[np.bool_]:
    """Say which cells are `*` or missing: bool[texts]."""
    return np.array([text is None or text == "*" for text in texts], np.bool_)


def matched(
    classes: EquivalenceClasses, wildcards: str, texts: Sequence[Sequence[str | None]] | None = None
) -> EquivalenceClasses:
    """Return the classes counted under the wildcard rule for `*` and missing cells.

    Example: four records have the cells (30, M), (30, M), (30, *) and (*, M). By ``value`` the classes have
    2, 1 and 1 records. By ``matches-any`` they have 4, 4 and 4, since each record could be any other. By
    ``conservative`` they have 2, 1 and 1; of two records (30, *) each would count alone.

    Parameters
    ----------
    classes
        Classes whose cells are known, as those of a table as it stands.
    wildcards
        One of `WILDCARDS`.
    texts
        The cells of each quasi-identifier, where they are not the values of its domain.

    Notes
    -----
    ``matches-any`` is how sdcMicro counts missing values (`freqCalc`) and ARX samples with wildcards
    (`RiskModelSampleWildcard`). ``conservative`` is how SQL compares missing values: they equal nothing. A
    column of which nothing but such cells is left tells nobody apart, so it is passed over there.

    A suppressed record is in no class and matches none, whatever is asked for.
    """
    if wildcards == "value" or classes.codes is None:
        return classes
    if texts is None:
        values = {domain.name: domain.values for domain in classes.frequency.domains}
        texts = [values[name] for name in classes.names]
    columns = [
        Column(codes, len(cells), are_wildcards(cells))
        for cells, codes in zip(texts, classes.codes, strict=True)
    ]
    if not any(column.hidden[column.codes].any() for column in columns):
        return classes
    if wildcards == "conservative":
        columns = [column.without_wildcards_alone() for column in columns]
    return WildcardClasses(classes, wildcards, columns)
