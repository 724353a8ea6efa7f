"""A made-up table of hospital discharges with the skew and the correlations of real tables.

Nobody in it exists, every figure is invented. One row is one stay of one patient.

=================  ===========  =====================================================================
column             role         content
=================  ===========  =====================================================================
`patient_id`       identifying  ``P`` and digits, unique
`name`             identifying  first and last name
`birth_date`       identifying  date (with the zip and the sex it singles nearly everyone out)
`age`              quasi        whole years at admission
`sex`              quasi        F, M, rarely X
`zip`              quasi        text of five digits, leading zeros count
`marital_status`   quasi        single, married, partnered, separated, divorced, widowed
`admission_date`   quasi        date, 2022 to 2024
`admission_type`   quasi        emergency, urgent, elective, newborn
`diagnosis`        sensitive    ICD-10-like code of three characters; see `diagnosis_hierarchy`
`length_of_stay`   sensitive    whole days, 0 when the patient left on the same day
`cost`             sensitive    whole currency units
=================  ===========  =====================================================================

The diagnosis comes first and everything else hangs on it: sex, age, season and kind of admission;
then the length of stay, then the cost. Each group of columns has a random stream of its own, so a change
to one leaves the others as they were.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy.typing as npt

from incrowd.core.lazy import np, pl
from incrowd.core.parameters import SEED, Parameter
from incrowd.samples._profiles import (
    ADMISSION_TYPES,
    ADMISSIONS,
    AGES,
    ELDEST,
    MARITAL_STATUSES,
    MARRIAGES,
    SEASONS,
    WEEKDAYS,
    Knots,
)
from incrowd.samples._values import FIRST_NAMES, LAST_NAMES, REGIONS, chapters, diagnoses

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from incrowd.core.hierarchy import Hierarchy

__all__ = ["diagnosis_hierarchy", "diagnosis_titles", "hospital"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Days = npt.NDArray[np.datetime64]

SEXES = ("F", "M", "X")
FIRST_DAY = np.datetime64("2022-01-01", "D")
LAST_DAY = np.datetime64("2024-12-31", "D")

_THIRD_SEX = 0.003  # share of X among the diagnoses that any sex can have
_GROWTH = 0.04  # more admissions a year
_NEWBORN = ADMISSION_TYPES.index("newborn")
_STAY_SPREAD = 0.62  # standard deviation of the logarithm
_STAY_BY_TYPE = {"emergency": 1.12, "urgent": 1.0, "elective": 0.86, "newborn": 1.0}
_LONGEST_STAY = 365
_DAY_RATE = 1150.0  # currency units a day
_COST_SPREAD = 0.34
_NAME_FLATTENING = 12  # the larger, the less the first names of a list stand out
_ZIP_FLATTENING = 2

_ROWS = Parameter(int, "number of rows", low=1)


def hospital(rows: int, seed: int = 0) -> pl.DataFrame:
    """Make up a table of hospital discharges; see the module for the columns.

    Parameters
    ----------
    rows
        Number of rows, at least 1.
    seed
        Seed of the random numbers, at least 0. The same rows and seed give the same table; another number
        of rows gives another table, not a longer one.

    Returns
    -------
    polars.DataFrame
        `rows` rows without missing values, in random order.

    Raises
    ------
    ParameterError
        When `rows` or `seed` is out of range or no whole number.
    """
    rows = _ROWS.check(rows, "hospital sample", "rows")
    seed = SEED.check(seed, "hospital sample", "seed")
    streams = iter(np.random.SeedSequence(seed).spawn(10))

    def stream() -> np.random.Generator:
        return np.random.default_rng(next(streams))

    diagnosis = _draw_one(stream(), _column("weight"), rows)
    sex = _draw_sexes(stream(), diagnosis)
    age = _draw_ages(stream(), diagnosis)
    admission_type = _draw_admission_types(stream(), diagnosis)
    admission_day = _draw_admission_days(stream(), diagnosis, admission_type)
    birth_day = _draw_birth_days(stream(), age, admission_type, admission_day)
    marital_status = _draw_marital_statuses(stream(), age, sex)
    zip_code = _draw_places(stream(), rows)
    identity = stream()
    patient_id = _draw_patient_ids(identity, rows)
    name = _draw_names(identity, sex)
    treatment = stream()
    stay = _draw_stays(treatment, diagnosis, age, admission_type)
    cost = _draw_costs(treatment, diagnosis, stay, zip_code)

    return pl.DataFrame(
        {
            "patient_id": patient_id,
            "name": name,
            "birth_date": birth_day,
            "age": age,
            "sex": _texts(SEXES, sex),
            "zip": _texts(_zips(), zip_code),
            "marital_status": _texts(MARITAL_STATUSES, marital_status),
            "admission_date": FIRST_DAY + admission_day,
            "admission_type": _texts(ADMISSION_TYPES, admission_type),
            "diagnosis": _texts([entry.code for entry in diagnoses()], diagnosis),
            "length_of_stay": stay,
            "cost": cost,
        }
    )


def diagnosis_hierarchy() -> Hierarchy:
    """Return the hierarchy of the diagnoses: code, block, chapter, ``*``.

    It holds every code that `hospital` can give, and each node is named by its range of codes; for words
    see `diagnosis_titles`.
    """
    from incrowd.core.hierarchy import Hierarchy

    codes = {
        chapter.label: {block.label: [entry.code for entry in block.diagnoses] for block in chapter.blocks}
        for chapter in chapters()
    }
    return Hierarchy.from_nested({"*": codes})


def diagnosis_titles() -> dict[str, str]:
    """Return the meaning of each code, block and chapter of `diagnosis_hierarchy`, in a few words."""
    titles = {}
    for chapter in chapters():
        titles[chapter.label] = chapter.title
        for block in chapter.blocks:
            titles[block.label] = block.title
            titles.update({entry.code: entry.title for entry in block.diagnoses})
    return titles


# --- drawing -----------------------------------------------------------------------------------------


def _draw(rng: np.random.Generator, weights: Floats, which: Ints) -> Ints:
    """Draw a column number of `weights` for each entry of `which`, a row number of `weights`.

    All rows share one search: row r of the cumulative weights is shifted to [r, r + 1).
    """
    cumulated = np.cumsum(weights, axis=1)
    cumulated /= cumulated[:, -1:]
    edges = (cumulated + np.arange(len(weights))[:, None]).ravel()
    # a sum that rounds up to the next whole number would land in the next row
    aim = np.minimum(rng.random(len(which)) + which, np.nextafter(which + 1.0, 0.0))
    return np.asarray(np.searchsorted(edges, aim, side="right") - which * weights.shape[1], np.int64)


def _draw_one(rng: np.random.Generator, weights: Floats, size: int) -> Ints:
    """Draw `size` positions of `weights`."""
    return _draw(rng, weights[None, :], np.zeros(size, dtype=np.int64))


def _texts(values: Sequence[str], codes: Ints) -> pl.Series:
    """Return the text of each code."""
    return pl.Series(values, dtype=pl.String).gather(codes)


def _column(name: str) -> Floats:
    """Return a figure of every diagnosis."""
    return np.array([getattr(entry, name) for entry in diagnoses()], dtype=np.float64)


def _profile(name: str, profiles: Iterable[str]) -> Ints:
    """Return the position among `profiles` of each diagnosis's profile."""
    positions = {profile: position for position, profile in enumerate(profiles)}
    return np.array([positions[getattr(entry, name)] for entry in diagnoses()], dtype=np.int64)


def _curve(knots: Knots) -> Floats:
    """Return the weight of each age 0..ELDEST on straight lines between knots, and 0 outside."""
    ages, weights = zip(*knots, strict=True)
    return np.asarray(np.interp(np.arange(ELDEST + 1), ages, weights, left=0.0, right=0.0))


# --- who and why -------------------------------------------------------------------------------------


def _draw_sexes(rng: np.random.Generator, diagnosis: Ints) -> Ints:
    women = _column("women")
    third = np.where((women > 0) & (women < 1), _THIRD_SEX, 0.0)
    weights = np.stack([women * (1 - third), (1 - women) * (1 - third), third], axis=1)
    return _draw(rng, weights, diagnosis)


def _draw_ages(rng: np.random.Generator, diagnosis: Ints) -> Ints:
    weights = np.stack([_curve(knots) for knots in AGES.values()])
    return _draw(rng, weights, _profile("ages", AGES)[diagnosis])


def _draw_marital_statuses(rng: np.random.Generator, age: Ints, sex: Ints) -> Ints:
    by_sex = {
        name: np.stack([_curve(statuses[status]) for status in MARITAL_STATUSES], axis=1)
        for name, statuses in MARRIAGES.items()
    }
    weights = np.concatenate([by_sex["F"], by_sex["M"], (by_sex["F"] + by_sex["M"]) / 2])
    return _draw(rng, weights, sex * (ELDEST + 1) + age)


# --- when --------------------------------------------------------------------------------------------


def _draw_admission_types(rng: np.random.Generator, diagnosis: Ints) -> Ints:
    weights = np.array(list(ADMISSIONS.values()), dtype=np.float64)
    return _draw(rng, weights, _profile("admission", ADMISSIONS)[diagnosis])


def _draw_admission_days(rng: np.random.Generator, diagnosis: Ints, admission_type: Ints) -> Ints:
    """Draw days since FIRST_DAY, by season, weekday and growth."""
    group = _profile("season", SEASONS)[diagnosis] * len(ADMISSION_TYPES) + admission_type
    return _draw(rng, _weights_of_days(), group)


@cache
def _weights_of_days() -> Floats:
    """Return the weight of each day by season and type of admission."""
    days = np.arange(FIRST_DAY, LAST_DAY + np.timedelta64(1, "D"))
    month = days.astype("datetime64[M]").astype(np.int64) % 12
    weekday = (days.astype(np.int64) + 3) % 7  # 1970-01-01 was a Thursday
    growth = 1 + _GROWTH * np.arange(len(days)) / 365.25
    season = np.array([SEASONS[name] for name in SEASONS])[:, month]
    rhythm = np.array([WEEKDAYS[name] for name in ADMISSION_TYPES])[:, weekday]
    weights: Floats = (season[:, None, :] * rhythm[None, :, :] * growth).reshape(-1, len(days))
    return weights


def _draw_birth_days(rng: np.random.Generator, age: Ints, admission_type: Ints, admission_day: Ints) -> Days:
    """Draw a birth date that gives exactly `age` on admission, the day of admission for a newborn."""
    latest = _latest_births()
    last = latest[age, admission_day]
    first = latest[age + 1, admission_day] + 1
    born: Ints = first + (rng.random(len(age)) * (last - first + 1)).astype(np.int64)
    born[admission_type == _NEWBORN] = last[admission_type == _NEWBORN]
    return born.astype("datetime64[D]")


@cache
def _latest_births() -> Ints:
    """Return the last birth date (days since 1970) of people of at least `age` years, by age and day.

    It is the same day of the year `age` years ago; where that was no leap year, 28 February for the 29th.
    """
    days = np.arange(FIRST_DAY, LAST_DAY + np.timedelta64(1, "D"))
    months = days.astype("datetime64[M]")
    day_of_month = (days - months.astype("datetime64[D]")).astype(np.int64)
    back = (12 * np.arange(ELDEST + 2)).astype("timedelta64[M]")
    then = months[None, :] - back[:, None]
    start = then.astype("datetime64[D]").astype(np.int64)
    end = (then + np.timedelta64(1, "M")).astype("datetime64[D]").astype(np.int64)
    return np.asarray(np.minimum(start + day_of_month, end - 1), np.int64)


# --- where -------------------------------------------------------------------------------------------


@cache
def _zips() -> list[str]:
    """Return every postal code, in the order of `_draw_places` and `_prices`."""
    return [
        # 37 has no factor in common with 100, so the endings differ; the most populous are scattered
        f"{area}{(int(area) * 7 + 37 * rank) % 100:02d}"
        for region in REGIONS
        for area, count in region.areas
        for rank in range(count)
    ]


def _draw_places(rng: np.random.Generator, rows: int) -> Ints:
    """Draw positions in `_zips`: within a region by area, within an area by rank (Zipf)."""
    weights = []
    for region in REGIONS:
        shares = 1 / np.arange(1, len(region.areas) + 1)
        for (_, count), share in zip(region.areas, shares / shares.sum(), strict=True):
            zipf = 1 / (np.arange(count) + _ZIP_FLATTENING)
            weights.append(region.share * share * zipf / zipf.sum())
    return _draw_one(rng, np.concatenate(weights), rows)


def _prices() -> Floats:
    """Return the level of prices at each of `_zips`."""
    counts = [sum(count for _, count in region.areas) for region in REGIONS]
    return np.asarray(np.repeat(np.array([region.prices for region in REGIONS]), counts))


# --- names -------------------------------------------------------------------------------------------


def _draw_patient_ids(rng: np.random.Generator, rows: int) -> pl.Series:
    """Draw unique numbers in random order by a one-to-one map of 0..10^digits - 1."""
    digits = max(8, len(str(rows - 1)))
    size = 10**digits
    # a multiplier that ends in 1, 3, 7 or 9 has no factor in common with a power of ten
    factor = int(rng.integers(10**6, 10**7)) * 10 + int(rng.choice([1, 3, 7, 9]))
    numbers = (np.arange(rows, dtype=np.int64) * factor + int(rng.integers(size))) % size
    return ("P" + pl.Series(numbers).cast(pl.String).str.zfill(digits)).alias("patient_id")


def _draw_names(rng: np.random.Generator, sex: Ints) -> pl.Series:
    """Draw a first name by sex (X: any) and a last name, both from lists in falling order."""
    women, men = FIRST_NAMES["F"], FIRST_NAMES["M"]
    weights = np.zeros((len(SEXES), len(women) + len(men)))
    weights[0, : len(women)] = _falling(len(women))
    weights[1, len(women) :] = _falling(len(men))
    weights[2] = weights[0] + weights[1]
    first = _draw(rng, weights, sex)
    last = _draw_one(rng, _falling(len(LAST_NAMES)), len(sex))
    return _full_names().gather(first * len(LAST_NAMES) + last)


@cache
def _full_names() -> pl.Series:
    """Return every first name of women, then of men, with every last name."""
    first = FIRST_NAMES["F"] + FIRST_NAMES["M"]
    return pl.Series([f"{name} {family}" for name in first for family in LAST_NAMES], dtype=pl.String)


def _falling(count: int) -> Floats:
    """Return weights that fall with the rank."""
    weights: Floats = 1 / (np.arange(count) + _NAME_FLATTENING)
    return np.asarray(weights / weights.sum())


# --- treatment ---------------------------------------------------------------------------------------


def _draw_stays(rng: np.random.Generator, diagnosis: Ints, age: Ints, admission_type: Ints) -> Ints:
    """Draw whole days: lognormal around the diagnosis' median, longer with age and in an emergency."""
    by_type = np.array([_STAY_BY_TYPE[name] for name in ADMISSION_TYPES])[admission_type]
    by_age = np.where(admission_type == _NEWBORN, 1.0, 0.7 + 0.0075 * age)
    noise = np.exp(rng.normal(0.0, _STAY_SPREAD, len(diagnosis)))
    days = np.rint(_column("stay")[diagnosis] * by_type * by_age * noise)
    return np.asarray(np.minimum(days, _LONGEST_STAY), np.int64)


def _draw_costs(rng: np.random.Generator, diagnosis: Ints, stay: Ints, place: Ints) -> Ints:
    """Draw whole currency units: treatment and days at the place's prices, times lognormal noise."""
    price = (_column("cost")[diagnosis] + _DAY_RATE * stay) * _prices()[place]
    noise = np.exp(rng.normal(0.0, _COST_SPREAD, len(diagnosis)))
    return np.asarray(np.rint(price * noise), np.int64)
