"""attack(): try to single out, link and infer with a release, and count how often it works."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import ParameterError, SchemaError, TableError
from incrowd.observed import ranks_of, read_intervals
from incrowd.progress import Progress, Silent
from incrowd.schema import Attribute, Schema, require_columns

if TYPE_CHECKING:
    import polars as pl

    from incrowd.domain import Domain
    from incrowd.frequency import SensitiveCounts
    from incrowd.kernels.nearest import Cloud

__all__ = ["KINDS", "Attack", "Rate", "attack", "wilson"]

KINDS = (
    "singling-out-univariate",
    "singling-out-multivariate",
    "linkability",
    "inference",
    "membership",
    "linkage",
)
"""Names of the attacks, in the order in which they are tried."""

_NEEDED = dict(
    zip(
        KINDS[1:],
        ("two quasi-identifiers", "two sides", "a secret", "control=", "aligned=True"),
        strict=True,
    )
)

_Z = 1.959963984540054
_TRIES = 300
_TRIES_IN_CROWDS = 10
"""Predicates tried for every one that is guessed."""


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
        One of `KINDS`.
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
    parts: tuple[Sequence[str], Sequence[str]] | None = None,
    kinds: Sequence[str] | None = None,
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
    parts
        The quasi-identifiers on either side that linkability brings together; the first and the second half
        by default.
    kinds
        Names of the attacks to try, those of `KINDS`; by default all that the tables allow.
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
    *Singling out*: a predicate is right when exactly one raw record meets it. Of one column it is "has this
    rare cell", "is at most the smallest" or "at least the largest number"; of several it is made of a
    released record, a point of numbers becoming "at least" above the median and "at most" below, any other
    cell "is one of its values". Those are guessed that exactly one released record meets, or where there are
    none those that the fewest meet. Success with a control of fewer people than the raw table has is scaled
    to as many, the counts of people met being taken for negative binomial. *Linkability*: for a raw record
    the nearest released ones are looked up by one half of the columns and by the other; right when a record
    is among both. Without released records a link is right by chance. *Inference*: the nearest released
    record by all quasi- identifiers tells the secret; numbers are right within 5 %. Distances are Gower's, a
    cell counting as each of its values with the same chance. *Membership*: of as many people of the release
    as of the control, the half that is nearer to a released record is taken to be in it. *Linkage*: people of
    the raw table are linked to the nearest released record by the columns that are known; right when it is
    theirs.

    References
    ----------
    Giomi, Boenisch, Wehmeyer and Tasnadi, A unified framework for quantifying privacy risk in synthetic
    data, PoPETs 2023 (the three attacks, baseline, control, risk), applied to generalized cells here.
    """
    if attacks < 10 or neighbours < 1 or columns < 1:
        raise ParameterError("attacks must be at least 10, columns and neighbours at least 1")
    unknown = [kind for kind in kinds or () if kind not in KINDS]
    if unknown:
        raise ParameterError(f"there is no attack {unknown[0]!r}; there are {', '.join(KINDS)}")
    names = [attribute.name for attribute in schema.sensitive]
    if secret is None and len(names) == 1:
        secret = names[0]
    if secret is not None and secret not in names:
        raise SchemaError(f"secret {secret!r} is no sensitive attribute; those are {names}")
    setting = _Setting(raw, release, schema, control, seed)
    width = len(setting.quasi)
    sides = parts or (setting.quasi[: (width + 1) // 2], setting.quasi[(width + 1) // 2 :])
    for name in (name for side in sides for name in side):
        if name not in setting.quasi:
            raise SchemaError(f"parts: {name!r} is no quasi-identifier; those are {setting.quasi}")
    possible: dict[str, Callable[[], Attack]] = {
        KINDS[0]: lambda: _singling_out(setting, 1, attacks, KINDS[0]),
    }
    if width > 1:
        possible[KINDS[1]] = lambda: _singling_out(setting, min(columns, width), attacks, KINDS[1])
    if all(sides):
        possible[KINDS[2]] = lambda: _linkability(setting, sides, attacks, neighbours)
    if secret is not None:
        possible[KINDS[3]] = lambda: _inference(setting, secret, attacks)
    if control is not None:
        possible[KINDS[4]] = lambda: _membership(setting, attacks)
    if aligned:
        wanted = setting.quasi if known is None else list(known)
        possible[KINDS[5]] = lambda: _linkage(setting, wanted, attacks)
    missing = [kind for kind in kinds or () if kind not in possible]
    if missing:
        raise ParameterError(
            f"{missing[0]} needs {_NEEDED[missing[0]]}, which this call has not got; leave it out of kinds"
        )
    told = progress or Silent()
    found = []
    for kind, attempt in possible.items():
        if kinds is None or kind in kinds:
            told.stage(kind)
            found.append(attempt())
    return found


class _Part(NamedTuple):
    """What a predicate asks of one column: a value of a released cell, or a number between two."""

    code: int
    low: float
    high: float


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
            ends = read_intervals(domain, labels)
            self.low, self.high = ends[codes, 0], ends[codes, 1]
            self.first_of = dict(
                zip(*(each.tolist() for each in np.unique(codes, return_index=True)), strict=True)
            )
            self.values = domain.numbers[ranks]
            known = domain.numbers[~np.isnan(domain.numbers)]
            self.extent = float(known.max() - known.min()) or 1.0
            self.median = float(np.nanmedian(np.concatenate(((self.low + self.high) / 2, [known[0]]))))
            return
        self.shares = np.zeros((len(labels), domain.size), np.float32)
        for number, held in enumerate(ranks_of(domain, labels)):
            if len(held):
                self.shares[number, held] = 1 / len(held)

    def part(self, code: int, *, corner: bool) -> _Part:
        """Make a part of a predicate of a released cell; with `corner` points become one-sided."""
        if not self.numeric:
            return _Part(code, 0.0, 0.0)
        low, high = (float(end[self.first_of[code]]) for end in (self.low, self.high))
        if corner and low == high:
            return _Part(code, low, math.inf) if low > self.median else _Part(code, -math.inf, high)
        return _Part(code, low, high)

    def cells(self, random: np.random.Generator) -> list[_Part]:
        """Return predicates of this column alone: rare cells first, then the ends of numbers."""
        met = np.bincount(self.codes, minlength=int(self.codes.max()) + 1)
        present = random.permutation(np.flatnonzero(met))
        parts = [
            self.part(int(code), corner=False) for code in present[np.argsort(met[present], kind="stable")]
        ]
        if self.numeric and not np.isnan(self.low).all():
            code = int(self.codes[0])
            least, most = float(np.nanmin(self.low)), float(np.nanmax(self.high))
            parts = [_Part(code, -math.inf, least), _Part(code, most, math.inf), *parts]
        return parts

    def meets(self, part: _Part, *, of_release: NDArray[np.int64] | None) -> NDArray[np.bool_]:
        """Say which raw rows meet a part of a predicate, or which of some released records."""
        if not self.numeric:
            allowed = self.shares[part.code] > 0
            if of_release is None:
                return np.asarray(allowed[self.ranks])
            within = (self.shares > 0) & ~allowed[None, :]
            inside = np.asarray(~within.any(axis=1) & self.shares.any(axis=1))
            return np.asarray(inside[self.codes[of_release]])
        first, last = (
            (self.values, self.values)
            if of_release is None
            else (self.low[of_release], self.high[of_release])
        )
        if math.isnan(part.low):
            return np.asarray(np.isnan(first))
        return np.asarray((first >= part.low) & (last <= part.high))

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

        from incrowd.engines import engine_for, loaded

        self.seed = seed
        attributes = [*schema.quasi, *schema.sensitive]
        names = [attribute.name for attribute in attributes]

        def columns_of(table: Any, what: str) -> pl.DataFrame:
            engine = engine_for(loaded(table))
            require_columns(names, engine.columns, f"{what}: ")
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

    def cloud(self, names: Sequence[str], order: NDArray[np.int64]) -> Cloud:
        """Lay out some columns for the search of nearest records, these in the given order."""
        from incrowd.kernels.nearest import Cloud

        columns = [self.columns[name] for name in names]
        nothing = np.zeros(0)
        tables = [nothing if column.numeric else column.shares.ravel() for column in columns]
        sizes = [len(table) for table in tables]

        def side_by_side(arrays: Sequence[NDArray[Any]], rows: int, dtype: type) -> NDArray[Any]:
            laid: NDArray[Any] = np.zeros((rows, len(columns)), dtype)
            for j, array in enumerate(arrays):
                if len(array):
                    laid[:, j] = array
            return laid

        lows, highs, values = (
            [getattr(column, what) if column.numeric else nothing for column in columns]
            for what in ("low", "high", "values")
        )
        return Cloud(
            np.array([column.numeric for column in columns]),
            side_by_side(lows, self.records, np.float64)[order],
            side_by_side(highs, self.records, np.float64)[order],
            np.array([column.extent if column.numeric else 1.0 for column in columns]),
            side_by_side(values, self.rows, np.float64),
            np.concatenate(tables).astype(np.float32),
            np.cumsum([0, *sizes[:-1]]),
            np.array([column.domain.size for column in columns]),
            side_by_side([column.codes for column in columns], self.records, np.int32)[order],
            side_by_side([column.ranks for column in columns], self.rows, np.int32),
        )

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
    from incrowd.kernels.grouping import group_columns

    random = np.random.default_rng([setting.seed, 2, width])
    columns = [setting.columns[name] for name in setting.quasi]
    codes = [column.codes.astype(np.int64) for column in columns]
    ids, first = group_columns(codes, [int(column.max()) + 1 for column in codes], setting.records)
    records = np.bincount(ids)

    def covered(predicate: dict[int, _Part]) -> int:
        met = [columns[j].meets(part, of_release=first) for j, part in predicate.items()]
        return int(records[np.logical_and.reduce(met)].sum())

    def people(predicate: dict[int, _Part]) -> tuple[int, int]:
        met = np.logical_and.reduce(
            [columns[j].meets(part, of_release=None) for j, part in predicate.items()]
        )
        return int(met[: setting.people].sum()), int(met[setting.people :].sum())

    # Where every record has its like, no predicate is met by one alone, and there is no use in trying long.
    tries = attacks * (_TRIES if records.min() == 1 else _TRIES_IN_CROWDS)
    candidates = _alone(columns, random) if width == 1 else _together(columns, setting.records, width, random)
    found: list[tuple[int, int, dict[int, _Part]]] = []
    seen: set[str] = set()
    unique = 0
    for number, predicate in enumerate(islice(candidates, tries)):
        if unique == attacks:
            break
        name = repr(predicate)
        if name in seen:
            continue
        seen.add(name)
        crowd = covered(predicate)
        if not crowd:
            continue
        unique += crowd == 1
        found.append((crowd, number, predicate))
    # A guess is worth making where one released record meets it; k-anonymous releases have none, so that the
    # ones that the fewest meet are all there is.
    best = sorted(found, key=lambda entry: entry[:2])[:attacks]
    guesses = [guess for crowd, _, guess in best if crowd == 1] or [guess for _, _, guess in best]
    met = [people(guess) for guess in guesses]
    made = len(guesses)
    won, of_control = sum(own == 1 for own, _ in met), sum(other == 1 for _, other in met)
    lucky = 0
    for _ in range(made):
        chosen = sorted(random.permutation(len(columns))[:width].tolist())
        rows = np.logical_and.reduce([columns[j].random_predicate(random) for j in chosen])
        lucky += int(rows[: setting.people].sum()) == 1
    main, baseline = wilson(won, made), wilson(lucky, made)
    others = setting.rows - setting.people
    if not others:
        return Attack(kind, made, main, baseline, None, None)
    # Among fewer people a predicate meets exactly one more or less often.
    factor = _size_factor([other for _, other in met], setting.people / others)
    control = wilson(min(round(of_control * factor), made), made)
    return Attack(kind, made, main, baseline, control, _risk(main, control))


def _alone(columns: Sequence[_Column], random: np.random.Generator) -> Iterator[dict[int, _Part]]:
    """Predicates of one column: in turn one of each, those that look rarest first."""
    each = [[(j, part) for part in column.cells(random)] for j, column in enumerate(columns)]
    for parts in zip_longest(*each):
        yield from ({j: part} for j, part in filter(None, parts))


def _together(
    columns: Sequence[_Column], records: int, width: int, random: np.random.Generator
) -> Iterator[dict[int, _Part]]:
    """Predicates of several columns, each of a released record."""
    while True:
        record = int(random.integers(records))
        chosen = sorted(random.permutation(len(columns))[:width].tolist())
        yield {j: columns[j].part(int(columns[j].codes[record]), corner=True) for j in chosen}


def _size_factor(met: Sequence[int], scale: float) -> float:
    """Return how much more often a predicate meets exactly one person if there are `scale` times as many.

    Predicates weigh differently: their counts are taken for negative binomial, with the shape and the mean
    that shares of counts 0 and 1 ask for. More people keep the shape and scale the mean.
    """
    none, one = (sum(number == wanted for number in met) / len(met) for wanted in (0, 1))
    if scale <= 1 or not one or not none:
        return 1.0
    # Share of 0: (1 + x)^-shape, of 1: shape x / (1 + x) times that; so their ratio fixes x.
    ratio = one / none / -math.log(none)
    low, high = -20.0, 40.0
    for _ in range(100):
        middle = (low + high) / 2
        x = math.exp(middle)
        low, high = (middle, high) if x / (1 + x) / math.log1p(x) > ratio else (low, middle)
    x = math.exp(low)
    shape = -math.log(none) / math.log1p(x)

    def exactly_one(x: float) -> float:
        return shape * x / (1 + x) * math.exp(-shape * math.log1p(x))

    return exactly_one(scale * x) / exactly_one(x)


def _nearest(
    setting: _Setting, names: Sequence[str], rows: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the nearest released records of raw rows, and how far they are; the seed decides ties."""
    from incrowd.kernels.nearest import nearest

    order = np.random.default_rng([setting.seed, 3]).permutation(setting.records)
    found, gaps = nearest(setting.cloud(names, order), rows, count)
    return order[found], gaps


def _linkability(
    setting: _Setting, sides: tuple[Sequence[str], Sequence[str]], attacks: int, neighbours: int
) -> Attack:
    count = min(neighbours, setting.records)
    random = np.random.default_rng([setting.seed, 4])

    def wins(rows: NDArray[np.int64]) -> int:
        left, right = (_nearest(setting, names, rows, count)[0] for names in sides)
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
    gaps = _nearest(setting, setting.quasi, rows, 1)[1][:, 0]
    order = np.lexsort((random.random(len(rows)), gaps))
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
    right = int((_nearest(setting, known, rows, 1)[0][:, 0] == rows).sum())
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
        return right(rows, _nearest(setting, setting.quasi, rows, 1)[0][:, 0])

    def guesses() -> int:
        made = min(attacks, setting.people)
        return right(
            random.choice(setting.people, made, replace=False), random.integers(setting.records, size=made)
        )

    return setting.rates("inference", wins, guesses, attacks)
