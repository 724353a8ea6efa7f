"""pMSE: how well a model tells the raw records from the released ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

from incrowd.core.lazy import np, pd
from incrowd.release.analyses.analysis import Analysis
from incrowd.release.analyses.cells import Sheet

_LEVELS = 50
"""Categories of a column that have a coefficient of their own."""


class Propensity(NamedTuple):
    """The mean squared error of propensities.

    Attributes
    ----------
    pmse
        The mean squared distance of the propensity from the share of released records: 0 for tables that
        nobody tells apart.
    ratio
        The same as a multiple of what it is on average for a table that is another draw of the same people.
    model
        The model of the propensity, in words.
    """

    pmse: float
    ratio: float
    model: str

    @property
    def sentence(self) -> str:
        """The ratio in a sentence."""
        return (
            f"A model that tells raw from released records ({self.model}) has a pMSE of {self.pmse:.2g}, "
            f"{self.ratio:.2g} times what chance gives."
        )


def propensity(before: Sheet, after: Sheet, columns: Sequence[str]) -> Propensity | None:
    """Return the pMSE of a logistic regression with main effects, or None without a common column.

    References
    ----------
    Snoke, Raab, Nowok, Dibben and Slavkovic, General and specific utility measures for synthetic data,
    Journal of the Royal Statistical Society A 181(3), 2018, theorem 1 for the null.
    """
    import statsmodels.api as sm

    columns = [name for name in columns if name in after.columns]
    read = Analysis("pMSE", function=dict, columns=tuple(columns)) if columns else None
    sides = []
    for sheet in (before, after):
        rows = sheet.complete(columns)
        if read is None or not len(rows):
            return None
        sides.append(next(sheet.frames(read, rows)))
    stacked = pd.concat(sides, ignore_index=True)
    for name in columns:
        if stacked[name].dtype.kind not in "fi":
            texts = stacked[name].astype(str)
            frequent = texts.value_counts().index[:_LEVELS]
            stacked[name] = texts.where(texts.isin(frequent), "\0other")
    design = pd.get_dummies(stacked, drop_first=True, dtype=float).to_numpy()
    spread = design.std(axis=0)
    design = sm.add_constant(
        (design - design.mean(axis=0))[:, spread > 0] / spread[spread > 0], has_constant="add"
    )
    released = np.repeat([0.0, 1.0], [len(sides[0]), len(sides[1])])
    share = float(released.mean())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        chance = sm.GLM(released, design, family=sm.families.Binomial()).fit().fittedvalues
    pmse = float(((chance - share) ** 2).mean())
    parameters = int(np.linalg.matrix_rank(design))
    null = (parameters - 1) * (1 - share) ** 2 * share / len(released)
    return Propensity(pmse, pmse / null if null else 1.0, "logistic regression with main effects")
