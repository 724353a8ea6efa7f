"""assess(): measure a table without changes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import envelope
from incrowd.core.errors import ParameterError
from incrowd.core.parameters import with_keyword_hints
from incrowd.core.progress import in_job, with_bar
from incrowd.core.recoding.suppression_marks import with_stars
from incrowd.core.table.settings import WILDCARD
from incrowd.engines import engine_for, loaded
from incrowd.measures.privacy import ModelResult, PrivacyModel
from incrowd.measures.privacy.km_anonymity import KMAnonymity
from incrowd.measures.risk import RISKS
from incrowd.measures.risk.base import Risks
from incrowd.release.accounts.board import cards_of, table_facts
from incrowd.release.accounts.class_figures import ClassFigures, figures_by_class
from incrowd.release.accounts.people import (
    Estimates,
    PeopleFigures,
    SizeBin,
    estimates_of,
    of_people,
    people_entry,
    people_figures,
    people_sentences,
    size_distribution,
    survey_sentences,
)
from incrowd.release.accounts.points import points_of_table
from incrowd.release.accounts.results import Results, results_of
from incrowd.release.accounts.statements import (
    model_entry,
    model_sentence,
    no_limit,
    points_of_limits,
    versions,
)
from incrowd.release.accounts.value_warnings import value_warnings
from incrowd.release.policy.arguments import as_models, as_schema
from incrowd.release.policy.limits import of_histories
from incrowd_gate.points import Accepted, Point
from incrowd_gate.verdict import Verdict
from incrowd_gate.wording import at_most, in_words, percent, wildcard_sentence

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.progress import Progress
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema
    from incrowd.release.report.plots import AssessmentPlots


@dataclass(frozen=True)
class Assessment:
    """The privacy of a table: the result of `assess`.

    Attributes
    ----------
    quasi, sensitive
        The columns that were measured.
    records
        Rows of the table.
    suppressed
        Rows with ``*`` in every quasi-identifier; they are in no class.
    classes
        Number of equivalence classes.
    smallest, largest, mean_size
        Class sizes in records; 0 where there is no class.
    unique
        Records that are alone in their class.
    distribution
        Classes and records by class size; sizes without a class are left out.
    results
        What every privacy model measures, and whether the asked limits are met; `privacy` lists it.
    risk
        Figures per risk model; each is measured when it is first read.
    notes
        Sentences on what the values look like but were not taken for: missing values, numbers and dates.
    points
        What the columns tell about people as they stand, whatever their role; `verdict` has them and the
        limits.
    people
        The people of the table and of its classes, where columns say whose row it is; else None. Models and
        risks are of people then. The other figures are of records.
    estimates
        Which figures are estimates by sampling weights, where a column holds such; else None.
    wildcards
        What a ``*`` or a missing cell matched in models and risks: ``value``, ``matches-any`` or
        ``conservative``. The sizes of classes are by their cells alone.
    """

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    records: int
    suppressed: int
    classes: int
    smallest: int
    largest: int
    mean_size: float
    unique: int
    distribution: tuple[SizeBin, ...]
    results: Results = field(repr=False)
    risk: Mapping[str, dict[str, float]]
    notes: tuple[str, ...] = ()
    points: tuple[Point, ...] = ()
    people: PeopleFigures | None = None
    estimates: Estimates | None = None
    wildcards: str = "value"
    _measured: tuple[EquivalenceClasses, tuple[PrivacyModel, ...], str] | None = field(
        default=None, repr=False, compare=False
    )

    def __repr__(self) -> str:
        verdicts = [measured.holds for measured in self.results.asked if measured.holds is not None]
        limits = f"; {sum(verdicts)} of {len(verdicts)} limits are met" if verdicts else ""
        return (
            f"Assessment({self.records:,} records, {self.suppressed:,} suppressed, "
            f"{self.classes:,} classes of {self.smallest:,} to {self.largest:,}{limits})"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the classes, so that a copy on disk holds the figures alone."""
        return self.__dict__ | {"_measured": None}

    @property
    def privacy(self) -> tuple[ModelResult, ...]:
        """The result of every privacy model.

        Models without a limit are measured on the first read.
        """
        return self.results.all

    @property
    def suppressed_share(self) -> float:
        """Suppressed records over all records."""
        return self.suppressed / self.records if self.records else 0.0

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the unchanged table, or None without a limit."""
        models = [measured for measured in self.results.asked if measured.limit is not None]
        return Verdict((*points_of_limits(models), *self.points), "table") if models else None

    @property
    def holds(self) -> bool:
        """Whether every limit that was asked for is met."""
        return all(measured.holds is not False for measured in self.results.asked)

    def reached(self, model: str, attribute: str | None = None) -> float | None:
        """Return the first measured value of a model, for a sensitive attribute if named."""
        for measured in self.privacy:
            if measured.model == model and attribute in (None, measured.attribute):
                return measured.value
        return None

    def by_class(self) -> ClassFigures:
        """Return every equivalence class with cells, size and the value of each model.

        The figures are computed when they are asked for. t-closeness, say, is the distance of each class to
        the table, per sensitive attribute.

        Raises
        ------
        ParameterError
            When the assessment is the account of a release or was read from a copy: those hold no classes.
            Assess the released table.
        """
        if self._measured is None:
            raise ParameterError(
                "this assessment holds no classes; measure the table itself: assess(table, schema).by_class()"
            )
        return figures_by_class(*self._measured)

    def document(self, schema: Schema) -> dict[str, Any]:
        """Return the report of a table, without the cells of classes."""
        models = [measured for measured in self.results.asked if measured.limit is not None]
        verdict = self.verdict
        roles = {attribute.name: attribute.role for attribute in schema.attributes}
        columns = [*self.quasi, *self.sensitive]
        return {
            **envelope("report"),
            "kind": "assessment",
            "internal": False,
            "title": "Privacy of a table as it stands",
            "verdict": {
                "state": "",
                "text": no_limit("table"),
                "points": [point.to_dict() for point in self.points],
            }
            if verdict is None
            else verdict.to_dict(),
            "board": {
                "cards": cards_of(self),
                "table": table_facts(self, schema, columns),
                "audience": [],
                "left_out": [],
                "decisions": [],
            },
            "sentences": self.sentences(),
            "wildcards": self.wildcards,
            "records": self.records,
            "suppressed": self.suppressed,
            "columns": {"released": [{"name": name, "role": roles[name]} for name in columns], "dropped": 0},
            "models": [model_entry(measured, cells=False) for measured in models],
            "measured": [
                model_entry(measured, cells=False) for measured in self.privacy if measured.limit is None
            ],
            "loss": [],
            "risk": {"after": dict(self.risk)},
            "classes": {"after": self.size_entry()},
            **people_entry(after=self.people),
            **({} if self.estimates is None else {"estimated": self.estimates.to_dict()}),
            "attributes": [],
            "recoding": None,
            "front": None,
            "policy": None,
            "reproduce": versions(None),
        }

    def sentences(self, *, conditions: bool = True) -> list[str]:
        """Describe the privacy of the table in sentences, without any value of the table.

        Parameters
        ----------
        conditions
            Whether there is a sentence for each condition that was asked for.
        """
        models = [measured for measured in self.results.asked if measured.limit is not None]
        return _sentences(self, models if conditions else [])

    def size_entry(self) -> dict[str, Any]:
        """Return the sizes of classes in report form."""
        return {
            "count": self.classes,
            "smallest": self.smallest,
            "largest": self.largest,
            "mean": self.mean_size,
            "unique": self.unique,
            "distribution": [asdict(each) for each in self.distribution],
        }

    def report(self, path: str | os.PathLike[str], schema: Schema, *, force: bool = False) -> None:
        """Write a report as ``.html``, ``.pdf`` or ``.json``, without any value of the table.

        Parameters and errors are those of `incrowd.release.report.pages.write_report`, and `schema` says
        the roles.
        """
        from incrowd.release.report.pages import write_report

        write_report(self.document(schema), path, force=force)

    def _repr_html_(self) -> str:
        from incrowd.core.markup import table

        rows: list[tuple[object, ...]] = [
            ("equivalence classes", self.classes, ""),
            ("smallest class", self.smallest, ""),
            ("alone in their class", self.unique, ""),
        ]
        rows += [
            (
                measured.model + ("" if measured.attribute is None else f" of {measured.attribute}"),
                measured.value,
                {True: "holds", False: "fails", None: ""}[measured.holds],
            )
            for measured in self.privacy
        ]
        return table(f"{self.records:,} records, {self.suppressed:,} suppressed", ("", "value", ""), rows)

    @property
    def plot(self) -> AssessmentPlots:
        """Charts of the table: ``plot.classes()`` and ``plot.risk()``; see `Release.plot`."""
        from incrowd.release.report.plots import AssessmentPlots

        return AssessmentPlots(
            {"classes": {"before": self.size_entry()}, "risk": {"before": dict(self.risk)}}
        )

    def to_dict(self, *, cells: bool = True) -> dict[str, Any]:
        """Return plain data for JSON.

        Parameters
        ----------
        cells
            Whether to describe the weakest and the failing classes by their cells, which are values of the
            table.
        """
        classes = self.size_entry()
        unique = classes.pop("unique")
        return {
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            "wildcards": self.wildcards,
            "records": self.records,
            "suppressed": self.suppressed,
            "suppressed_share": self.suppressed_share,
            "classes": classes,
            "unique": unique,
            **({} if self.people is None else {"people": self.people.to_dict()}),
            "privacy": [measured.to_dict(cells=cells) for measured in self.privacy],
            "risk": dict(self.risk),
            **({} if self.estimates is None else {"estimated": self.estimates.to_dict()}),
            **({"notes": list(self.notes)} if self.notes else {}),
        }


@with_keyword_hints
@with_bar
@in_job
def assess(  # noqa: PLR0913
    table: Any,
    schema: Schema,
    models: PrivacyModel | str | Sequence[PrivacyModel | str] = (),
    *,
    population: Any = None,
    csv_format: CsvFormat | None = None,
    driver_keys: int | None = None,
    progress: Progress | None = None,
    wildcards: str = "value",
    accepted: Sequence[Accepted] = (),
    suppressed_as: Sequence[str] = (),
) -> Assessment:
    """Measure a present table under every registered privacy and risk model.

    Parameters
    ----------
    table
        A pandas, Polars or PyArrow table, a Spark DataFrame, a relation of DuckDB, a table of a `Database`,
        opened `Files`, or the path of a CSV or Parquet file, a folder or a pattern.
    schema
        The quasi-identifiers and sensitive attributes; other columns are not looked at. Quasi-identifiers
        are compared as they are written, whatever their hierarchy.
    models
        Models whose limits are to be judged.
    population
        The population: people of whom the table may hold some. It has the forms of `table`, and the same
        quasi-identifiers, not generalized. k-map, delta-presence and journalist risk need it. Ranges, sets
        and labels of the schema's hierarchies in `table` are looked up in it.
    csv_format
        How a CSV is written, where it is not plain.
    driver_keys
        As in `anonymize`.
    progress
        Told how far the counting is, where the engine knows.
    wildcards
        What a * or a missing cell matches: value (itself), matches-any or conservative (nothing).
    accepted
        Answers to points of the verdict, as a policy has them.
    suppressed_as
        The texts of suppressed cells of quasi-identifiers beside ``*``, such as ``NA``; the empty text is a
        missing cell.

    Raises
    ------
    InputError
        When a table cannot be read or does not fit the schema.
    """
    schema = as_schema(schema)
    models = of_histories(as_models(models), schema)
    wildcards = WILDCARD.check(wildcards, "assess", "wildcards")
    for model in models:
        model.check_wildcards(wildcards)
    table = with_stars(loaded(table, csv_format), [each.name for each in schema.quasi], suppressed_as)
    classes = _read_classes(table, schema, models, population, csv_format, driver_keys, progress)
    for model in models:
        model.check_values(classes.frequency.counted)
    engine = engine_for(table)
    points = points_of_table(engine, schema, classes.frequency.rows, accepted, raw=engine)
    notes = list(value_warnings(classes.frequency, schema))
    notes += [sentence for model in models for sentence in model.remarks(classes.frequency.counted)]
    assessment = assess_classes(classes, models, wildcards, linked=schema.joined)
    return replace(
        assessment,
        notes=tuple(notes),
        points=points,
        _measured=(classes, models, wildcards),
    )


def assess_table(
    table: Any,
    schema: Schema,
    models: Sequence[PrivacyModel] = (),
    *,
    population: Any = None,
    driver_keys: int | None = None,
    progress: Progress | None = None,
    made_from: tuple[FrequencyTable, Recoding] | None = None,
    wildcards: str = "value",
) -> Assessment:
    """Measure a table as `assess` does, but without classes in the result.

    Parameters
    ----------
    made_from
        As in `incrowd.engines.read_classes`.
    wildcards
        As in `assess`.
    """
    classes = _read_classes(table, schema, models, population, None, driver_keys, progress, made_from)
    return assess_classes(classes, models, wildcards, linked=schema.joined)


def _read_classes(
    table: Any,
    schema: Schema,
    models: Sequence[PrivacyModel],
    population: Any,
    csv_format: CsvFormat | None,
    driver_keys: int | None,
    progress: Progress | None,
    made_from: tuple[FrequencyTable, Recoding] | None = None,
) -> EquivalenceClasses:
    from incrowd.engines import read_classes

    joint = any(model.is_joint for model in models)
    classes = read_classes(
        table,
        schema,
        joint=joint,
        population=population,
        csv_format=csv_format,
        driver_keys=driver_keys,
        progress=progress,
        made_from=made_from,
    )
    for model in models:
        if model.needs_population:
            model.check_table(classes.frequency.counted)
    return classes


def assess_classes(
    classes: EquivalenceClasses,
    models: Sequence[PrivacyModel] = (),
    wildcards: str = "value",
    *,
    linked: bool = False,
) -> Assessment:
    """Measure sizes of equivalence classes, and models and risks on the matching records.

    Parameters
    ----------
    linked
        Whether rows of a person can be joined, so that whole histories are measured, too.
    """
    from incrowd.core.table.matching import matched

    frequency = classes.frequency
    sizes = classes.sizes
    records = classes.records
    matching = matched(classes, wildcards)
    counted = matching.counted
    risk = Risks([risk() for risk in RISKS if risk().applies(counted)], counted)
    return Assessment(
        quasi=tuple(domain.name for domain in frequency.domains),
        sensitive=tuple(counts.name for counts in frequency.sensitive),
        records=frequency.rows,
        suppressed=classes.suppressed,
        classes=len(classes),
        smallest=int(sizes.min(initial=records)) if len(classes) else 0,
        largest=int(sizes.max(initial=0)),
        mean_size=records / len(classes) if len(classes) else 0.0,
        unique=int((sizes == 1).sum()),
        distribution=size_distribution(sizes),
        results=results_of(matching, models, wildcards, linked=linked),
        risk=risk,
        people=people_figures(classes, linked=linked and wildcards in KMAnonymity(1, 0).wildcards),
        estimates=estimates_of(frequency, risk),
        wildcards=wildcards,
    )


def _sentences(assessment: Assessment, models: Sequence[ModelResult]) -> list[str]:
    people = assessment.people
    records = max(assessment.records - assessment.suppressed, 1)
    risk = assessment.risk.get("prosecutor", {})
    sentences = [
        f"The table has {assessment.records:,} records{of_people(people)} in {assessment.classes:,} "
        f"equivalence classes of {', '.join(assessment.quasi)}; {assessment.suppressed:,} records are "
        "suppressed.",
        *people_sentences(people),
    ]
    if people is None:
        share = percent(assessment.unique / records)
        unique = (
            f"1 record ({share}) is alone in its"
            if assessment.unique == 1
            else (f"{assessment.unique:,} records ({share}) are alone in their")
        )
        sentences.append(f"{unique} class.")
    sentences += [model_sentence(measured, assessment.quasi) for measured in models]
    if risk:
        sentences.append(
            f"Whoever knows that a person is in the table, and the person's {in_words(assessment.quasi)}, "
            f"and nothing else, finds the right {'record' if people is None else 'person'} "
            f"with a probability of up to {at_most(risk['max'])}, {percent(risk['mean'])} on average."
        )
    sentences += survey_sentences(assessment.estimates, assessment.risk, assessment.quasi)
    return [*sentences, wildcard_sentence(assessment.wildcards), *assessment.notes]
