"""randomize(): local differential privacy, a column at a time."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from incrowd.core.documents import envelope
from incrowd.core.errors import MissingExtraError, ParameterError, PolicyError, TableError, quoted
from incrowd.core.io.addresses import file_path
from incrowd.core.lazy import NDArray, np, nw, pl
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import EPSILON, check_fields, parameter
from incrowd.core.reading.spellings import refuse_unclear_points
from incrowd.core.table.schema import Schema, require_columns
from incrowd_gate.points import UNANSWERED, Accepted, Point, Unanswered
from incrowd_gate.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Laplace:
    """Add Laplace noise of scale (high - low) / epsilon to numbers clipped to low .. high.

    You declare the bounds. They are not read from the data, because such bounds would tell the largest value.
    If both bounds and the whole column are whole numbers, the noise is discrete and results are whole
    numbers.

    Parameters
    ----------
    epsilon
        Privacy loss of a record's value, > 0.
    low, high
        Bounds, low < high. Values outside are brought to the nearer one; results may lie outside.

    References
    ----------
    Dwork, McSherry, Nissim and Smith, Calibrating noise to sensitivity in private data analysis, TCC 2006.
    The noise is OpenDP's, which floating-point attacks (Mironov 2012) do not undo.
    """

    epsilon: float = EPSILON.field()
    low: float = parameter("the least value", kind=float)
    high: float = parameter("the largest value", kind=float)

    def __post_init__(self) -> None:
        check_fields(self, "laplace")
        if not self.low < self.high:
            raise ParameterError("laplace: low must be below high")


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """Keep a category with probability e^epsilon / (e^epsilon + m - 1), else draw another.

    Parameters
    ----------
    epsilon
        Privacy loss of a record's value, > 0.
    categories
        All m values that there may be, two or more, declared by the caller; None stands for missing.

    References
    ----------
    Warner, Randomized response, JASA 60(309), 1965; with m values Kairouz, Oh and Viswanath, Extremal
    mechanisms for local differential privacy, JMLR 17, 2016 (k-ary randomized response).
    """

    epsilon: float
    categories: tuple[str | None, ...]

    def __repr__(self) -> str:
        return f"RandomizedResponse(epsilon={self.epsilon:g}, {len(self.categories)} categories)"

    def __init__(self, epsilon: float, categories: Sequence[str | None]) -> None:
        epsilon = EPSILON.check(epsilon, "randomized response", "epsilon")
        if isinstance(categories, str) or len(set(categories)) < len(categories) or len(categories) < 2:
            raise ParameterError("randomized response: give two categories or more, each once")
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "categories", tuple(categories))

    @property
    def kept(self) -> int:
        """Number of 2^64 draws that keep the value, rounded down so that epsilon is not exceeded."""
        others = len(self.categories) - 1
        share = 1 / (1 + others * math.exp(-self.epsilon))
        return min(int(share * (1 - 2**-50) * 2**64), 2**64 - 1)


Mechanism = Laplace | RandomizedResponse


@dataclass(frozen=True)
class RandomizedTable(InNotebooks):
    """A table with noise, and the privacy loss.

    Attributes
    ----------
    table
        The table, of the kind that came in.
    epsilons
        Privacy loss per randomized column.
    clipped
        Per column of numbers the values that were brought to a bound.
    points
        What the columns without a mechanism tell about people.
    """

    _shown = ("epsilon", "epsilons", "clipped")

    table: Any = field(repr=False)
    epsilons: dict[str, float]
    clipped: dict[str, int]
    points: tuple[Point, ...] = field(default=(), repr=False)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the columns without a mechanism."""
        return Verdict(self.points)

    def __repr__(self) -> str:
        return f"RandomizedTable({len(self.epsilons)} columns, epsilon {self.epsilon:g})"

    @property
    def epsilon(self) -> float:
        """Privacy loss of a whole record, by sequential composition: the sum over columns."""
        return math.fsum(self.epsilons.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without counts of the data."""
        return {
            **envelope("randomization"),
            "verdict": self.verdict.to_dict(),
            "epsilon": self.epsilon,
            "epsilons": self.epsilons,
        }


def randomize(
    table: Any,
    mechanisms: Mapping[str, Mechanism],
    *,
    budget: float | None = None,
    accepted: Sequence[Accepted] = (),
    unanswered: Unanswered = "refuse",
) -> RandomizedTable:
    """Add noise to columns (local differential privacy), so that every record is protected by itself.

    Each value is randomized independently of all others. The guarantee is local differential privacy: for any
    two values of a column, every result is at most e^epsilon times as likely from one as from the other.

    Columns that are not named stay as they are. There is no seed, because whoever had it could take the noise
    off.

    Parameters
    ----------
    table
        A pandas, Polars or PyArrow table, or the path of a CSV or Parquet file.
    mechanisms
        What to do with each column.
    budget
        Largest sum of epsilons over the columns of a record; None sets no limit.
    accepted
        Answers to open points, which columns without a mechanism may have.
    unanswered
        What becomes of a table with open points, as in `anonymize`.

    Raises
    ------
    ParameterError
        When the budget does not do, or there is no mechanism.
    SchemaError
        When the table lacks a column.
    TableError
        When a column to get Laplace noise has cells that are no numbers, or a column of categories has others
        than were declared; nothing is drawn then.
    MissingExtraError
        When Laplace noise is asked for without OpenDP.
    VerdictError
        When a column without a mechanism has an open point.
    """
    from incrowd.core.io.frames import without_traces
    from incrowd.engines import engine_for, loaded
    from incrowd.release.accounts.points import points_of_table

    UNANSWERED.check(unanswered, "randomize", "unanswered")
    if not mechanisms:
        raise ParameterError("randomize: name a mechanism for one column at least")
    for name, mechanism in mechanisms.items():
        if not isinstance(mechanism, Laplace | RandomizedResponse):
            raise ParameterError(
                f"randomize: {name!r} needs a mechanism, Laplace(epsilon, low, high) or "
                f"RandomizedResponse(epsilon, categories), and got {quoted(mechanism)}"
            )
    epsilons = {name: float(mechanism.epsilon) for name, mechanism in mechanisms.items()}
    total = math.fsum(epsilons.values())
    if budget is not None and total > budget * (1 + 1e-12):
        raise ParameterError(
            f"randomize: the columns ask for epsilon {total:g} together and the budget is {budget:g}; lower "
            "some, or leave columns out"
        )
    table = loaded(table)
    columns = engine_for(table).columns
    require_columns(mechanisms, columns, "randomize: ")
    frame = nw.from_native(table, eager_only=True)
    # All columns are read before any noise is drawn.
    read = {
        name: _numbers(frame, name, mechanism)
        if isinstance(mechanism, Laplace)
        else _ranks(frame, name, mechanism)
        for name, mechanism in mechanisms.items()
    }
    noisy: dict[str, Any] = {}
    clipped: dict[str, int] = {}
    for name, mechanism in mechanisms.items():
        if isinstance(mechanism, Laplace):
            values = read[name]
            clipped_values = values.clip(mechanism.low, mechanism.high)
            clipped[name] = int((clipped_values != values).sum())
            noisy[name] = _series(frame, name, _with_noise(clipped_values, mechanism))
        else:
            ranks = _respond(read[name], mechanism)
            noisy[name] = _series(frame, name, [mechanism.categories[rank] for rank in ranks.tolist()])
    columns_out = {name: noisy.get(name, frame[name]) for name in frame.columns}
    leaving = without_traces(frame, columns_out)
    schema = Schema(identifying=list(mechanisms), unlisted="keep")
    points = points_of_table(
        engine_for(leaving), schema, len(frame), accepted, raw=engine_for(table), hidden=list(mechanisms)
    )
    released = RandomizedTable(leaving, epsilons, clipped, points)
    released.verdict.admit(unanswered)
    return released


def _series(frame: nw.DataFrame[Any], name: str, values: Any) -> nw.Series[Any]:
    return nw.new_series(name, values, backend=frame.implementation)


def _numbers(frame: nw.DataFrame[Any], name: str, mechanism: Laplace) -> NDArray[Any]:
    """Read a column of numbers: int64 if the bounds and all values are whole, else float64."""
    column = frame[name].to_polars().alias("")
    refuse_unclear_points(column, name)
    numbers = column.cast(pl.Float64, strict=False).fill_nan(None)
    missing = int(numbers.null_count())
    if missing:
        raise TableError(
            f"column {name!r}: {missing} cells are missing or no numbers; fill them in first, since whether "
            "a value is missing would be released as it is"
        )
    values: NDArray[Any] = numbers.to_numpy()
    if all(float(bound).is_integer() for bound in (mechanism.low, mechanism.high)) and bool(
        np.all(values == np.rint(values))
    ):
        values = np.rint(values.clip(-(2.0**62), 2.0**62)).astype(np.int64)
    return values


def _with_noise(values: NDArray[Any], mechanism: Laplace) -> Any:
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError:
        raise MissingExtraError("opendp", "dp", "Laplace noise") from None
    whole = values.dtype == np.int64
    kind = "i64" if whole else "f64"
    extent = (
        int(mechanism.high) - int(mechanism.low) if whole else float(mechanism.high) - float(mechanism.low)
    )
    domain = dp.atom_domain(T=kind) if whole else dp.atom_domain(T=kind, nan=False)
    dp.enable_features("contrib")
    noise: Any = dp.m.make_laplace(
        dp.vector_domain(domain),
        dp.l1_distance(T=kind),
        # A hair more, so that the loss is at most epsilon after rounding, too.
        scale=float(extent) / mechanism.epsilon * (1 + 2**-40),
    )
    if noise.map(d_in=extent) > mechanism.epsilon:
        raise ParameterError(f"laplace: epsilon {mechanism.epsilon!r} cannot be kept with these bounds")
    return np.array(noise(values.tolist()), dtype=values.dtype)


def _ranks(frame: nw.DataFrame[Any], name: str, mechanism: RandomizedResponse) -> NDArray[np.int64]:
    """Read a column of categories as indices of the declared categories."""
    texts = frame[name].to_polars().alias("").cast(pl.String)
    place = {category: rank for rank, category in enumerate(mechanism.categories)}
    distinct = texts.unique()
    strange = sum(
        int((texts.is_null() if value is None else texts == value).sum())
        for value in distinct
        if value not in place
    )
    if strange:
        raise TableError(
            f"column {name!r}: {strange} cells have a value that is not among the declared categories; "
            "declare all that there may be (None for missing)"
        )
    of_value = {value: place[value] for value in distinct}
    return np.array([of_value[value] for value in texts.to_list()], np.int64)


def _respond(ranks: NDArray[np.int64], mechanism: RandomizedResponse) -> NDArray[np.int64]:
    """Keep or replace each category, with randomness of the operating system."""
    draws = np.frombuffer(secrets.token_bytes(8 * len(ranks)), np.uint64)
    moved = np.flatnonzero(draws >= np.uint64(mechanism.kept))
    size = len(mechanism.categories)
    result = ranks.copy()
    result[moved] = (ranks[moved] + 1 + _below(size - 1, len(moved))) % size
    return result


def _below(limit: int, count: int) -> NDArray[np.int64]:
    """Draw uniform whole numbers below a limit."""
    numbers = np.zeros(0, np.uint64)
    largest = np.uint64(2**64 // limit * limit - 1)
    while len(numbers) < count:
        draws = np.frombuffer(secrets.token_bytes(8 * (count - len(numbers))), np.uint64)
        # Those above the last multiple would make small numbers likelier.
        numbers = np.concatenate((numbers, draws[draws <= largest]))
    return (numbers % np.uint64(limit)).astype(np.int64)


def mechanisms_from_toml(path: str | os.PathLike[str]) -> tuple[dict[str, Mechanism], float | None]:
    """Read mechanisms and the budget from a TOML file.

    ``budget = 10.0``, and per column ``[columns.NAME]`` with ``mechanism = "laplace"``, ``epsilon``, ``low``,
    ``high``, or ``mechanism = "randomized-response"``, ``epsilon``, ``categories`` and optionally
    ``missing = true`` for one more category. ``[ledger]`` with ``epsilon`` is for
    `Ledger.adding`.

    Raises
    ------
    ParameterError
        When the file cannot be read or says something else.
    """
    from incrowd.release.policy.policy_file import read_toml

    path = file_path(path)
    try:
        document = read_toml(path)
    except PolicyError as error:
        raise ParameterError(str(error)) from None
    budget = document.pop("budget", None)
    columns = document.pop("columns", {})
    ledger = document.pop("ledger", {"epsilon": 1.0})
    wrong = not isinstance(ledger, dict) or ledger.keys() != {"epsilon"}
    if document or wrong or not isinstance(columns, dict) or not columns:
        raise ParameterError(f"{path}: write [columns.NAME] for each column, and budget = ... if you like")
    for limit in (1.0 if budget is None else budget, ledger["epsilon"]):
        EPSILON.check(limit, str(path), "budget")
    return {name: _mechanism(f"{path}, column {name!r}", spec) for name, spec in columns.items()}, budget


def _mechanism(where: str, spec: object) -> Mechanism:
    parameters = {
        "laplace": {"epsilon", "low", "high"},
        "randomized-response": {"epsilon", "categories"},
    }
    if not isinstance(spec, dict) or spec.get("mechanism") not in parameters:
        raise ParameterError(f"{where}: mechanism must be one of {', '.join(parameters)}")
    kind = spec["mechanism"]
    allowed = parameters[kind] | ({"missing"} if kind == "randomized-response" else set())
    names = set(spec) - {"mechanism"}
    if names - allowed or parameters[kind] - names:
        raise ParameterError(f"{where}: {kind} takes {', '.join(sorted(parameters[kind]))}")
    try:
        if kind == "laplace":
            return Laplace(spec["epsilon"], spec["low"], spec["high"])
        categories = spec["categories"]
        if not isinstance(categories, list) or not all(isinstance(value, str) for value in categories):
            raise ParameterError("categories must be a list of texts")
        return RandomizedResponse(spec["epsilon"], [*categories, *([None] if spec.get("missing") else [])])
    except ParameterError as error:
        raise ParameterError(f"{where}: {error}") from None
