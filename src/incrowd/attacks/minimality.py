"""Minimality: the attacker asks why the algorithm did not generalize less.

Suppose that an attacker knows the algorithm, and the quasi-identifiers of everybody in the table. Under some
sensitive values the algorithm would have made another release. The attacker can rule these out.

References
----------
Wong, Fu, Wang and Pei, Minimality attack in privacy preserving data publishing, VLDB 2007.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from incrowd.attacks.base import Attack, Rate, wilson
from incrowd.attacks.kind import AttackKind
from incrowd.core.errors import InfeasibleError, ParameterError, TableError
from incrowd.core.io.columns import column_named, columns_named, nameless
from incrowd.core.io.frames import as_type, type_of_means
from incrowd.core.lazy import NDArray, np, nw, pl

if TYPE_CHECKING:
    from incrowd.release.policy.policy import Policy

_EXACT = 200
"""Assignments of a class up to which all of them are tried."""
_SAMPLED = 100
"""Assignments of a larger class that are tried."""


def minimality(raw: Any, release: Any, policy: Policy, secret: str, attacks: int, seed: int) -> Attack:
    """Try which sensitive values of a class would have led to the same release.

    The attacker knows the quasi-identifiers of everybody, and the policy with its algorithm and seed. He
    knows the sensitive values of everybody outside of the class that is attacked.

    Within the class, the sensitive values are assigned to its people in other ways. All assignments are
    tried, or 100 random ones if there are more than 200. The assignments that lead to the same release are
    equally likely.

    Parameters
    ----------
    raw, release
        The table and what the policy made of it; the release's rows may be shuffled.
    policy
        What made the release; the algorithm may be any that does not depend on time.
    secret
        The sensitive attribute.
    attacks
        About how many tables are anonymized again.

    Returns
    -------
    Success is the share of people who have the most likely value. The baseline is the most frequent value of
    their class. `Attack.figures` has:

    - ``classes``: classes that were attacked;
    - ``exact``: those of them whose assignments were all tried;
    - ``unknown``: those of them where no random assignment led to the release;
    - ``largest``: the largest probability of a sensitive value;
    - ``largest_low``, ``largest_high``: its interval, if assignments were sampled;
    - ``largest_share``: the largest share of a value in a class, which the release alone tells;
    - ``bound``: 1 / l, if the policy asks for l-diversity.

    Raises
    ------
    ParameterError
        When the algorithm works until its time is over, or has nothing to go by.
    TableError
        When the policy does not make this release of this table.
    """
    world = _World.of_table(raw, policy, secret)
    if not world.is_of(release):
        raise TableError(
            "minimality: the policy makes another release of this table; give the policy, with its "
            "algorithm and seed, and the raw table that it was made of"
        )
    random = np.random.default_rng([seed, 9])
    tables_left = attacks
    posteriors: list[_Posterior] = []
    unknown = 0
    classes = world.classes()
    for number in random.permutation(len(classes)).tolist():
        rows = classes[number]
        values = world.values[rows]
        if len(np.unique(values)) == 1:
            continue
        if tables_left <= 0:
            break
        exact = _count_assignments(values) <= _EXACT
        assignments = _assignments(values) if exact else (random.permutation(values) for _ in range(_SAMPLED))
        possible = []
        for assignment in assignments:
            tables_left -= 1
            if world.same_with(rows, assignment):
                possible.append(assignment)
        if possible:
            posteriors.append(_Posterior.of_assignments(np.array(possible), values, exact=exact))
        else:
            unknown += 1
    if not posteriors:
        raise ParameterError(
            "minimality: no class with several sensitive values could be looked at; raise attacks"
        )
    people = sum(len(posterior.truth) for posterior in posteriors)
    worst = max(posteriors, key=lambda posterior: posterior.largest.low)
    figures: dict[str, float] = {
        "classes": len(posteriors) + unknown,
        "exact": sum(posterior.exact for posterior in posteriors),
        "unknown": unknown,
        "largest": worst.largest.value,
        "largest_low": worst.largest.low,
        "largest_high": worst.largest.high,
        "largest_share": max(posterior.share for posterior in posteriors),
    }
    limits = [float(model.settings()["l"]) for model in policy.models if model.name == "l-diversity"]
    if limits:
        figures["bound"] = 1 / max(limits)
    right = sum(posterior.right for posterior in posteriors)
    usual = sum(posterior.usual for posterior in posteriors)
    return Attack("minimality", people, wilson(right, people), wilson(usual, people), None, None, figures)


@dataclass(frozen=True, slots=True)
class _Posterior:
    """The remaining assignments of a class."""

    truth: NDArray[np.int64]
    exact: bool
    largest: Rate
    share: float
    right: int
    usual: int

    @classmethod
    def of_assignments(
        cls, possible: NDArray[np.int64], truth: NDArray[np.int64], *, exact: bool
    ) -> _Posterior:
        """Weigh the assignments, int[assignments, people], that lead to the release."""
        # Chosen by one half and measured by the other, so that the largest is not largest by chance.
        choosing, measuring = (possible, possible) if exact else (possible[::2], possible[1::2])
        values = np.unique(truth)
        shares = np.array([(choosing == value).mean(axis=0) for value in values])
        person, value = map(int, np.unravel_index(shares.T.argmax(), shares.T.shape))
        guessed = measuring[:, person] == values[value]
        mean = float(guessed.mean()) if exact else 0.0
        largest = Rate(mean, mean, mean) if exact else wilson(int(guessed.sum()), len(guessed))
        guesses = values[shares.argmax(axis=0)]
        counts = Counter(truth.tolist())
        most = max(counts.values())
        return cls(truth, exact, largest, most / len(truth), int((guesses == truth).sum()), most)


_LEFT_OUT = "\0left out"
"""What a row that is not in the release has in each column."""


@dataclass(frozen=True)
class _World:
    """A table, a release of the table, and a way to release other tables by the same policy."""

    frame: pl.DataFrame
    policy: Policy
    secret: str
    released: pl.DataFrame
    values: NDArray[np.int64]

    @classmethod
    def of_table(cls, raw: Any, policy: Policy, secret: str) -> _World:
        from incrowd.engines import loaded

        if policy.algorithm.settings().get("budget") is not None:
            raise ParameterError("minimality: an algorithm with a time budget cannot be run again the same")
        if not policy.models:
            raise ParameterError("minimality needs the policy of the release, with models and algorithm")
        frame: pl.DataFrame = nw.from_native(loaded(raw), eager_only=True).to_polars()
        # Shuffled rows could not be compared.
        policy = replace(policy, keep_order=True)
        values = nameless(frame[secret]).rank("dense").fill_null(0).to_numpy().astype(np.int64)
        return cls(frame, policy, secret, cls._anonymized(frame, policy), values)

    @staticmethod
    def _anonymized(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
        from incrowd.release.jobs.make.anonymize import anonymize

        release = anonymize(frame, policy, force=True, unanswered="write")
        quasi = (attribute.name for attribute in policy.schema.quasi)
        cells: pl.DataFrame = release.texts.select(columns_named(quasi)).cast(pl.String)
        if release.places is None:
            return cells
        # Row N is that of the raw table, also where some are left out.
        row_of = np.full(len(frame), len(cells))
        row_of[release.places] = np.arange(len(cells))
        absent = pl.DataFrame({name: [_LEFT_OUT] for name in cells.columns})
        return pl.concat([cells, absent])[row_of]

    @property
    def released_rows(self) -> pl.Series:
        """Whether each row is in the release."""
        return nameless(self.released.to_series(0)).ne_missing(_LEFT_OUT)

    def is_of(self, release: Any) -> bool:
        """Return whether a release has the same rows in any order."""
        from incrowd.engines import loaded

        other: pl.DataFrame = nw.from_native(loaded(release), eager_only=True).to_polars()
        names = [*self.released.columns, self.secret]
        mine = self.released.with_columns(
            nameless(self.frame[self.secret]).cast(pl.String).alias(self.secret)
        )
        # Means may be numbers or days in a frame.
        types = {name: type_of_means(other.schema[name]) for name in self.released.columns}
        mine = mine.with_columns(
            as_type(column_named(name), kind).cast(pl.String).alias(name)
            for name, kind in types.items()
            if kind is not None
        )
        theirs = other.select(columns_named(names)).cast(pl.String)
        return Counter(mine.filter(self.released_rows).rows()) == Counter(theirs.rows())

    def classes(self) -> list[NDArray[np.int64]]:
        """Return the rows of each class; suppressed records form a class, and absent rows are in none."""
        rows: dict[tuple[Any, ...], list[int]] = {}
        for number, (cells, is_released) in enumerate(
            zip(self.released.rows(), self.released_rows, strict=True)
        ):
            if is_released:
                rows.setdefault(cells, []).append(number)
        return [np.array(numbers) for numbers in rows.values()]

    def same_with(self, rows: NDArray[np.int64], values: NDArray[np.int64]) -> bool:
        """Return whether other sensitive values in some rows would lead to the same release."""
        if (values == self.values[rows]).all():
            return True
        # Any row that has a value will do as its source.
        source = np.arange(len(self.values))
        first = {value: int(np.flatnonzero(self.values == value)[0]) for value in np.unique(values).tolist()}
        source[rows] = [first[value] for value in values.tolist()]
        dealt = nameless(self.frame[self.secret]).gather(source).alias(self.secret)
        table = self.frame.with_columns(dealt)
        try:
            return self._anonymized(table, self.policy).equals(self.released)
        except InfeasibleError:
            return False


def _count_assignments(values: NDArray[np.int64]) -> int:
    """Count the distinct orders of values, a multinomial coefficient."""
    counts = Counter(values.tolist()).values()
    return math.factorial(len(values)) // math.prod(math.factorial(count) for count in counts)


def _assignments(values: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield every distinct order of values once, by backtracking."""
    remaining = Counter(values.tolist())
    order: list[int] = []

    def deal() -> Iterator[NDArray[np.int64]]:
        if len(order) == len(values):
            yield np.array(order)
            return
        for value in sorted(remaining):
            if remaining[value]:
                remaining[value] -= 1
                order.append(value)
                yield from deal()
                order.pop()
                remaining[value] += 1

    yield from islice(deal(), _EXACT)


MINIMALITY = AttackKind(
    "minimality",
    "a secret and a whole Policy in place of the schema",
    lambda call: call.policy is not None and call.secret is not None,
    lambda call: minimality(
        call.table, call.released, call.whole_policy, call.inferred, call.attacks, call.seed
    ),
    # It anonymizes the table many times.
    by_default=False,
    columns=lambda call: call.with_secret,
)
