"""The base class of treatments: columns in, a column out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, final

from incrowd.core.errors import ParameterError, quoted, setting
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.parameters import Configured, Parameter, Registry
from incrowd.core.treatments.codes import Coded, Codes
from incrowd.core.treatments.keys import check_source

if TYPE_CHECKING:
    from incrowd.core.treatments.keys import Secret


def whose(columns: list[pl.Series]) -> pl.Series:
    """Join columns to a text that differs for different values, missing if all are missing."""
    if len(columns) == 1:
        return columns[0]
    # Lengths keep "a,b" beside "c" apart from "a" beside "b,c": 3:a,b,1:c and 1:a,3:b,c.
    texts = [pl.lit(column) for column in columns]
    parts = [
        pl.when(text.is_null()).then(pl.lit("-")).otherwise(pl.format("{}:{}", text.str.len_bytes(), text))
        for text in texts
    ]
    gone = pl.all_horizontal(text.is_null() for text in texts)
    return pl.select(pl.when(~gone).then(pl.concat_str(parts, separator=","))).to_series()


Reads = Literal["text", "number", "date"]
LINKED = Parameter(str, "columns that tell the same and go along, as city+region", optional=True)
"""The parameter of treatments that other columns can follow."""
NOTHING_LEFT = "nothing is left that a column could follow; treat or leave out the other column, too"
TELLS_NOTHING = (
    "its values say nothing that a column could follow; give the other column a pseudonym, too, or leave "
    "it out"
)
"""Why no column can go along; see `Treatment`."""


@dataclass(frozen=True)
class Distinct:
    """The distinct values of a column without missing values.

    Attributes
    ----------
    column
        Its name.
    values
        As the treatment reads them: texts; numbers (Float64) or days since 1970 (Int64), in order.
    counts
        int64[values]: how many records have each.
    grouped
        The same within groups, where the treatment works in such: value, group and records.
    """

    column: str
    values: pl.Series
    counts: NDArray[np.int64]
    grouped: pl.DataFrame | None = None

    def __repr__(self) -> str:
        return f"Distinct({self.column!r}, {len(self.values):,} values)"

    def by_group(self) -> list[tuple[str | None, list[Any], list[int]]]:
        """Return each group with the values and records, or a single group without groups."""
        if self.grouped is None:
            return [(None, self.values.to_list(), self.counts.tolist())]
        parts = self.grouped.sort("group", "value").partition_by("group", maintain_order=True)
        return [(part["group"][0], part["value"].to_list(), part["records"].to_list()) for part in parts]


@dataclass(frozen=True)
class Batch:
    """Rows of a column, and the other inputs of a treatment.

    Attributes
    ----------
    values
        As the treatment reads them: texts, numbers (Float64) or days since 1970 (Int64).
    beside
        Further columns by name, read as `Treatment.reads_of` says; `Treatment.columns` asks for them.
    decided
        What `Treatment.learn` decided of the first table.
    secret
        The key, where the treatment has one.
    draws
        uint64[rows]: a random number for each row, where the treatment is random.
    name
        The column's name.
    codes
        What was found of these rows already.
    """

    values: pl.Series
    beside: Mapping[str, pl.Series] = field(default_factory=dict)
    decided: Mapping[str, Any] = field(default_factory=dict)
    secret: Secret | None = None
    draws: NDArray[np.uint64] | None = None
    name: str = ""
    codes: Codes = field(default_factory=Codes, repr=False)

    def __repr__(self) -> str:
        return f"Batch({len(self.values):,} rows)"

    def coded(self) -> Coded:
        """Return the distinct values and codes of the column, read as texts."""
        return self.codes.texts(self.name, self.values)

    def people(self) -> Coded:
        """Return the distinct combinations of all further columns, which name a person."""
        if len(self.beside) == 1:
            [(name, column)] = self.beside.items()
            return self.codes.texts(name, column)
        return self.codes.once(
            ("whose", *self.beside), lambda: Coded.of_values(whose(list(self.beside.values())))
        )


class Treatment(Configured):
    """Base of every treatment: a change to a column that is not generalized.

    A treatment is given a column as texts, as numbers or as days. It gives back as many rows. Missing values
    stay missing unless it says otherwise.

    Attributes
    ----------
    reads
        How it reads its column.
    promise
        What it does, in a sentence without a subject: ``is rounded to multiples of 500``.
    no_promise
        What it does not promise, as a sentence.
    for_quasi
        Whether a quasi-identifier may have it. Its values are then treated first and generalized afterwards.
    for_person
        Whether a column that says whose row it is may have it, so that it is released.
    moves_dates
        Whether columns that are linked with it are dates that move as its own do.
    unlinked
        Why no column can go along, where none can; see `linked_columns`.
    """

    # --- What a treatment is -------------------------------------------------------------------------

    reads: ClassVar[Reads] = "text"
    no_promise: ClassVar[str] = ""
    for_quasi: ClassVar[bool] = False
    for_person: ClassVar[bool] = False
    moves_dates: ClassVar[bool] = False
    unlinked: ClassVar[str] = ""

    def __post_init__(self) -> None:
        linked = getattr(self, "linked", None)
        if isinstance(linked, list | tuple) and all(isinstance(name, str) for name in linked):
            object.__setattr__(self, "linked", "+".join(linked))
        super().__post_init__()
        if self.key_source is not None:
            check_source(self.key_source, self.name)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return a treatment from named settings; see `Configured.from_settings`."""
        if "linked" in settings and "linked" not in cls.parameters():
            raise ParameterError(f"{cls.name}: no column can be linked with it, as {cls.unlinked}")
        return super().from_settings(settings)

    @property
    def promise(self) -> str:
        """Describe the treatment, as the end of a sentence that begins with the column's name."""
        raise NotImplementedError

    @property
    def perturbs(self) -> bool:
        """Whether equal values may become different values.

        Models then judge the values before. Those after look more diverse than what can be learned of them.
        """
        return False

    @property
    def is_random(self) -> bool:
        """Whether the treatment needs a random number for each row."""
        return False

    @property
    def keeps_time(self) -> bool:
        """Whether treated days keep the time of the day."""
        return False

    @property
    def key_source(self) -> str | None:
        """Source of the key, such as ``env:NAME``, or None without a key."""
        return getattr(self, "key", None)

    # --- What it reads, and what it gives ------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """Further columns that the treatment reads.

        `PERSON` stands for those that say whose row it is, `HOUSEHOLD` for those that say who lives together.
        """
        return ()

    def reads_of(self, column: str) -> Reads:
        """Return how the treatment reads a further column."""
        return "text"

    @property
    def is_whole(self) -> bool:
        """Whether the treatment needs all rows at once, so that the column must fit into memory."""
        return False

    @property
    def strata(self) -> str | None:
        """The column of the treatment's groups, which must be released as is because groups are visible."""
        return None

    @property
    def gives(self) -> Reads:
        """The kind of the result, by default that of the input."""
        return self.reads

    def type_of(self, came: pl.DataType) -> pl.DataType:
        """Return the type of a treated column of numbers or days.

        Whole numbers get 64 bits: 255 rounded to hundreds is 300, which 8 bits do not hold.
        """
        return pl.Int64() if came.is_integer() else came

    # --- What it does --------------------------------------------------------------------------------

    def learn(self, found: Distinct, secret: Secret | None) -> dict[str, Any]:
        """Decide the settings that all tables share from the first table's distinct values, as plain data.

        Raises
        ------
        ParameterError
            When the column cannot be treated so.
        """
        return {}

    def check_batch(self, found: Distinct, decided: Mapping[str, Any], secret: Secret | None) -> None:
        """Raise for distinct values of a later table that the decisions for the first do not allow.

        Raises
        ------
        ParameterError
        """

    def treat(self, batch: Batch) -> pl.Series:
        """Return the treated rows: as many values, of the kind that the treatment reads, or texts."""
        raise NotImplementedError

    # --- How other columns follow --------------------------------------------------------------------

    @property
    @final
    def linked_columns(self) -> tuple[str, ...]:
        """The columns with the same information, which must follow the treated column."""
        names: str | None = getattr(self, "linked", None)
        return tuple(name.strip() for name in names.split("+")) if names else ()

    def moves_with(self, column: str) -> tuple[str, ...]:
        """Return the columns with values that move to the same rows, including `column`, or nothing."""
        return ()

    def moves_like(self, other: Treatment) -> bool:
        """Return whether another treatment moves values to the same rows."""
        return self == other

    def leaves_exact(self, made: pl.Series, lead: Batch) -> pl.Series:
        """Return which treated rows keep the exact value, where linked columns stay unchanged."""
        return pl.Series([False]).new_from_index(0, len(made))

    def along(self, days: pl.Series, lead: Batch) -> pl.Series:
        """Move the days of a linked column as the lead's days move."""
        raise NotImplementedError

    # --- How it is written ---------------------------------------------------------------------------

    def sentence(self, column: str) -> str:
        """Describe the treatment of a column, with the limits."""
        return f"{column} {self.promise}. {self.no_promise}".rstrip()

    def spec(self) -> dict[str, Any]:
        """Return the treatment as written in a policy file: name and first parameter, then the others.

        Examples
        --------
        >>> import incrowd as ic
        >>> ic.Round(500, top=0.99).spec()
        {'round': 500, 'top': 0.99}
        """
        settings = self.settings()
        defaults = {entry.name: entry.default for entry in fields(self)}
        first = next(iter(self.parameters()), None)
        if "linked" in settings:
            settings["linked"] = list(self.linked_columns)
        value: Any = True if first is None else settings.pop(first, True)
        return {self.name: value} | {name: x for name, x in settings.items() if x != defaults[name]}

    def published(self) -> Self:
        """Return the treatment as written in a published policy, without the source of the key."""
        return self if self.key_source is None else type(self)(**{**self.settings(), "key": "prompt"})


PERSON = "person"
"""What `by` says for the columns that say whose row it is."""
HOUSEHOLD = "*household"
"""What stands for the columns that say who lives together; no column has to be named so."""


def treatment_of(given: object, column: str, registry: Registry[Treatment]) -> Treatment:
    """Make a treatment from the notation of a caller or of a policy file.

    Parameters
    ----------
    given
        A treatment, a text such as ``round:500,top=0.99``, or a mapping such as ``{"round": 500}``: the name
        of the treatment with its first parameter, and further parameters by name.
    column
        Whose treatment it is, for the message.

    Raises
    ------
    ParameterError, PolicyError
    """
    if isinstance(given, Treatment):
        return given
    try:
        if isinstance(given, str):
            return registry.parse(given)
        if isinstance(given, Mapping):
            return _of_mapping(given, registry)
    except ParameterError as error:
        raise type(error)(f"column {column!r}: {error}") from None
    if isinstance(given, type) and issubclass(given, Treatment):
        raise ParameterError(f"column {column!r}: {given.__name__} is a class; write {given.__name__}(...)")
    raise ParameterError(
        f"column {column!r}: a {type(given).__name__} is no treatment; write ic.Round(500), 'round:500' or "
        "{'round': 500}"
    )


def _of_mapping(given: Mapping[Any, Any], registry: Registry[Treatment]) -> Treatment:
    names = [name for name in given if name in registry]
    if not names:
        registry.get(str(next(iter(given), "")))
    # `{ round = 500, top = 0.99 }`: the treatment is the one that knows the others as its parameters.
    others = {name: [key for key in given if key != name] for name in names}
    fitting = [name for name in names if all(key in registry.get(name).parameters() for key in others[name])]
    name = (fitting or names)[0]
    if not fitting and len(names) > 1:
        raise ParameterError(f"{' and '.join(map(quoted, names))} are two treatments; a column can have one")
    entry = registry.get(name)
    settings: dict[str, Any] = {key: value for key, value in given.items() if key != name}
    first_parameter = next(iter(entry.parameters()), None)
    value = given[name]
    if first_parameter is None:
        if value is not True:
            raise ParameterError(f"{name}: has no setting; write {{ {name} = true }}")
    elif value is not True or entry.parameters()[first_parameter].kind is bool:
        settings = {first_parameter: value} | settings
    return entry.from_settings(settings)


def treatment_texts(texts: list[str] | tuple[str, ...]) -> dict[str, str]:
    """Read command-line treatments ``COLUMN=NAME:PARAMETERS`` by column.

    Raises
    ------
    ParameterError
        When one is not written so, or a column has two.

    Examples
    --------
    >>> treatment_texts(["salary=round:500,top=0.99"])
    {'salary': 'round:500,top=0.99'}
    """
    treatments: dict[str, str] = {}
    where = setting("treatments", "--treat")
    for text in texts:
        column, equals, treatment = text.partition("=")
        if not (equals and column and treatment):
            raise ParameterError(f"{where} {quoted(text)}: write COLUMN=NAME:PARAMETERS, as salary=round:500")
        if column in treatments:
            raise ParameterError(f"{where}: column {column!r} has two treatments; give it one")
        treatments[column] = treatment
    return treatments
