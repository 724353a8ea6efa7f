"""Dates shifted by an offset per person."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments._text_cache import Kept, Words
from incrowd.core.treatments.base import LINKED, PERSON, Batch, Reads, Treatment
from incrowd.core.treatments.keys import KEY_MEANING

if TYPE_CHECKING:
    from incrowd.core.treatments.codes import Coded
    from incrowd.core.treatments.keys import Secret

_WEEK = 7
_WORD = 8
"""Bytes of a digest that an offset is drawn from."""


@dataclass(frozen=True)
class ShiftDates(Treatment):
    """Shift all dates of a person by the same number of days, computed from the person and a key.

    Intervals between dates of one person stay exact, in all columns and tables that are shifted with the
    same key and range. No date stays where it was. Times of the day stay as they are.

    A row that does not say whose it is has no offset, so its date becomes missing.

    Parameters
    ----------
    days
        Dates move by at most so many days, back or forth, and by one at least.
    by
        The column that says whose date it is; ``person`` for the columns of that role.
    key
        Where the key is, as for `Pseudonym`.
    keep_weekday
        Whether dates move by whole weeks.
    linked
        Columns of dates that move by as many days.

    Examples
    --------
    >>> import incrowd as ic
    >>> ic.ShiftDates(30, key="env:CLINIC_KEY").spec()
    {'shift-dates': 30, 'key': 'env:CLINIC_KEY'}

    References
    ----------
    Johnson et al., MIMIC-III, a freely accessible critical care database, Scientific Data 3, 2016 (dates
    shifted by one offset per patient); RFC 2104 (the offset is drawn with HMAC-SHA-256).
    """

    days: int = parameter("most days that a date moves, back or forth", kind=int, low=1, high=36500)
    by: str = parameter("column that says whose date it is", kind=str, default=PERSON)
    key: str = parameter(KEY_MEANING, kind=str, default="prompt")
    keep_weekday: bool = parameter("whether dates move by whole weeks", kind=bool, default=False)
    linked: str | None = LINKED.field(None)

    name: ClassVar[str] = "shift-dates"
    summary: ClassVar[str] = "shifts all dates of a person by one number of days, drawn from a key"
    paper: ClassVar[str] = "Johnson et al. 2016"
    reads: ClassVar[Reads] = "date"
    perturbs: ClassVar[bool] = True
    keeps_time: ClassVar[bool] = True
    no_promise: ClassVar[str] = (
        "Intervals are exact, and whoever knows one date of a person knows all of them. Seasons stay visible "
        "where the range is short."
    )
    moves_dates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep_weekday and self.days < _WEEK:
            raise ParameterError(f"{self.name}: days must be at least {_WEEK} where the weekday is kept")

    @property
    def promise(self) -> str:
        """Say how far dates move."""
        weeks = " by whole weeks" if self.keep_weekday else ""
        return f"is shifted{weeks} by up to {self.days} days, by the same for all dates of one {self.by}"

    def sentence(self, column: str) -> str:
        """Describe the shift, with a warning about a range that nearly tells every date."""
        sentence = super().sentence(column)
        if self.days >= _WEEK:
            return sentence
        within = "a day" if self.days == 1 else f"{self.days} days"
        return f"{sentence} Each date is known to within {within}: give a longer range, as 30."

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that name the person."""
        return (self.by,)

    def treat(self, batch: Batch) -> pl.Series:
        """Shift the rows."""
        secret = batch.secret
        assert secret is not None
        # Other columns of the same rows may have the same offsets.
        key = (self.name, self.days, self.keep_weekday, secret.origin, *batch.beside)
        offsets = batch.codes.once(key, lambda: self._offsets_of_rows(batch.people(), secret))
        return pl.select(pl.lit(batch.values) + pl.lit(offsets)).to_series()

    def _offsets_of_rows(self, people: Coded, secret: Secret) -> pl.Series:
        purpose = secret.for_purpose(self.name)
        # The cache is shared by all batches, as a person's rows are in many.
        words = secret.shared.setdefault(Words, Words())
        cache = secret.shared.setdefault((self.name, self.days, self.keep_weekday), Kept(words))
        return people.each(lambda texts: pl.Series(cache.of(texts, lambda new: self._offsets(new, purpose))))

    def along(self, days: pl.Series, lead: Batch) -> pl.Series:
        """Shift linked days by the offsets of the rows, even where the lead is missing."""
        return self.treat(replace(lead, values=days))

    def _offsets(self, people: pl.Series, secret: Secret) -> NDArray[np.int64]:
        """Return the offset of each person: -most to most steps, but never 0."""
        step = _WEEK if self.keep_weekday else 1
        most = self.days // step
        # The first 64 bits of each digest: more than enough for a range of days.
        first = np.ascontiguousarray(secret.digests(people)[:, :_WORD]).view(">u8").ravel()
        drawn = (first % np.uint64(2 * most)).astype(np.int64) - most
        return (drawn + (drawn >= 0)) * step
