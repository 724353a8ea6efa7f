"""Treated columns, read as the treatment needs and written as the column was."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import SchemaError, null_values_setting
from incrowd.core.io.columns import nameless
from incrowd.core.io.frames import without_negative_zero
from incrowd.core.io.shuffle import Draws
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.exact import EPOCH
from incrowd.core.reading.missing import null_values_of
from incrowd.core.reading.spellings import Spelling, refuse_unclear_points
from incrowd.core.treatments._linked import Linked
from incrowd.core.treatments.base import HOUSEHOLD, PERSON, Batch, Distinct, Reads, Treatment
from incrowd.core.treatments.codes import Coded, Codes

if TYPE_CHECKING:
    from incrowd.core.table.schema import Attribute
    from incrowd.core.treatments.keys import Secret

_NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}($|[T ])"
_EXACT = 2.0**53
_WIDEST = 2.0**62
_DATE = len("2020-03-05")


@dataclass(frozen=True)
class TreatedColumn:
    """A column with a treatment.

    Attributes
    ----------
    attribute
        The column.
    treatment
        What becomes of it.
    null_values
        Texts that mean missing in every column.
    person, household
        The columns that say whose row it is, and who lives together.
    secret
        The key, where the treatment has one.
    decided
        What was decided once.
    others
        What is known of further columns, which may be looked at.
    draws
        The random numbers of its rows; columns whose values go to the same rows have the same.
    """

    attribute: Attribute
    treatment: Treatment
    null_values: tuple[str, ...] = ()
    person: tuple[str, ...] = ()
    household: tuple[str, ...] = ()
    secret: Secret | None = None
    decided: Mapping[str, Any] = field(default_factory=dict, repr=False)
    others: tuple[Attribute, ...] = ()
    draws: Draws = field(default_factory=Draws, repr=False)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.attribute.name

    @property
    def nulls(self) -> tuple[str, ...]:
        """Texts that mean missing in the column."""
        return self.attribute.nulls(self.null_values)

    @property
    def columns(self) -> list[str]:
        """The columns that a treatment reads, the treated column first."""
        columns_of = {PERSON: self.person, HOUSEHOLD: self.household}
        beside = (name for each in self.treatment.columns for name in columns_of.get(each) or (each,))
        return list(dict.fromkeys([self.name, *beside]))

    @property
    def by_row(self) -> bool:
        """Whether a row's treated value depends on more than the row's values."""
        return self.treatment.is_random or self.treatment.is_whole

    @property
    def counted(self) -> list[str]:
        """The columns that are counted before a decision, the treated column first."""
        strata = self.treatment.strata
        return [self.name] if strata is None else [self.name, strata]

    def distinct(self, combinations: pl.DataFrame, counts: NDArray[np.int64]) -> Distinct:
        """Read the distinct values of the column.

        Parameters
        ----------
        combinations, counts
            The combinations of `counted` as an engine has them, missing values among them. A combination may
            stand several times.

        Raises
        ------
        SchemaError
            When a value cannot be read as the treatment wants it.
        """
        raw = nameless(combinations.to_series())
        if self.treatment.reads == "number" and not self.attribute.spelling:
            refuse_unclear_points(raw, self.name)
        columns = {"value": self._read_values(raw, Codes()).values}
        if self.treatment.strata is not None:
            missing = [each.missing for each in self.others if each.name == self.treatment.strata]
            nulls = (*self.null_values, *(missing[0] if missing else ()))
            columns["group"] = as_texts(nameless(combinations.to_series(1)), nulls)
        rows = pl.DataFrame({**columns, "records": pl.Series(counts, dtype=pl.Int64)}).drop_nulls("value")
        if self.treatment.reads == "text" and len(columns) == 1 and rows["value"].n_unique() == len(rows):
            return Distinct(self.name, rows["value"], rows["records"].to_numpy())
        grouped = rows.group_by(*columns).agg(pl.col("records").sum())
        values = grouped.group_by("value").agg(pl.col("records").sum())
        if self.treatment.reads != "text":
            values = values.sort("value")
        return Distinct(
            self.name, values["value"], values["records"].to_numpy(), grouped if len(columns) > 1 else None
        )

    def type_of(self, dtype: pl.DataType) -> pl.DataType:
        """Return the type of the treated column."""
        if self.treatment.reads == "text" or not (dtype.is_numeric() or dtype.is_temporal()):
            return pl.String()
        return self.treatment.type_of(dtype)

    def of(
        self, rows: pl.DataFrame, draws: NDArray[np.uint64] | None = None, codes: Codes | None = None
    ) -> pl.Series:
        """Treat rows with at least the `columns`.

        Parameters
        ----------
        draws
            The random numbers of these rows, where the treatment needs such.
        codes
            What was found of these very rows for other columns.
        """
        codes = Codes() if codes is None else codes
        reading = self._read_values(nameless(rows[self.name]), codes)
        treated = self.treatment.treat(self._batch(reading, rows, draws, codes))
        return reading.written(treated, self.type_of(rows[self.name].dtype)).alias(self.name)

    def batch(self, rows: pl.DataFrame) -> Batch:
        """Read rows with at least the `columns` as a batch for the treatment."""
        codes = Codes()
        return self._batch(self._read_values(nameless(rows[self.name]), codes), rows, None, codes)

    def _batch(
        self, reading: _Reading, rows: pl.DataFrame, draws: NDArray[np.uint64] | None, codes: Codes
    ) -> Batch:
        beside = {
            name: self._beside(name, nameless(rows[name]), codes)
            for name in self.columns
            if name != self.name or name in self.treatment.columns
        }
        return Batch(reading.values, beside, self.decided, self.secret, draws, self.name, codes)

    def named(self, combinations: pl.DataFrame) -> pl.DataFrame:
        """Rename counted combinations to `columns`."""
        return pl.DataFrame(
            {name: combinations.to_series(position) for position, name in enumerate(self.columns)},
            strict=False,
        )

    def following(
        self, combinations: pl.DataFrame, counts: NDArray[np.int64], lead: Mapping[str, Any]
    ) -> TreatedColumn:
        """Choose the linked value for each treated value of the lead (see `Linked`).

        Parameters
        ----------
        combinations, counts
            The combinations of `columns` as an engine has them.
        lead
            What was decided of the lead.

        Raises
        ------
        SchemaError
            When its values cannot be read as they are declared.
        """
        treatment = self.treatment
        assert isinstance(treatment, Linked)
        rows = self.named(combinations)
        declared = treatment.kind != "auto"
        kinds: tuple[Reads, ...] = (treatment.reads,) if declared else ("number", "date", "text")
        for kind in kinds:
            column = replace(self, treatment=replace(treatment, kind=kind), decided={"lead": dict(lead)})
            try:
                batch = column.batch(rows)
            except SchemaError:
                if kind == kinds[-1]:
                    raise
                continue
            decided = replace(treatment, kind=kind).decide(batch, pl.Series(counts, dtype=pl.Int64))
            return replace(column, decided={**column.decided, **decided})
        raise AssertionError(kinds)

    def _beside(self, name: str, series: pl.Series, codes: Codes) -> pl.Series:
        """Read another column by that column's own spelling."""
        reads = self.treatment.reads_of(name)
        attributes = {each.name: each for each in self.others}
        attribute = attributes[name] if name in attributes else replace(self.attribute.unspelled(), name=name)
        return _READERS[reads](series, replace(self, attribute=attribute), codes).values

    def _read_values(self, series: pl.Series, codes: Codes) -> _Reading:
        return _READERS[self.treatment.reads](series, self, codes)


def as_texts(series: pl.Series, null_values: tuple[str, ...]) -> pl.Series:
    """Return the texts of a column, the same in every engine: 17 for 17.0, 2020-03-05 for midnight."""
    kind = series.dtype
    if isinstance(kind, pl.Categorical | pl.Enum) or kind in (pl.Null, pl.Boolean):
        series, kind = series.cast(pl.String), pl.String()
    series = null_values_of(null_values).without(series)
    if kind == pl.String:
        return series
    if kind.is_float():
        return without_negative_zero(series.fill_nan(None)).cast(pl.String).str.strip_suffix(".0")
    if isinstance(kind, pl.Decimal):
        # 17.50 and 17.5 are one number, and so are 17.00 and 17.
        return series.cast(pl.String).str.replace(r"(\.[0-9]*?)0+$", "$1").str.strip_suffix(".")
    if kind == pl.Date:
        return series.dt.to_string("iso")
    if isinstance(kind, pl.Datetime):
        local = series.dt.replace_time_zone(None)
        return local.dt.to_string("%Y-%m-%dT%H:%M:%S%.f").str.strip_suffix("T00:00:00")
    return series.cast(pl.String)


class _Reading(NamedTuple):
    """A column as the treatment reads the values, with the means to write the values back."""

    values: pl.Series
    source: pl.Series
    column: TreatedColumn

    def written(self, treated: pl.Series, kind: pl.DataType) -> pl.Series:
        """Write the result of a treatment."""
        gives = self.column.treatment.gives
        if treated.dtype == pl.String or gives == "text":
            return treated
        return _write_numbers(self, treated, kind) if gives == "number" else _write_dates(self, treated, kind)


def _refuse(column: TreatedColumn, wrong: int, kind: str) -> SchemaError:
    return SchemaError(
        f"column {column.name!r}: {column.treatment.name} needs {kind}, and {wrong:,} distinct values are "
        f"none; name those that mean missing with {null_values_setting()}, declare how they are written "
        "(format, decimal, thousands), or take another treatment"
    )


def _read_texts(series: pl.Series, column: TreatedColumn, codes: Codes) -> _Reading:
    def coded() -> Coded:
        return codes.of(column.name, series).read(lambda distinct: as_texts(distinct, column.nulls))

    codes.offer_texts(column.name, coded)
    return _Reading(as_texts(series, column.nulls), series, column)


def _read_distinct(series: pl.Series, column: TreatedColumn, codes: Codes, reader: _Reader) -> pl.Series:
    """Read each distinct text of a column once."""
    coded = codes.of(column.name, series)
    return coded.read(lambda distinct: as_texts(distinct, column.nulls)).each(
        lambda texts: reader(texts, column)
    )


# --- numbers -----------------------------------------------------------------------------------------


def _read_numbers(series: pl.Series, column: TreatedColumn, codes: Codes) -> _Reading:
    kind = series.dtype
    if kind.is_numeric():
        values = null_values_of(column.nulls).without(series).cast(pl.Float64).fill_nan(None)
        largest = values.abs().max()
        if kind.is_integer() and largest is not None and float(largest) > _EXACT:  # type: ignore[arg-type]
            raise SchemaError(
                f"column {column.name!r}: {column.treatment.name} needs numbers below 2^53; turn it into "
                "text and mask it, or leave it out"
            )
        return _Reading(values, series, column)
    return _Reading(_read_distinct(series, column, codes, _parse_numbers), series, column)


def _parse_numbers(texts: pl.Series, column: TreatedColumn) -> pl.Series:
    spelling = column.attribute.spelling
    if spelling:
        plain = pl.Series([spelling.number(text)[0] for text in texts], dtype=pl.String)
    else:
        plain = texts.str.strip_chars()
        plain = pl.select(pl.when(pl.lit(plain).str.contains(_NUMBER)).then(pl.lit(plain))).to_series()
    numbers = plain.cast(pl.Float64, strict=False)
    wrong = len(numbers) - int(numbers.is_finite().sum())
    if wrong:
        raise _refuse(column, wrong, "numbers")
    return numbers


def _write_numbers(reading: _Reading, treated: pl.Series, kind: pl.DataType) -> pl.Series:
    if kind.is_integer():
        return treated.round().clip(-_WIDEST, _WIDEST).cast(kind)
    if kind.is_numeric():
        return treated.cast(kind)
    spelling = reading.column.attribute.spelling
    return Coded.of_values(treated).each(
        lambda numbers: pl.Series([_write_number(x, spelling) for x in numbers], dtype=pl.String)
    )


def _write_number(value: float, spelling: Spelling) -> str:
    """Write a number plainly, or in the column's spelling."""
    text = np.format_float_positional(value, trim="-")
    integer, _, part = text.partition(".")
    if spelling.thousands is not None:
        sign = "-" if integer.startswith("-") else ""
        integer = sign + f"{int(integer.lstrip('-')):,}".replace(",", spelling.thousands)
    return integer + (f"{spelling.point}{part}" if part else "")


# --- days --------------------------------------------------------------------------------------------


def _read_days(series: pl.Series, column: TreatedColumn, codes: Codes) -> _Reading:
    kind = series.dtype
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        present = null_values_of(column.nulls).without(series)
        local = present.dt.replace_time_zone(None) if isinstance(kind, pl.Datetime) else present
        return _Reading(local.cast(pl.Date).cast(pl.Int32).cast(pl.Int64), present, column)
    if kind.is_numeric():
        raise _refuse(column, series.n_unique(), "dates")
    reader = _parse_days if column.attribute.format is None else _parse_spelled_days
    days = _read_distinct(series, column, codes, reader)
    return _Reading(days, as_texts(series, column.nulls), column)


def _parse_spelled_days(texts: pl.Series, column: TreatedColumn) -> pl.Series:
    moments = [column.attribute.spelling.moment(text) for text in texts]
    if wrong := moments.count(None):
        raise _refuse(column, wrong, "dates")
    days = [moment.toordinal() - EPOCH for moment in moments if moment is not None]
    return pl.Series(days, dtype=pl.Int64)


def _parse_days(texts: pl.Series, column: TreatedColumn) -> pl.Series:
    right = pl.lit(texts).str.contains(_DAY)
    days = pl.lit(texts).str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    parsed = pl.select(pl.when(right).then(days)).to_series()
    if wrong := parsed.null_count():
        raise _refuse(column, wrong, "dates (as 2020-03-05)")
    return parsed.cast(pl.Int32).cast(pl.Int64)


def _write_dates(reading: _Reading, treated: pl.Series, kind: pl.DataType) -> pl.Series:
    moved = treated - reading.values
    keeps = reading.column.treatment.keeps_time
    source = reading.source
    if kind == pl.Date:
        return treated.cast(pl.Int32).cast(pl.Date)
    if isinstance(kind, pl.Datetime):
        start = source if keeps else source.dt.truncate("1d")
        return pl.select(pl.lit(start) + pl.duration(days=pl.lit(moved))).to_series().cast(kind)
    spelling = reading.column.attribute.spelling
    if spelling.format is None:
        days = _each_day(treated, _write_days)
        times = source.str.slice(_DATE)
        return days + times if keeps and (times != "").any() else days
    if not (keeps and spelling.is_timed):
        return _each_day(treated, lambda days: _write_spelled_days(days, spelling))
    pairs = pl.DataFrame({"text": source, "moved": moved})
    distinct = pairs.drop_nulls().unique()
    texts = [_shift(spelling, text, days) for text, days in distinct.iter_rows()]
    table = distinct.with_columns(pl.Series("made", texts, dtype=pl.String))
    return pairs.join(table, on=["text", "moved"], how="left", maintain_order="left")["made"]


def _each_day(values: pl.Series, write: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Write days, each distinct day once if there are fewer days than rows."""
    present = values.drop_nulls().cast(pl.Int64)
    first, last = present.min(), present.max()
    if not isinstance(first, int) or not isinstance(last, int) or last - first >= len(values):
        return Coded.of_values(values).each(write)
    days = pl.Series(range(first, last + 1), dtype=pl.Int64)
    return write(days).gather(values.cast(pl.Int64) - first)


def _write_days(days: pl.Series) -> pl.Series:
    return days.cast(pl.Int32).cast(pl.Date).dt.to_string("iso")


def _write_spelled_days(days: pl.Series, spelling: Spelling) -> pl.Series:
    assert spelling.format is not None
    try:
        dates = [dt.date.fromordinal(EPOCH + day) for day in days]
    except (OverflowError, ValueError):
        raise _at_the_ends() from None
    midnight = dt.time()
    texts = [dt.datetime.combine(date, midnight).strftime(spelling.format) for date in dates]
    return pl.Series(texts, dtype=pl.String)


def _shift(spelling: Spelling, text: str, days: int) -> str:
    """Write the moment `days` after another in the column's spelling."""
    moment = spelling.moment(text)
    assert moment is not None
    assert spelling.format is not None
    try:
        return (moment + dt.timedelta(days=days)).strftime(spelling.format)
    except OverflowError:
        raise _at_the_ends() from None


def _at_the_ends() -> SchemaError:
    return SchemaError("a date is too near to the years 1 or 9999 to be shifted; correct it first")


_Reader = Callable[["pl.Series", TreatedColumn], "pl.Series"]
_READERS: dict[Reads, Callable[[pl.Series, TreatedColumn, Codes], _Reading]] = {
    "text": _read_texts,
    "number": _read_numbers,
    "date": _read_days,
}
