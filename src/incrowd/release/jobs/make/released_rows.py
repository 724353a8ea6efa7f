"""Released rows: perturbed values, drawn until the models hold, and `judge`, which refuses a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import InfeasibleError, named, setting
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.recoding import SUPPRESSED, Cells, Recoding
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.measures.privacy import IdentityModel, PrivacyModel
from incrowd.measures.privacy.attacker import Attacker
from incrowd.release.accounts.results import results_of
from incrowd.release.accounts.statements import model_entry, model_sentence
from incrowd.release.jobs.make.reasons import Reason, reasons_of
from incrowd.release.jobs.make.recode_batch import RecodedBatch
from incrowd.release.jobs.make.suppressed_records import Suppression, settle_suppression
from incrowd.search.base import STARRED_ROOT, names_starred_root

if TYPE_CHECKING:
    from incrowd.core.progress import Progress
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema
    from incrowd.engines import Counted, Engine, Released
    from incrowd.measures.privacy import ModelResult
    from incrowd.release.jobs.make.table_treatments import TableTreatments
    from incrowd.release.jobs.measure.assess import Assessment
    from incrowd.release.policy.policy import Policy
    from incrowd_gate.verdict import Verdict


DRAWS = 10
"""How often perturbed values are drawn at most, the first time included."""


def _perturbed_columns(policy: Policy) -> list[str]:
    return [each.name for each in policy.schema.sensitive if each.perturbed]


def _models_of_perturbed(policy: Policy) -> tuple[PrivacyModel, ...]:
    """Return the models that depend on perturbed sensitive attributes."""
    names = _perturbed_columns(policy)
    return tuple(model for model in policy.models if names and _looks_at(model, names))


def _looks_at(model: PrivacyModel, names: Sequence[str]) -> bool:
    if isinstance(model, Attacker):
        return any(_looks_at(each, names) for each in model.models)
    attribute = getattr(model, "attribute", None)
    return not isinstance(model, IdentityModel) and (
        attribute is None or attribute in names or model.is_joint
    )


@dataclass(frozen=True)
class ReleasedValues:
    """The verdict of the models on perturbed sensitive values as released.

    Attributes
    ----------
    results
        A figure for each limit of a model that looks at them; none where they are not judged.
    draws
        How often they were drawn until the models held.
    suppressed
        Records that are suppressed because what was drawn in their classes fails.
    """

    policy: Policy = field(repr=False)
    results: tuple[ModelResult, ...] = ()
    draws: int = 1
    suppressed: int = 0
    _people: tuple[FrequencyTable, Recoding] | None = field(repr=False, default=None)
    _starred: bool = field(repr=False, default=False)

    def check(self, written: Any, driver_keys: int | None = None) -> None:
        """Refuse a written table with values that fail the models.

        Raises
        ------
        InfeasibleError
        """
        if self.policy.judge == "original":
            return
        frequency = _frequency(
            written, self.policy, by_person=False, starred=self._starred, driver_keys=driver_keys
        )
        if self._people is not None:
            from incrowd.core.recoding.people import add_people

            frequency = add_people(frequency, *self._people)
        classes = _ReleasedClasses(None, EquivalenceClasses.of_keys(frequency), self.policy)
        if not classes.holds:
            raise InfeasibleError(f"nothing was released: {_failures(classes.results)}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        entry: dict[str, Any] = {"judge": self.policy.judge, "columns": _perturbed_columns(self.policy)}
        if self.policy.judge == "original":
            return entry | {"not_checked": list(map(str, _models_of_perturbed(self.policy)))}
        models = [model_entry(result, cells=False) for result in self.results]
        return entry | {"draws": self.draws, "suppressed": self.suppressed, "models": models}

    def sentences(self) -> Iterator[str]:
        """Describe the verdict on the released values."""
        if self.policy.judge == "original":
            yield f"Not checked on released values: {', '.join(map(str, _models_of_perturbed(self.policy)))}."
        quasi = [each.name for each in self.policy.schema.quasi]
        for result in self.results:
            yield f"Of the values that leave: {model_sentence(result, quasi)}"
        suppressed = (
            f", and {self.suppressed:,} records are suppressed where it did not" if self.suppressed else ""
        )
        if self.draws > 1 or suppressed:
            yield f"Perturbed values were drawn {self.draws} times until that held{suppressed}."


def model_verdict(values: ReleasedValues | None, verdict: Verdict | None = None) -> str:
    """Say that every model holds, and of which values if released values are not judged.

    Of a release whose verdict does not hold, say that alone, since models that hold are no verdict.
    """
    if verdict is not None and not verdict.holds:
        return verdict.brief
    if values is None or values.policy.judge == "released":
        return "every model holds"
    return "every model holds of the values before, not checked on released values"


@dataclass(frozen=True)
class _ReleasedClasses:
    """The classes of released rows, and the verdict of the models."""

    released: Released | None
    classes: EquivalenceClasses
    policy: Policy

    @cached_property
    def results(self) -> tuple[ModelResult, ...]:
        """The verdict of the models."""
        from incrowd.core.table.matching import matched

        wildcards = self.policy.wildcards
        matching = matched(self.classes, wildcards)
        return results_of(matching, _models_of_perturbed(self.policy), wildcards, linked=False).asked

    @property
    def holds(self) -> bool:
        """Whether no limit is broken."""
        return all(result.holds is not False for result in self.results)

    @cached_property
    def good(self) -> NDArray[np.bool_]:
        """bool[classes]: whether a class satisfies every model."""
        from incrowd.core.table.matching import matched
        from incrowd.search.base import all_hold

        return all_hold(_models_of_perturbed(self.policy), matched(self.classes, self.policy.wildcards))

    @property
    def failing(self) -> int:
        """Records in classes that fail."""
        return int(self.classes.sizes[~self.good].sum())

    @property
    def badness(self) -> tuple[bool, int]:
        """The order of draws: whether a limit is broken, then `failing`."""
        return not self.holds, self.failing

    def remaining(self) -> NDArray[np.bool_]:
        """Return bool[classes]: the classes left after suppressing others until no limit is broken."""
        mask, rest = np.ones(len(self.classes), np.bool_), self
        while not rest.holds and not rest.good.all():
            mask[np.flatnonzero(mask)[~rest.good]] = False
            rest = _ReleasedClasses(self.released, self.classes.only(mask), self.policy)
        return mask if rest.holds else np.zeros_like(mask)


@dataclass(frozen=True)
class ReleasedRows:
    """Treated, drawn and recoded rows for release.

    Attributes
    ----------
    rows
        The engine of the rows with all treated columns.
    released
        The recoded rows.
    recoding
        What was made of their keys.
    reasons
        int8[keys]: the `Reason` of each key that is suppressed, else 0.
    suppression
        The suppressed records, and what the models say of them.
    values
        What the models say of perturbed values as they are released; None where no model looks at any.
    """

    rows: Engine
    released: Released
    recoding: Recoding
    reasons: NDArray[np.int8]
    suppression: Suppression
    values: ReleasedValues | None = None

    @classmethod
    def of_recoding(  # noqa: PLR0913
        cls,
        treatments: TableTreatments,
        schema: Schema,
        counted: Counted,
        recoding: Recoding,
        policy: Policy,
        *,
        reasons: NDArray[np.int8] | None = None,
        alone: bool = True,
        driver_keys: int | None = None,
        progress: Progress | None = None,
    ) -> ReleasedRows:
        """Leave suppressed records out if required, and draw perturbed values.

        These are drawn until the models hold of them. The classes where they do not are suppressed.

        Parameters
        ----------
        schema
            The columns that leave; quasi-identifiers as they were counted.
        counted, recoding
            The rows with their keys, and what becomes of these.
        reasons
            int8[keys]: the `Reason` of each key that the recoding suppresses; by default that of a search.
        alone
            Whether the classes have to satisfy the models without another table beside them.

        Raises
        ------
        InfeasibleError
            When more records than the policy allows would be suppressed; the message has figures.
        """
        frequency = counted.frequency
        reasons = reasons_of(recoding) if reasons is None else reasons.copy()
        recoding = settle_suppression(frequency, recoding, policy, alone=alone)
        judges_perturbed = bool(_models_of_perturbed(policy))
        judges_any = policy.suppressed != "keep" or not recoding.suppressed.all()
        if policy.judge == "original" or not judges_perturbed or not judges_any:
            treated = treatments.released(counted)
            values = ReleasedValues(policy) if judges_perturbed else None
            reasons[recoding.starred & (reasons == 0)] = Reason.REST
            suppression = Suppression.of_recoding(frequency, recoding, policy, reasons)
            return cls(treated.rows, treated.apply(schema, recoding), recoding, reasons, suppression, values)
        candidate = _Candidate(schema, counted, recoding, policy, driver_keys, progress)
        draws, best = 0, None
        for draws, draw in enumerate(candidate.draws(treatments), 1):  # noqa: B007
            # No other draw is kept: each may have all rows.
            best = draw if best is None else min(best, draw, key=lambda each: each[1].badness)
        assert best is not None
        treated, first_outcome = best
        outcome, of_values = first_outcome, tuple[PrivacyModel, ...]()
        by_draw = np.zeros(frequency.keys, np.bool_)
        while not outcome.holds:
            recoding, failing = candidate.recoding, candidate.failing_keys(outcome)
            if (failing & recoding.starred).any():
                recoding = replace(recoding, left_out=True)
                of_values = _models_of_perturbed(policy)
            by_draw |= failing & ~recoding.starred
            candidate = replace(candidate, recoding=recoding.without(by_draw))
            candidate.refuse_too_many(first_outcome, draws)
            candidate = replace(
                candidate, recoding=settle_suppression(frequency, candidate.recoding, policy, alone=alone)
            )
            outcome = candidate.classes_of(treated)
        recoding = candidate.recoding
        reasons[by_draw] = Reason.VALUES
        reasons[recoding.starred & (reasons == 0)] = Reason.REST
        people = None if frequency.people.table is None else outcome.classes.frequency
        account = None if people is None else (people, RecodedBatch.as_it_is(people))
        suppressed = int(frequency.weights[by_draw].sum())
        values = ReleasedValues(policy, outcome.results, draws, suppressed, account, candidate.starred)
        # A reader does not see who is who.
        released = outcome.released if people is None else None
        released = released or treated.apply(schema, recoding)
        suppression = Suppression.of_recoding(frequency, recoding, policy, reasons, of_values)
        return cls(treated.rows, released, recoding, reasons, suppression, values)


@dataclass(frozen=True)
class _Candidate:
    """Counted rows with a recoding, to be drawn and judged by `ReleasedRows.of_recoding`."""

    schema: Schema
    counted: Counted
    recoding: Recoding
    policy: Policy
    driver_keys: int | None
    progress: Progress | None

    @property
    def frequency(self) -> FrequencyTable:
        """The keys of the rows."""
        return self.counted.frequency

    @property
    def starred(self) -> bool:
        """Whether suppressed records are released and judged."""
        return self.policy.suppressed != "keep" and not self.recoding.left_out

    def draws(self, treatments: TableTreatments) -> Iterator[tuple[Counted, _ReleasedClasses]]:
        """Yield draws, up to the first draw that satisfies the models.

        Only the rows of classes that fail are drawn anew, where rows are known by their places.
        """
        for last in [*[False] * (DRAWS - 1), True]:
            treated = treatments.released(self.counted, judged=True)
            outcome = self.classes_of(treated)
            yield treated, outcome
            if last or outcome.holds or not treatments.is_drawn:
                return
            failing = np.append(~outcome.good, False)[self.keys_in(outcome)]
            treatments = treatments.redraw(treated.places_of(failing))

    def classes_of(self, treated: Counted) -> _ReleasedClasses:
        """Recode rows, and count the released values."""
        by_person = self.frequency.people.table is not None
        # Whose row it is does not leave, but the models count people.
        schema = self.schema.with_attributes(
            replace(each, role="insensitive") if by_person and each.role == "person" else each
            for each in self.schema.attributes
        )
        released = treated.apply(schema, self.recoding)
        frequency = _frequency(
            released.table,
            self.policy,
            by_person=by_person,
            starred=self.starred,
            driver_keys=self.driver_keys,
            progress=self.progress,
        )
        return _ReleasedClasses(released, EquivalenceClasses.of_keys(frequency), self.policy)

    def keys_in(self, outcome: _ReleasedClasses) -> NDArray[np.integer]:
        """Return the released class of each key, -1 for no class."""
        from incrowd.core.recoding.people import released_keys

        released, recoding = self.recoding.leaving(self.frequency)
        classes = released_keys(outcome.classes.frequency, released, recoding)[0]
        if released is self.frequency:
            return classes
        of_key = np.full(self.frequency.keys, -1, np.int64)
        of_key[~self.recoding.starred] = classes
        return of_key

    def failing_keys(self, outcome: _ReleasedClasses) -> NDArray[np.bool_]:
        """Return bool[keys]: the keys to suppress so that the models hold."""
        return np.asarray(np.append(~outcome.remaining(), False)[self.keys_in(outcome)])

    def refuse_too_many(self, outcome: _ReleasedClasses, draws: int) -> None:
        """Refuse more suppressed records than the policy allows, or a release without other records."""
        frequency, limit = self.frequency, self.policy.max_suppression
        suppressed = frequency.suppressed + int(frequency.weights[self.recoding.starred].sum())
        if suppressed < frequency.rows and suppressed / frequency.rows <= limit:
            return
        names = _perturbed_columns(self.policy)
        raise InfeasibleError(
            f"nothing was released: {_failures(outcome.results)}, as column {named(names)} is perturbed; "
            f"that is the best of {draws} draws, {outcome.failing:,} records are in classes that fail, and "
            f"{suppressed:,} of {frequency.rows:,} ({suppressed / frequency.rows:.2%}) would be suppressed "
            f"where {limit:.2%} may be; give the treatment another parameter, raise "
            + setting("max_suppression", "--max-suppression")
            + ", or judge only the values before with "
            + setting("judge='original'", "--judge original")
        )


def _frequency(
    table: Any,
    policy: Policy,
    *,
    by_person: bool,
    starred: bool,
    driver_keys: int | None = None,
    progress: Progress | None = None,
) -> FrequencyTable:
    """Count a table with the sensitive values in the table."""
    from incrowd.engines import read_classes

    schema = policy.schema.measured(person=by_person)
    # Who names people is no quasi-identifier beside perturbed values.
    attributes = (
        replace(each, key_of=())
        for each in schema.attributes
        if each.role in ("person", "quasi", "sensitive")
    )
    joint = any(model.is_joint for model in _models_of_perturbed(policy))
    return read_classes(
        table,
        schema.with_attributes(attributes),
        joint=joint,
        driver_keys=driver_keys,
        progress=progress,
        starred=starred,
    ).frequency


def _failures(results: Sequence[ModelResult]) -> str:
    return "of the values that leave, " + "; ".join(
        shortfall(result) for result in results if result.holds is False
    )


def with_types(
    engine: Engine,
    released: Any,
    schema: Schema,
    frequency: FrequencyTable,
    recoding: Recoding,
    decided: Recoding,
) -> Any:
    """Convert columns of means to numbers and dates, if the raw column has such a type.

    A column with `*` stays text: a missing value in its place would be read as one. So does a column whose
    numbers or days would not read back as the very texts that files have.

    Parameters
    ----------
    engine
        The engine of the table as it came in.
    released
        The recoded table, with texts.
    schema
        The roles of the columns; the style of each is said.
    frequency, recoding
        The keys, and the cell of each.
    decided
        The recoding that the cells come from.

    Returns
    -------
    A table of the same kind, or `released` itself where nothing changes.
    """
    if decided.kind != "local":
        return released
    types = {}
    for attribute, domain, cells in zip(schema.quasi, decided.domains, recoding.cells, strict=True):
        if attribute.output != "mean" or not domain.ordered:
            continue
        raw_type = engine.type_of(attribute.name)
        dtype = None if raw_type is None else _type(_labels(cells, frequency), raw_type)
        if dtype is not None:
            types[attribute.name] = dtype
    return engine.typed(released, types) if types else released


def _labels(cells: Cells, frequency: FrequencyTable) -> list[str | None]:
    """Return the distinct texts of the rows."""
    labels = [cells.labels[entry] for entry in np.unique(cells.codes).tolist()]
    return list(dict.fromkeys([*labels, SUPPRESSED] if frequency.suppressed else labels))


def _type(labels: list[str | None], raw_type: pl.DataType) -> pl.DataType | None:
    """Return the type in which every text reads back unchanged, or None."""
    from incrowd.core.io.frames import as_type, type_of_means
    from incrowd.engines.distinct import dictionary

    kind = type_of_means(raw_type)
    if kind is None:
        return None
    values = pl.select(as_type(pl.lit(pl.Series(labels, dtype=pl.String)), kind)).to_series()
    if values.null_count() != labels.count(None):
        return None
    distinct, places = dictionary(values, "", ())
    texts = [*distinct.texts, None]
    return kind if [texts[place] for place in places.tolist()] == labels else None


def judge(assessment: Assessment, policy: Policy, suppression: Suppression | None = None) -> None:
    """Refuse a release that fails the policy.

    Parameters
    ----------
    suppression
        The suppressed records, where some may be left out.

    Raises
    ------
    InfeasibleError
        Which says what failed, by how much, and what would help.
    """
    problems = [shortfall(measured) for measured in assessment.results.asked if measured.holds is False]
    if problems and assessment.wildcards not in policy.algorithm.wildcards:
        problems.append(
            f"wildcards are {assessment.wildcards!r}, and {policy.algorithm.name} counts * as a value: use a "
            "full-domain algorithm on a table without missing cells, name fewer quasi-identifiers, or set "
            f"{setting('wildcards', '--wildcards')} to 'value'"
        )
    left_out = 0 if suppression is None else suppression.left_out
    suppressed, records = assessment.suppressed + left_out, assessment.records + left_out
    if suppressed and suppressed / records > policy.max_suppression:
        problems.insert(
            0,
            f"{suppressed} of {records} records are suppressed (* in every "
            f"quasi-identifier{', or left out for that' if left_out else ''}), {suppressed / records:.2%} "
            f"where {policy.max_suppression:.2%} "
            "may be; loosen the models, name fewer quasi-identifiers"
            + _wide_ranges(policy)
            + _starred_roots(policy)
            + " or raise "
            + setting("max_suppression", "--max-suppression"),
        )
    if problems:
        raise InfeasibleError("nothing was released: " + "; ".join(problems))


def _wide_ranges(policy: Policy) -> str:
    """Return the remedy for ranges that become `*`, or "" if there is none."""
    rounded = any(each.hierarchy is None and each.ends != "exact" for each in policy.schema.quasi)
    if policy.ends == "exact" or not rounded or policy.algorithm.full_domain:
        return ""
    exact = setting("ends='exact'", "--ends exact")
    return f", publish the ends of ranges ({exact})"


def _starred_roots(policy: Policy) -> str:
    """Return the remedy for classes of hierarchy roots that look suppressed, or "" if there is none."""
    if not names_starred_root(policy.schema.quasi):
        return ""
    return f", give {STARRED_ROOT} to a hierarchy, since a class of * alone is suppressed,"


def shortfall(measured: ModelResult) -> str:
    """Compare the values reached with the limits, and count the classes that fail."""
    text = measured.shortfall()
    if measured.value is None:
        return text
    if measured.failing and measured.failing[0]:
        people = "" if measured.failing_people is None else f", {measured.failing_people:,} people"
        text += f" ({measured.failing[0]:,} classes, {measured.failing[1]:,} records{people})"
    return text + "".join(f"; {reason}" for reason in measured.reasons)
