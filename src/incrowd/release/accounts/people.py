"""The people, the classes and the weights of a table in figures and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, named
from incrowd.core.lazy import NDArray, np
from incrowd.measures.privacy.km_anonymity import KMAnonymity, lone_histories
from incrowd_gate.wording import at_most, percent, who_knows

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema


_BINS = (1, 2, 3, 4, 5, 10, 20, 50)


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Classes with a size in ``least .. most``, both included."""

    least: int
    most: int
    classes: int
    records: int


def size_distribution(sizes: NDArray[np.int64]) -> tuple[SizeBin, ...]:
    """Group classes into bins, given the size of each: int64[classes]."""
    from incrowd.core.kernels.grouping.counting import tally

    return size_bins(*tally(sizes))


def size_bins(sizes: NDArray[np.int64], counts: NDArray[np.integer]) -> tuple[SizeBin, ...]:
    """Group classes into bins by size.

    Parameters
    ----------
    sizes, counts
        int64[sizes], ascending: each size that occurs, and how many classes have it.
    """
    bounds = list(_BINS)
    while len(sizes) and bounds[-1] <= int(sizes[-1]):
        bounds += [bounds[-1] * 2, bounds[-1] * 4, bounds[-1] * 10]
    place = np.searchsorted(bounds, sizes, side="right") - 1
    classes = np.bincount(place, counts, minlength=len(bounds))
    records = np.bincount(place, sizes * counts, minlength=len(bounds))
    return tuple(
        SizeBin(bounds[i], bounds[i + 1] - 1, int(classes[i]), int(records[i]))
        for i in range(len(bounds) - 1)
        if classes[i]
    )


@dataclass(frozen=True, slots=True)
class HistoryFigures:
    """Numbers of people with the same history: all equivalence classes with rows of a person.

    Attributes
    ----------
    fewest
        The fewest people who have rows in all classes of somebody; 0 where there is no class.
    alone
        People who have rows in all classes of theirs alone.
    """

    fewest: int
    alone: int


@dataclass(frozen=True, slots=True)
class PeopleFigures:
    """Numbers of people in a table and in the equivalence classes.

    Attributes
    ----------
    columns
        The columns that name a person.
    people
        People of the table.
    unnamed
        Rows without a person; each counts as a person of its own.
    suppressed
        People of whom every row is suppressed.
    smallest, largest, mean_size
        Class sizes in people; 0 where there is no class.
    alone
        People who are alone in an equivalence class.
    distribution
        Classes by their number of people. A person counts in each class that they have a row in.
    histories
        What whoever knows all rows of a person faces, where rows can be joined; else None.
    """

    columns: tuple[str, ...]
    people: int
    unnamed: int
    suppressed: int
    smallest: int
    largest: int
    mean_size: float
    alone: int
    distribution: tuple[SizeBin, ...]
    histories: HistoryFigures | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "columns": list(self.columns),
            "people": self.people,
            "unnamed": self.unnamed,
            "suppressed": self.suppressed,
            "smallest": self.smallest,
            "largest": self.largest,
            "mean": self.mean_size,
            "alone": self.alone,
            "distribution": [
                {"least": each.least, "most": each.most, "classes": each.classes, "people": each.records}
                for each in self.distribution
            ],
            **({} if self.histories is None else {"histories": asdict(self.histories)}),
        }


def people_figures(classes: EquivalenceClasses, *, linked: bool = False) -> PeopleFigures | None:
    """Count the people of a table's classes, or return None without a person column.

    Parameters
    ----------
    linked
        Whether rows of a person can be joined.
    """
    people, counted = classes.frequency.people, classes.counted
    if not people.columns:
        return None
    sizes, number = counted.sizes, len(classes)
    return PeopleFigures(
        columns=people.columns,
        people=people.number,
        unnamed=people.unnamed,
        suppressed=people.number - counted.records,
        smallest=int(sizes.min()) if number else 0,
        largest=int(sizes.max(initial=0)),
        mean_size=float(sizes.mean()) if number else 0.0,
        alone=counted.within(sizes == 1),
        distribution=size_distribution(sizes),
        histories=_histories(counted) if linked else None,
    )


def _histories(classes: EquivalenceClasses) -> HistoryFigures:
    if not len(classes):
        return HistoryFigures(0, 0)
    return HistoryFigures(int(KMAnonymity(1, 0).values(classes).min()), lone_histories(classes))


def of_people(people: PeopleFigures | None) -> str:
    """Return " of N people" to append, or "" without a person column."""
    return "" if people is None else f" of {people.people:,} people"


def people_entry(**when: PeopleFigures | None) -> dict[str, Any]:
    """Return the people before and after for a report, or nothing without a person column."""
    entries = {name: people.to_dict() for name, people in when.items() if people is not None}
    return {"people": entries} if entries else {}


def people_sentences(people: PeopleFigures | None) -> list[str]:
    """Describe the number of lone people, and the rows without a person."""
    if people is None:
        return []
    present = max(people.people - people.suppressed, 1)
    sentences = [
        f"People are told apart by {', '.join(people.columns)}, and every model counts people in place of "
        f"records. {people.alone:,} people ({percent(people.alone / present)}) are alone in an equivalence "
        "class."
    ]
    if people.histories is not None:
        shared = people.histories
        sentences.append(
            "Released rows of a person can be joined. Whoever knows the quasi-identifiers of all rows "
            "of a person, and nothing else, finds at least "
            f"{shared.fewest:,} {'person' if shared.fewest == 1 else 'people'} with rows like all of these. "
            f"{shared.alone:,} people ({percent(shared.alone / present)}) share their whole history with "
            "nobody."
        )
    if people.unnamed:
        sentences.append(
            f"{people.unnamed:,} rows do not say whose they are. Each counts as a person of its own, so a "
            "class may have fewer people than it seems."
        )
    return sentences


RiskFigures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Estimates:
    """The figures that are estimates by a column of sampling weights.

    Attributes
    ----------
    column
        The column.
    figures
        Names of models and risks.
    """

    column: str
    figures: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.figures)}: estimated by the sampling weights of {self.column}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"by": self.column, "figures": list(self.figures)}


def estimates_of(frequency: FrequencyTable, risk: RiskFigures) -> Estimates | None:
    """Return the estimated figures of a table, or None without sampling weights."""
    if frequency.survey.sampling is None:
        return None
    # Without the weights of a class, as where records count alone, households have the risks of records.
    figures = [name for name in ("individual", "household") if name in risk and "individual" in risk]
    if frequency.population is not None and frequency.population.weights is not None:
        figures = ["k-map", *(name for name in ("journalist", "marketer") if name in risk), *figures]
    return Estimates(frequency.survey.sampling.column, tuple(figures))


def survey_sentences(
    estimates: Estimates | None,
    risk: RiskFigures,
    quasi: Sequence[str],
    before: RiskFigures | None = None,
) -> list[str]:
    """Describe the risks of survey records and households, if columns declare such.

    Parameters
    ----------
    estimates
        What is estimated.
    risk
        Figures per risk model.
    quasi
        The quasi-identifiers, which the attacker knows.
    before
        The same of the table before recoding.
    """
    sentences = []
    individual, knows = risk.get("individual"), who_knows(quasi)
    if estimates is not None and individual:
        sentences.append(
            f"The sampling weights of {estimates.column} estimate the population. By them {knows}, not even "
            "who took part, finds a record among all people with a probability of up to "
            f"{at_most(individual['max'])}, {percent(individual['mean'])} on average"
            + _before(before, "individual", "mean")
            + "."
        )
    if household := risk.get("household"):
        sentences.append(
            f"Whoever finds one member of a household has found all. By {knows}, a household is found with a "
            f"probability of up to {at_most(household['max'])}, {percent(household['mean'])} on average, and "
            f"{percent(household['at_risk'])} of the households are at risk"
            + _before(before, "household", "at_risk")
            + "."
        )
    return sentences


def _before(before: RiskFigures | None, model: str, figure: str) -> str:
    figures = {} if before is None else before.get(model, {})
    return f" (before: {percent(figures[figure])})" if figures else ""


def refuse_survey(schema: Schema, job: str) -> None:
    """Refuse weights and households for a job whose measures ignore both.

    Raises
    ------
    ParameterError
    """
    columns_of_role = {
        "household": schema.household,
        "weight": () if schema.weights is None else (schema.weights,),
    }
    for role, columns in columns_of_role.items():
        if columns:
            raise ParameterError(
                f"{job} measures nothing by households or sampling weights, and column {named(columns)} has "
                f"the role {role}; give it the role identifying, which is not released either, and accept "
                "figures without"
            )
