"""A made-up table of encounters, in which people come again and again, with similar rows.

One row is one encounter of a patient with a hospital. The columns are those of
`incrowd.samples.hospital`, but `patient_id` names the person of the row, and most people have several
rows:

- A person keeps name, birth date and sex. The age is that at the admission.
- A person rarely moves to another zip or changes the marital status, and then stays there.
- About half of the later encounters have the diagnosis of the first one.
"""

from __future__ import annotations

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.parameters import SEED, Parameter
from incrowd.samples.hospital import hospital

__all__ = ["MOST", "encounters"]

MOST = 40
"""Most rows of a person."""

_PEOPLE = Parameter(int, "number of people", low=1)
_ROWS = Parameter(int, "number of rows", low=1)
_MOVES, _MARRIES, _AGAIN = 0.05, 0.02, 0.5
_YEAR = 365.2425


def encounters(rows: int, people: int | None = None, seed: int = 0) -> pl.DataFrame:
    """Make up encounters of people with 1 to 40 rows each; see the module for the columns.

    Parameters
    ----------
    rows
        Number of rows, at least 1.
    people
        Number of people, so that each has a row and none more than 40; by default 0.7 of the rows, as in the
        diabetes encounters of UCI.
    seed
        Seed of the random numbers, at least 0.

    Returns
    -------
    polars.DataFrame
        `rows` rows without missing values, in random order.

    Raises
    ------
    ParameterError
        When a number is out of range or no whole number.

    Examples
    --------
    >>> import incrowd as ic
    >>> table = ic.samples.encounters(1000, people=300)
    >>> len(table), table["patient_id"].n_unique()
    (1000, 300)
    """
    rows = _ROWS.check(rows, "encounters sample", "rows")
    seed = SEED.check(seed, "encounters sample", "seed")
    people = max(round(0.7 * rows), 1) if people is None else people
    people = _PEOPLE.check(people, "encounters sample", "people")
    if not people <= rows <= MOST * people:
        raise ParameterError(
            f"encounters sample: people={people} cannot have {rows} rows, 1 to {MOST} each; say people from "
            f"{-(-rows // MOST)} to {rows}"
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(11)[10])
    # Rows of people of one sex and age stand together, so that whoever gets several keeps both.
    base = hospital(rows, seed).sort("sex", "birth_date")
    times = _draw_times(rng, rows, people)
    person = np.repeat(np.arange(people), times)
    first = np.repeat(np.cumsum(times) - times, times)
    first_row = base[first]
    order = np.lexsort((base["admission_date"].to_numpy(), person))
    moved, married = (_last_changes(rng, share, first) for share in (_MOVES, _MARRIES))
    again = (rng.random(rows) < _AGAIN) | (np.arange(rows) == first)
    table = base[order].with_columns(
        first_row[["patient_id", "name", "birth_date", "sex"]],
        zip=base["zip"].gather(moved),
        marital_status=base["marital_status"].gather(married),
        diagnosis=pl.select(
            pl.when(pl.Series(again)).then(first_row["diagnosis"]).otherwise(base["diagnosis"].gather(order))
        ).to_series(),
    )
    lived = (pl.col("admission_date") - pl.col("birth_date")).dt.total_days()
    table = table.with_columns(age=(lived / _YEAR).floor().clip(0).cast(pl.Int64))
    return table[rng.permutation(rows)]


def _draw_times(rng: np.random.Generator, rows: int, people: int) -> NDArray[np.int64]:
    """Draw the number of encounters of each person, mostly few: int64[people]."""
    times = np.ones(people, np.int64)
    remaining = rows - people
    eager = rng.gamma(0.5, size=people) + 1e-9
    while remaining:
        room = np.where(times < MOST, eager, 0.0)
        more = np.minimum(rng.multinomial(remaining, room / room.sum()), MOST - times)
        times += more
        remaining -= int(more.sum())
    return times


def _last_changes(rng: np.random.Generator, share: float, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of each person's last change up to each row, or of the first row."""
    numbers = np.arange(len(first))
    changed = np.where((rng.random(len(first)) < share) | (numbers == first), numbers, 0)
    return np.maximum.accumulate(changed)
