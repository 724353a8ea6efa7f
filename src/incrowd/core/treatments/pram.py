"""PRAM: the post-randomization method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments._perturbing import Perturbing, uniform_of
from incrowd.core.treatments.base import Batch, Distinct

if TYPE_CHECKING:
    from incrowd.core.treatments.keys import Secret


@dataclass(frozen=True)
class Pram(Perturbing):
    """Replace categories at random: a value stays, or is drawn anew.

    With a probability of `stay` a value stays. Otherwise it is drawn from all categories: by their
    frequencies in the table (``invariant``), or each as likely as the others (``uniform``). With an invariant
    matrix the expected frequencies are those before, so tables count as they did. A uniform one lets
    `estimate` undo the change of the frequencies. Draws are made anew for every release and have no seed.

    Parameters
    ----------
    stay
        Probability with which a value is not drawn anew.
    matrix
        ``invariant``, ``uniform``, or ``given`` for a matrix of your own.
    moves
        The given matrix: how probable it is that a value becomes another, as ``ill>well:0.1; well>ill:0.2``.
        With what is left a value stays, so `stay` is 1.
    within
        A column in whose groups values are drawn; it has to be released as it is.

    Examples
    --------
    >>> import incrowd as ic
    >>> ic.Pram(0.8, within="region").spec()
    {'pram': 0.8, 'within': 'region'}
    >>> found = ic.Pram(0.8, matrix="uniform").estimate({"a": 82, "b": 18})
    >>> {name: round(records) for name, records in found.items()}
    {'a': 90, 'b': 10}

    References
    ----------
    Gouweleeuw, Kooiman, Willenborg and de Wolf, Post randomisation for statistical disclosure control: theory
    and implementation, Journal of Official Statistics 14(4), 1998.
    """

    stay: float = parameter("probability that a value is not drawn anew", kind=float, low=0, high=1)
    matrix: str = parameter(
        "drawn by frequency, or each value as likely",
        kind=str,
        choices=("invariant", "uniform", "given"),
        default="invariant",
    )
    moves: str | None = parameter("the given matrix, as ill>well:0.1; well>ill:0.2", kind=str, optional=True)
    within: str | None = parameter("column in whose groups is drawn", kind=str, optional=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.matrix == "given") != (self.moves is not None):
            raise ParameterError(f"{self.name}: matrix = 'given' and moves go together")
        if self.moves is not None:
            if self.stay != 1:
                raise ParameterError(f"{self.name}: moves say how often a value stays; give 1 for stay")
            self._read_moves()

    def _read_moves(self) -> dict[str, dict[str, float]]:
        """Return the given matrix: the probability of each other value, by value."""
        matrix: dict[str, dict[str, float]] = {}
        for part in (self.moves or "").split(";"):
            pair, colon, chance = part.strip().rpartition(":")
            source, arrow, target = (text.strip() for text in pair.partition(">"))
            try:
                number = float(chance) if colon and arrow else -1.0
            except ValueError:
                number = -1.0
            if not 0 <= number <= 1 or not source or source == target:
                raise ParameterError(
                    f"{self.name}: moves are written value>other:probability, with ; between, as ill>well:0.1"
                )
            row = matrix.setdefault(source, {})
            if target in row or math.fsum([*row.values(), number]) > 1 + 1e-12:
                raise ParameterError(
                    f"{self.name}: moves of one value name another twice, or have more than 1 together"
                )
            row[target] = number
        return matrix

    name: ClassVar[str] = "pram"
    summary: ClassVar[str] = "replaces categories at random, so that expected frequencies stay as they are"
    paper: ClassVar[str] = "Gouweleeuw et al. 1998"
    unlinked: ClassVar[str] = (
        "every row is drawn by itself; take record-swap with together, which moves columns together"
    )
    no_promise: ClassVar[str] = (
        "Most values are still the right ones, and a rare one that stayed is as rare as before."
    )

    @property
    def promise(self) -> str:
        """Say how often a value stays."""
        if self.matrix == "given":
            return "becomes another value with given probabilities"
        by = "by its frequencies" if self.matrix == "invariant" else "with each value as likely"
        groups = f" in each group of {self.within}" if self.within else ""
        return f"keeps a value with a probability of {self.stay:.0%} and else has it drawn {by}{groups}"

    def learn(self, found: Distinct, secret: Secret | None) -> dict[str, Any]:
        """Decide by which frequencies values are drawn."""
        moves = self._read_moves() if self.matrix == "given" else {}
        values = set(found.values)
        unknown = len({*moves, *(to for row in moves.values() for to in row)} - values)
        if unknown:
            raise ParameterError(
                f"column {found.column!r}: {unknown} of the values of {self.name} (moves) are not in the "
                "column; correct their spelling"
            )
        groups = [dict(zip(("group", "values", "records"), part, strict=True)) for part in found.by_group()]
        return {"frequencies": [entry for entry in groups if entry["values"]]}

    def check_batch(self, found: Distinct, decided: Mapping[str, Any], secret: Secret | None) -> None:
        """Raise for groups that the first table lacks, which have no frequencies to draw from."""
        groups = {entry["group"] for entry in decided["frequencies"]}
        new = sum(group not in groups for group, _, _ in found.by_group())
        if new:
            raise ParameterError(
                f"column {found.column!r}: {self.name} has no frequencies for {new:,} groups of "
                f"{self.within}; anonymize both tables together"
            )

    def treat(self, batch: Batch) -> pl.Series:
        """Draw the rows."""
        assert batch.draws is not None
        drawn = uniform_of(batch.draws)
        if self.matrix == "given":
            return self._move(batch.values, drawn)
        anew = drawn >= self.stay
        # The remainder of the draw, stretched to 0..1, chooses the value.
        rest = (drawn - self.stay) / (1.0 - self.stay) if self.stay < 1 else drawn
        chosen: pl.Expr = pl.lit(pl.Series([None] * len(batch.values), dtype=pl.String))
        for entry in batch.decided["frequencies"]:
            records = np.array(entry["records"], np.float64)
            weights = records if self.matrix == "invariant" else np.ones(len(records))
            ends = np.cumsum(weights) / weights.sum()
            ranks = np.minimum(np.searchsorted(ends, rest, side="right"), len(ends) - 1)
            values = pl.lit(pl.Series(entry["values"], dtype=pl.String).gather(ranks))
            if self.within is not None:
                group = pl.lit(entry["group"], dtype=pl.String)
                in_group = pl.lit(batch.beside[self.within]).eq_missing(group)
                values = pl.when(in_group).then(values).otherwise(chosen)
            chosen = pl.lit(pl.select(values).to_series())
        keep = ~pl.lit(pl.Series(anew)) | pl.lit(batch.values.is_null())
        return pl.select(pl.when(keep).then(pl.lit(batch.values)).otherwise(chosen)).to_series()

    def _move(self, values: pl.Series, drawn: NDArray[np.float64]) -> pl.Series:
        """Move values by the given matrix."""
        moved = values
        for source, row in self._read_moves().items():
            ranks = np.searchsorted(np.cumsum(list(row.values())), drawn, side="right")
            targets = pl.Series([*row, source], dtype=pl.String).gather(np.minimum(ranks, len(row)))
            is_source = pl.lit(values).eq_missing(pl.lit(source))
            moved = pl.select(pl.when(is_source).then(pl.lit(targets)).otherwise(pl.lit(moved))).to_series()
        return moved

    def transition(self, values: Sequence[str], records: Sequence[int]) -> NDArray[np.float64]:
        """Return the transition matrix: the probability that a value (row) becomes another (column).

        Parameters
        ----------
        values, records
            The values of the column, or of a group of `within`, and how many records have each.

        Examples
        --------
        >>> import incrowd as ic
        >>> ic.Pram(0.6).transition(["a", "b"], [3, 1]).round(2).tolist()
        [[0.9, 0.1], [0.3, 0.7]]
        """
        if self.matrix == "given":
            rank_of = {value: number for number, value in enumerate(values)}
            matrix = np.eye(len(values))
            for source, row in self._read_moves().items():
                for target, chance in row.items():
                    if source in rank_of and target in rank_of:
                        matrix[rank_of[source], rank_of[target]] += chance
                        matrix[rank_of[source], rank_of[source]] -= chance
            return matrix
        weights = np.array(records, np.float64) if self.matrix == "invariant" else np.ones(len(values))
        drawn = weights / weights.sum()
        return np.asarray(self.stay * np.eye(len(values)) + (1.0 - self.stay) * drawn, np.float64)

    def estimate(self, released: Mapping[str, int]) -> dict[str, float]:
        """Estimate how many records had each value before, without bias.

        Parameters
        ----------
        released
            How many records have each value in the release, all values of the table before among them.
        """
        if self.matrix == "invariant":
            return {value: float(records) for value, records in released.items()}
        if self.matrix == "given":
            return self._solve(released)
        if self.stay == 0:
            raise ParameterError(f"{self.name}: where no value stays, nothing can be estimated")
        drawn = (1.0 - self.stay) * sum(released.values()) / max(len(released), 1)
        return {value: (records - drawn) / self.stay for value, records in released.items()}

    def _solve(self, released: Mapping[str, int]) -> dict[str, float]:
        """Estimate the raw frequencies that the given matrix turns into the released frequencies."""
        moves = self._read_moves()
        values = list(dict.fromkeys([*released, *moves, *(to for row in moves.values() for to in row)]))
        matrix = self.transition(values, [released.get(value, 0) for value in values])
        if abs(np.linalg.det(matrix)) < 1e-9:
            raise ParameterError(
                f"{self.name}: the given matrix cannot be undone, so nothing can be estimated"
            )
        counted = np.array([float(released.get(value, 0)) for value in values])
        return dict(zip(values, np.linalg.solve(matrix.T, counted).tolist(), strict=True))
