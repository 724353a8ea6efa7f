"""attack(): try to single out, link and infer with a release, and count how often it works."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import ParameterError, SchemaError, TableError
from incrowd.observed import ranks_of, read_interval
from incrowd.progress import Progress, Silent
from incrowd.schema import Attribute, Schema

if TYPE_CHECKING:
    import polars as pl

    from incrowd.domain import Domain
    from incrowd.frequency import SensitiveCounts

__all__ = ["Attack", "Rate", "attack", "wilson"]

_Z = 1.959963984540054
_BLOCK = 64
_TRIES = 10


@dataclass(frozen=True, slots=True)
class Rate:
    """A success rate with its 95 % confidence interval; see `wilson`."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Attack:
    """What one kind of attack achieved.

    Attributes
    ----------
    name
        ``singling-out-univariate``, ``singling-out-multivariate``, ``linkability``, ``inference``,
        ``membership`` or ``linkage``.
    attacks
        How many guesses were made.
    main, baseline
        Success with the release, and of guessing without it.
    control
        Success against people of whom the release knows nothing; None where none were given.
    risk
        (main - control) / (1 - control): what the release gives away of its own people and not
        merely of people in general; None without control.
    """

    name: str
    attacks: int
    main: Rate
    baseline: Rate
    control: Rate | None
    risk: Rate | None

    @property
    def stronger_than_guessing(self) -> bool:
        """Whether the release helped; if not, its figures say little about the risk."""
        return self.main.value > self.baseline.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: no value of the tables is in it."""
        return asdict(self) | {"stronger_than_guessing": self.stronger_than_guessing}


def wilson(successes: int, attacks: int) -> Rate:
    """Estimate a success rate by Wilson's score: centre and ends of the 95 % confidence interval.

    References
    ----------
    Wilson, Probable inference, the law of succession, and statistical inference, JASA 22(158), 1927; used
    so by Giomi et al., A unified framework for quantifying privacy risk in synthetic data, PoPETs 2023,
    section 4.1.
    """
    square = _Z**2
    centre = (successes + square / 2) / (attacks + square)
    half = _Z / (attacks + square) * math.sqrt(successes * (attacks - successes) / attacks + square / 4)
    return Rate(centre, max(centre - half, 0.0), min(centre + half, 1.0))


def attack(
    raw: Any,
    release: Any,
    schema: Schema,
    *,
    control: Any = None,
    secret: str | None = None,
    attacks: int = 500,
    columns: int = 3,
    neighbours: int = 1,
    aligned: bool = False,
    known: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Attack]:
    """Attack a release: generalized, microaggregated or synthetic.

    Parameters
    ----------
    raw, release
        Tables with the schema's quasi-identifiers and sensitive attributes, or paths of them; rows need not
        correspond. Cells of the release are read as `evaluate` reads them.
    schema
        The columns that an attacker may know (quasi-identifiers, with hierarchies where they have any)
        and not know (sensitive).
    control
        Raw records of people whom the release does not hold, for the risk beyond what is true of everybody.
    secret
        The sensitive attribute that is inferred; may be left out where there is one.
    attacks
        Guesses of each kind, 10 or more.
    columns
        Columns of a multivariate predicate, at most the quasi-identifiers there are.
    neighbours
        Records that linkability looks at on either side.
    aligned
        Whether row N of the release is row N of the raw table, so that links can be checked.
    known
        The quasi-identifiers that an external table of the same people has, for linkage; all by default.
    seed
        Seed of all choices.
    progress
        Told about the kinds.

    Returns
    -------
    Singling out by one and by several columns; linkability of two halves of the quasi-identifiers, where
    there are two or more; inference of the secret, where there is one; membership, where there is a control;
    linkage, where the rows are aligned.

    Raises
    ------
    InputError
        When a table cannot be read or does not fit the schema, or a setting is out of range.

    Notes
    -----
    *Singling out*: a predicate made of a released record is right when exactly one raw record meets it: a
    point of numbers becomes "at least" above the median and "at most" below, any other cell "is one of
    its values". Of ten times as many predicates those are guessed that one released record meets, or
    where there are none those that the fewest meet. *Linkability*: for a raw record the nearest released
    ones are looked up by one half of the columns and by the other; right when a record is among both.
    Without released records a link is right by chance. *Inference*: the nearest released record by all
    quasi-identifiers tells the secret; numbers are right within 5 %. Distances are Gower's, a cell
    counting as each of its values with the same chance. *Membership*: of as many people of the release as
    of the control, the half that is nearer to a released record is taken to be in it. *Linkage*: people
    of the raw table are linked to the nearest released record by the columns that are known; right when
    it is theirs.

    References
    ----------
    Giomi, Boenisch, Wehmeyer and Tasnadi, A unified framework for quantifying privacy risk in synthetic
    data, PoPETs 2023 (the three attacks, baseline, control, risk), applied to generalized cells here.
    """
    if attacks < 10 or neighbours < 1 or columns < 1:
        raise ParameterError("attacks must be at least 10, columns and neighbours at least 1")
    setting = _Setting(raw, release, schema, control, seed)
    told = progress or Silent()
    width = len(setting.quasi)
    found = []
    told.stage("singling out")
    found.append(_singling_out(setting, 1, attacks, "singling-out-univariate"))
    if width > 1:
        found.append(_singling_out(setting, min(columns, width), attacks, "singling-out-multivariate"))
        told.stage("linkability")
        found.append(_linkability(setting, attacks, neighbours))
    names = [attribute.name for attribute in schema.sensitive]
    if secret is None and len(names) == 1:
        secret = names[0]
    if secret is not None:
        if secret not in names:
            raise SchemaError(f"secret {secret!r} is no sensitive attribute; those are {names}")
        told.stage("inference")
        found.append(_inference(setting, secret, attacks))
    if control is not None:
        told.stage("membership")
        found.append(_membership(setting, attacks))
    if aligned:
        told.stage("linkage")
        found.append(_linkage(setting, setting.quasi if known is None else list(known), attacks))
    return found


class _Column:
    """One column: raw values as numbers or ranks, released cells as intervals or shares of ranks."""

    def __init__(
        self,
        domain: Domain,
        ranks: NDArray[np.integer],
        labels: Sequence[str | None],
        codes: NDArray[np.integer],
    ) -> None:
        self.domain = domain
        self.ranks = ranks
        self.codes = codes
        numeric = domain.kind != "category" and not np.isnan(domain.numbers).all()
        self.numeric = numeric
        if numeric:
            ends = np.array([read_interval(domain, label) for label in labels])
            self.low, self.high = ends[codes, 0], ends[codes, 1]
            self.values = domain.numbers[ranks]
            known = domain.numbers[~np.isnan(domain.numbers)]
            self.extent = float(known.max() - known.min()) or 1.0
            self.median = float(np.nanmedian(np.concatenate(((self.low + self.high) / 2, [known[0]]))))
            return
        self.shares = np.zeros((len(labels), domain.size), np.float32)
        for number, label in enumerate(labels):
            held = ranks_of(domain, label)
            if len(held):
                self.shares[number, held] = 1 / len(held)

    def distance(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the expected Gower distance of raw rows to every released record: float64[rows, records]."""
        if not self.numeric:
            return 1.0 - self.shares[:, self.ranks[rows]].T[:, self.codes].astype(np.float64)
        value = self.values[rows][:, None]
        low, high = self.low[None, :], self.high[None, :]
        middle = np.abs(value - (low + high) / 2)
        wide = high - low
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = ((value - low) ** 2 + (high - value) ** 2) / (2 * wide)
        gap = np.where((value > low) & (value < high), inside, middle) / self.extent
        # Missing beside a number is as far as can be, beside missing it is the same.
        absent = np.isnan(value) & np.isnan(low + high)
        return np.where(np.isnan(gap), np.where(absent, 0.0, 1.0), np.minimum(gap, 1.0))

    def meets(self, record: int, *, of_release: bool) -> NDArray[np.bool_]:
        """Say which rows meet the predicate of a released record: raw ones or released ones."""
        if not self.numeric:
            allowed = self.shares[self.codes[record]] > 0
            if not of_release:
                return np.asarray(allowed[self.ranks])
            within = (self.shares > 0) & ~allowed[None, :]
            inside = np.asarray(~within.any(axis=1) & self.shares.any(axis=1))
            return np.asarray(inside[self.codes])
        low, high = self.low[record], self.high[record]
        if math.isnan(low):
            return np.asarray(np.isnan(self.low if of_release else self.values))
        first, last = (self.low, self.high) if of_release else (self.values, self.values)
        if low == high:
            return np.asarray(first >= low if low > self.median else last <= high)
        return np.asarray((first >= low) & (last <= high))

    def random_predicate(self, random: np.random.Generator) -> NDArray[np.bool_]:
        """Say which raw rows meet a predicate made of nothing but the column's values."""
        rank = int(random.integers(self.domain.size))
        if not self.numeric or math.isnan(self.domain.numbers[rank]):
            return np.asarray(self.ranks == rank)
        value = self.domain.numbers[rank]
        return np.asarray(self.values >= value if random.random() < 0.5 else self.values <= value)


class _Setting:
    """The tables, column by column; people of the control come after those of the raw table."""

    def __init__(self, raw: Any, release: Any, schema: Schema, control: Any, seed: int) -> None:
        import narwhals as nw
        import polars as pl

        from incrowd.engines import engine_for
        from incrowd.evaluation import loaded

        self.seed = seed
        attributes = [*schema.quasi, *schema.sensitive]
        names = [attribute.name for attribute in attributes]

        def columns_of(table: Any, what: str) -> pl.DataFrame:
            engine = engine_for(loaded(table))
            for name in names:
                if name not in engine.columns:
                    raise SchemaError(f"{what}: the table has no column {name!r}")
            frame: pl.DataFrame = nw.from_native(loaded(table), eager_only=True).select(names).to_polars()
            if not len(frame):
                raise TableError(f"{what}: the table has no rows")
            return frame

        mine, theirs = columns_of(raw, "raw table"), columns_of(release, "release")
        self.people = len(mine)
        if control is not None:
            others = columns_of(control, "control")
            mine = pl.concat([mine, others], how="vertical_relaxed")
        self.rows = len(mine)
        self.records = len(theirs)
        self.columns: dict[str, _Column] = {}
        self.quasi = [attribute.name for attribute in schema.quasi]
        nulls = schema.null_values
        for attribute in attributes:
            own = replace(attribute, role="sensitive", levels=None, output=None, weight=1)
            known = _counted(mine, own, nulls)
            seen = _counted(theirs, Attribute(attribute.name, "sensitive", kind="category"), nulls)
            assert known.rows is not None
            assert seen.rows is not None
            self.columns[attribute.name] = _Column(known.domain, known.rows, seen.domain.values, seen.rows)

    def rates(
        self, kind: str, wins: Callable[[NDArray[np.int64]], int], guesses: Callable[[], int], attacks: int
    ) -> Attack:
        """Attack people of the release and of the control, and guess without the release."""
        random = np.random.default_rng([self.seed, 1])
        made = min(attacks, self.people)
        main = wilson(wins(random.choice(self.people, made, replace=False)), made)
        baseline = wilson(guesses(), made)
        others = self.rows - self.people
        if not others:
            return Attack(kind, made, main, baseline, None, None)
        drawn = min(attacks, others)
        control = wilson(wins(self.people + random.choice(others, drawn, replace=False)), drawn)
        return Attack(kind, made, main, baseline, control, _risk(main, control))


_SPARE = "\0spare"


def _counted(frame: pl.DataFrame, attribute: Attribute, nulls: tuple[str, ...]) -> SensitiveCounts:
    """Count one column on its own, as a sensitive one, so that no row counts as suppressed."""
    import polars as pl

    from incrowd.engines import engine_for

    alone = frame.select(attribute.name, pl.lit("").alias(_SPARE))
    schema = Schema.of([attribute, Attribute(_SPARE, "quasi")], null_values=nulls)
    return engine_for(alone).count(schema).sensitive[0]


def _risk(main: Rate, control: Rate) -> Rate:
    """Compare two rates; the interval is that of the difference, errors added in squares."""
    scale = max(1 - control.value, 1e-12)
    value = (main.value - control.value) / scale
    error = (
        math.hypot(main.high - main.value, (control.high - control.value) * (1 - main.value) / scale) / scale
    )
    return Rate(
        min(max(value, 0.0), 1.0), min(max(value - error, 0.0), 1.0), min(max(value + error, 0.0), 1.0)
    )


def _singling_out(setting: _Setting, width: int, attacks: int, kind: str) -> Attack:
    random = np.random.default_rng([setting.seed, 2, width])
    columns = [setting.columns[name] for name in setting.quasi]
    found: list[tuple[int, int, list[int]]] = []
    seen: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    unique = 0
    for number in range(attacks * _TRIES):
        if unique == attacks:
            break
        record = int(random.integers(setting.records))
        chosen = sorted(random.permutation(len(columns))[:width].tolist())
        name = tuple(chosen), tuple(int(columns[j].codes[record]) for j in chosen)
        if name in seen:
            continue
        seen.add(name)
        covered = int(
            np.logical_and.reduce([columns[j].meets(record, of_release=True) for j in chosen]).sum()
        )
        unique += covered == 1
        found.append((covered, number, [record, *chosen]))
    # A guess is worth making where one released record meets it; k-anonymous releases have none, so that the
    # ones that the fewest meet are all there is.
    best = sorted(found)[:attacks]
    guesses = [guess for covered, _, guess in best if covered == 1] or [guess for _, _, guess in best]
    won = lost_control = guessed = 0
    for record, *chosen in guesses:
        met = np.logical_and.reduce([columns[j].meets(record, of_release=False) for j in chosen])
        won += int(met[: setting.people].sum()) == 1
        lost_control += int(met[setting.people :].sum()) == 1
    made = len(guesses)
    for _ in range(made):
        chosen = sorted(random.permutation(len(columns))[:width].tolist())
        met = np.logical_and.reduce([columns[j].random_predicate(random) for j in chosen])
        guessed += int(met[: setting.people].sum()) == 1
    main, baseline = wilson(won, made), wilson(guessed, made)
    if setting.rows == setting.people:
        return Attack(kind, made, main, baseline, None, None)
    control = wilson(lost_control, made)
    return Attack(kind, made, main, baseline, control, _risk(main, control))


def _nearest(
    setting: _Setting, names: Sequence[str], rows: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Find the nearest released records of raw rows, int64[rows, count]; the seed decides ties."""
    order = np.random.default_rng([setting.seed, 3]).permutation(setting.records)
    found = np.empty((len(rows), count), np.int64)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        distance = np.zeros((len(block), setting.records))
        for name in names:
            distance += setting.columns[name].distance(block)
        shuffled = np.round(distance[:, order], 12)
        found[start : start + len(block)] = order[np.argsort(shuffled, axis=1, kind="stable")[:, :count]]
    return found


def _linkability(setting: _Setting, attacks: int, neighbours: int) -> Attack:
    count = min(neighbours, setting.records)
    half = (len(setting.quasi) + 1) // 2
    one, other = setting.quasi[:half], setting.quasi[half:]
    random = np.random.default_rng([setting.seed, 4])

    def wins(rows: NDArray[np.int64]) -> int:
        left, right = _nearest(setting, one, rows, count), _nearest(setting, other, rows, count)
        return sum(bool(set(a) & set(b)) for a, b in zip(left.tolist(), right.tolist(), strict=True))

    def guesses() -> int:
        drawn = (random.choice(setting.records, (2, count)) for _ in range(min(attacks, setting.people)))
        return sum(bool(set(a) & set(b)) for a, b in (pair.tolist() for pair in drawn))

    return setting.rates("linkability", wins, guesses, attacks)


def _membership(setting: _Setting, attacks: int) -> Attack:
    """Take the half of people who are nearest to a released record for those whom the release holds."""
    random = np.random.default_rng([setting.seed, 6])
    half = min(attacks // 2, setting.people, setting.rows - setting.people)
    members = random.choice(setting.people, half, replace=False)
    others = setting.people + random.choice(setting.rows - setting.people, half, replace=False)
    rows = np.concatenate((members, others))
    gaps = np.empty(len(rows))
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        distance = sum(setting.columns[name].distance(block) for name in setting.quasi)
        gaps[start : start + len(block)] = np.min(distance, axis=1)
    order = np.lexsort((random.random(len(rows)), np.round(gaps, 12)))
    right = 2 * int((order[:half] < half).sum())
    main = wilson(right, len(rows))
    chance = Rate(0.5, 0.5, 0.5)
    return Attack("membership", len(rows), main, chance, chance, _risk(main, chance))


def _linkage(setting: _Setting, known: Sequence[str], attacks: int) -> Attack:
    """Link people of an external table, who are those of the raw one, to the nearest released record."""
    for name in known:
        if name not in setting.quasi:
            raise SchemaError(f"known: {name!r} is no quasi-identifier; those are {setting.quasi}")
    if setting.records != setting.people or not known:
        raise TableError(
            f"linkage: the release has {setting.records} rows and the raw table {setting.people}; name known "
            "columns, and tables whose row N is the same person"
        )
    random = np.random.default_rng([setting.seed, 7])
    made = min(attacks, setting.people)
    rows = random.choice(setting.people, made, replace=False)
    right = int((_nearest(setting, known, rows, 1)[:, 0] == rows).sum())
    guessed = int((random.integers(setting.records, size=made) == rows).sum())
    return Attack("linkage", made, wilson(right, made), wilson(guessed, made), None, None)


def _inference(setting: _Setting, secret: str, attacks: int) -> Attack:
    column = setting.columns[secret]
    random = np.random.default_rng([setting.seed, 5])

    def right(rows: NDArray[np.int64], records: NDArray[np.int64]) -> int:
        if not column.numeric:
            return int((column.shares[column.codes[records], column.ranks[rows]] == 1).sum())
        told, true = (column.low[records] + column.high[records]) / 2, column.values[rows]
        near = np.abs(told - true) <= 0.05 * np.maximum(np.abs(true), 1e-12)
        return int((near | (np.isnan(told) & np.isnan(true))).sum())

    def wins(rows: NDArray[np.int64]) -> int:
        return right(rows, _nearest(setting, setting.quasi, rows, 1)[:, 0])

    def guesses() -> int:
        made = min(attacks, setting.people)
        return right(
            random.choice(setting.people, made, replace=False), random.integers(setting.records, size=made)
        )

    return setting.rates("inference", wins, guesses, attacks)
