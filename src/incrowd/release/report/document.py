"""The document of a report: the runs of a comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from incrowd.core.errors import ParameterError


@dataclass(frozen=True, slots=True)
class ComparisonRun:
    """An algorithm under a setting, or the average of runs that differ in the seed alone.

    Attributes
    ----------
    algorithm
        The algorithm with the parameters that are not the default.
    k, l, t
        The limits of the grid, None where the grid has none.
    seed
        Of one run; None where it stands for several runs, or makes no random choices and ran once.
    runs
        How many runs it stands for.
    seconds
        Processor time, in all threads, from the counting of rows to the checked release.
    utility
        Value of every metric; empty where nothing was released.
    per_attribute
        What a cell of each quasi-identifier lost on average by the loss metric, 0..1.
    classes, smallest, suppressed
        Equivalence classes, the size of the smallest, and suppressed records.
    problem
        Why nothing was released; None where something was.
    spread
        Standard deviation over the runs of ``seconds``, each metric and each risk, where there are several.
    levels
        Of full-domain recoding: the level of each quasi-identifier. None where runs differ in them.
    risk
        Figures of the prosecutor risk and, with sensitive attributes, of attribute disclosure, by names
        such as ``prosecutor-max``.
    """

    algorithm: str
    k: int | None
    l: int | None  # noqa: E741
    t: float | None
    seed: int | None
    runs: int = 1
    seconds: float = math.nan
    utility: dict[str, float] | None = None
    classes: float | None = None
    smallest: float | None = None
    suppressed: float | None = None
    problem: str | None = None
    spread: dict[str, float] | None = None
    per_attribute: dict[str, float] | None = None
    levels: tuple[int, ...] | None = None
    risk: dict[str, float] | None = None

    def __repr__(self) -> str:
        limits = "".join(
            f", {name}={value:g}" for name in "klt" if (value := getattr(self, name)) is not None
        )
        result = f"{self.seconds:.3g} s" if self.problem is None else "no release"
        return f"ComparisonRun({self.algorithm}{limits}: {result})"

    def lost(self, metric: str) -> float:
        """Return the value of a metric.

        Raises
        ------
        ParameterError
            When nothing was released.
        """
        if self.utility is None:
            raise ParameterError(f"{self.algorithm} gave no release, so it has no figures; leave the run out")
        return self.utility[metric]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON without any value of the table."""
        document: dict[str, Any] = {"algorithm": self.algorithm}
        document |= {
            name: value
            for name, value in (("k", self.k), ("l", self.l), ("t", self.t), ("seed", self.seed))
            if value is not None
        }
        if self.problem is not None:
            return document | {"problem": self.problem}
        document |= {
            "seconds": self.seconds,
            "utility": self.utility,
            "classes": self.classes,
            "smallest": self.smallest,
            "suppressed": self.suppressed,
            "risk": self.risk,
        }
        if self.runs > 1:
            document |= {"runs": self.runs, "spread": self.spread}
        return document


class Runs(Protocol):
    """Several runs over the same table, such as a `Comparison`."""

    @property
    def records(self) -> int:
        """Rows of the table."""

    def averaged(self) -> list[ComparisonRun]:
        """Average runs that differ in the seed alone."""
