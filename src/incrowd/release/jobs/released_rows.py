"""Rows that leave with perturbed values: drawn until the models hold of the released values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import InfeasibleError, named, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.measures.privacy import IdentityModel, PrivacyModel
from incrowd.measures.privacy.attacker import Attacker
from incrowd.release.accounts.results import results_of
from incrowd.release.accounts.statements import model_entry, model_sentence
from incrowd.release.jobs.checks import shortfall
from incrowd.release.jobs.recode_batch import RecodedBatch
from incrowd.release.jobs.suppressed_records import Suppression, settled

if TYPE_CHECKING:
    from incrowd.core.progress import Progress
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema
    from incrowd.engines import Counted, Engine, Released
    from incrowd.measures.privacy import ModelResult
    from incrowd.release.gate.verdict import Verdict
    from incrowd.release.jobs.table_treatments import TableTreatments
    from incrowd.release.policy.policy import Policy

DRAWS = 10
"""How often perturbed values are drawn at most, the first time included."""


def _perturbed(policy: Policy) -> list[str]:
    return [each.name for each in policy.schema.sensitive if each.perturbed]


def _concerned(policy: Policy) -> tuple[PrivacyModel, ...]:
    """Return the models that look at sensitive attributes that are perturbed."""
    names = _perturbed(policy)
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
    """The verdict of the models on perturbed sensitive values as they are released.

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
        """Refuse a table that was written where the models fail by its values.

        Raises
        ------
        InfeasibleError
        """
        if self.policy.judge == "original":
            return
        found = _counted(
            written, self.policy, by_person=False, starred=self._starred, driver_keys=driver_keys
        )
        if self._people is not None:
            from incrowd.core.recoding.people import add_people

            found = add_people(found, *self._people)
        seen = _ReleasedClasses(None, EquivalenceClasses.of_keys(found), self.policy)
        if not seen.holds:
            raise InfeasibleError(f"nothing was released: {_failures(seen.results)}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        found: dict[str, Any] = {"judge": self.policy.judge, "columns": _perturbed(self.policy)}
        if self.policy.judge == "original":
            return found | {"not_checked": list(map(str, _concerned(self.policy)))}
        models = [model_entry(result, cells=False) for result in self.results]
        return found | {"draws": self.draws, "suppressed": self.suppressed, "models": models}

    def sentences(self) -> Iterator[str]:
        """Say which values were judged."""
        if self.policy.judge == "original":
            yield f"Not checked on released values: {', '.join(map(str, _concerned(self.policy)))}."
        quasi = [each.name for each in self.policy.schema.quasi]
        for result in self.results:
            yield f"Of the values that leave: {model_sentence(result, quasi)}"
        gone = f", and {self.suppressed:,} records are suppressed where it did not" if self.suppressed else ""
        if self.draws > 1 or gone:
            yield f"Perturbed values were drawn {self.draws} times until that held{gone}."


def model_verdict(values: ReleasedValues | None, verdict: Verdict | None = None) -> str:
    """Say that every model holds, and of which values where those that leave are not judged.

    Of a release whose verdict does not hold, say that alone, since models that hold are no verdict.
    """
    if verdict is not None and not verdict.holds:
        return verdict.brief
    if values is None or values.policy.judge == "released":
        return "every model holds"
    return "every model holds of the values before, not checked on released values"


@dataclass(frozen=True)
class _ReleasedClasses:
    """Rows with the released values, their classes, and the verdict of the models on them."""

    released: Released | None
    classes: EquivalenceClasses
    policy: Policy

    @cached_property
    def results(self) -> tuple[ModelResult, ...]:
        """The verdict of the models."""
        from incrowd.core.table.matching import matched

        wildcards = self.policy.wildcards
        seen = matched(self.classes, wildcards)
        return results_of(seen, _concerned(self.policy), wildcards, linked=False).asked

    @property
    def holds(self) -> bool:
        """Whether no limit is broken."""
        return all(result.holds is not False for result in self.results)

    @cached_property
    def good(self) -> NDArray[np.bool_]:
        """bool[classes]: whether a class satisfies every model."""
        from incrowd.core.table.matching import matched
        from incrowd.search.base import all_hold

        return all_hold(_concerned(self.policy), matched(self.classes, self.policy.wildcards))

    @property
    def failing(self) -> int:
        """Records in classes that fail."""
        return int(self.classes.sizes[~self.good].sum())

    @property
    def badness(self) -> tuple[bool, int]:
        """Numbers by which two draws are compared: whether a limit is broken, and `failing`."""
        return not self.holds, self.failing

    def remaining(self) -> NDArray[np.bool_]:
        """bool[classes]: the classes that remain when others are suppressed until no limit is broken."""
        kept, rest = np.ones(len(self.classes), np.bool_), self
        while not rest.holds and not rest.good.all():
            kept[np.flatnonzero(kept)[~rest.good]] = False
            rest = _ReleasedClasses(self.released, self.classes.only(kept), self.policy)
        return kept if rest.holds else np.zeros_like(kept)


@dataclass(frozen=True)
class ReleasedRows:
    """Rows as they leave: treated, drawn and recoded.

    Attributes
    ----------
    rows
        The engine of the rows with all treated columns.
    released
        The recoded rows.
    recoding
        What was made of their keys.
    gone
        bool[keys]: the keys that are suppressed because what was drawn fails, or because classes fail where
        suppressed records are left out.
    suppression
        The suppressed records, and what the models say of them.
    values
        What the models say of perturbed values as they are released; None where no model looks at any.
    """

    rows: Engine
    released: Released
    recoding: Recoding
    gone: NDArray[np.bool_]
    suppression: Suppression
    values: ReleasedValues | None = None

    @classmethod
    def of(
        cls,
        treatments: TableTreatments,
        schema: Schema,
        counted: Counted,
        recoding: Recoding,
        policy: Policy,
        *,
        alone: bool = True,
        driver_keys: int | None = None,
        progress: Progress | None = None,
    ) -> ReleasedRows:
        """Leave suppressed records out where they have to be, and draw perturbed values.

        These are drawn until the models hold of them. The classes where they do not are suppressed.

        Parameters
        ----------
        schema
            The columns that leave; quasi-identifiers as they were counted.
        counted, recoding
            The rows with their keys, and what becomes of these.
        alone
            Whether the classes have to satisfy the models without another table beside them.

        Raises
        ------
        InfeasibleError
            When more records than the policy allows would be suppressed; the message has figures.
        """
        frequency, came = counted.frequency, recoding
        recoding = settled(frequency, recoding, policy, alone=alone)
        asked = bool(_concerned(policy))
        if policy.judge == "original" or not asked or not _judges_any(recoding, policy):
            leaves = treatments.released(counted)
            values = ReleasedValues(policy) if asked else None
            suppression = Suppression.of(frequency, recoding, policy)
            gone = recoding.starred & ~came.starred
            return cls(leaves.rows, leaves.apply(schema, recoding), recoding, gone, suppression, values)
        candidate = _Candidate(schema, counted, recoding, policy, driver_keys, progress)
        draws, best = 0, None
        for draws, draw in enumerate(candidate.draws(treatments), 1):  # noqa: B007
            # No other draw is kept: each may have all rows.
            best = draw if best is None else min(best, draw, key=lambda each: each[1].badness)
        assert best is not None
        leaves, drawn = best
        seen, of_values = drawn, tuple[PrivacyModel, ...]()
        by_draw = np.zeros(frequency.keys, np.bool_)
        while not seen.holds:
            recoding, failing = candidate.recoding, candidate.gone(seen)
            if (failing & recoding.starred).any():
                recoding = replace(recoding, left_out=True)
                of_values = _concerned(policy)
            by_draw |= failing & ~recoding.starred
            candidate = replace(candidate, recoding=recoding.without(by_draw))
            candidate.refuse_too_many(drawn, draws)
            candidate = replace(
                candidate, recoding=settled(frequency, candidate.recoding, policy, alone=alone)
            )
            seen = candidate.classes_of(leaves)
        recoding = candidate.recoding
        gone = recoding.starred & ~came.starred
        people = None if frequency.people.table is None else seen.classes.frequency
        carried = None if people is None else (people, RecodedBatch.as_it_is(people))
        suppressed = int(frequency.weights[by_draw].sum())
        values = ReleasedValues(policy, seen.results, draws, suppressed, carried, candidate.starred)
        # A reader does not see who is who.
        released = seen.released if people is None else None
        released = released or leaves.apply(schema, recoding)
        suppression = Suppression.of(frequency, recoding, policy, of_values)
        return cls(leaves.rows, released, recoding, gone, suppression, values)


def _judges_any(recoding: Recoding, policy: Policy) -> bool:
    """Say whether a key leaves that models judge."""
    return policy.suppressed != "keep" or not recoding.suppressed.all()


@dataclass(frozen=True)
class _Candidate:
    """The parts of rows, and how they are judged; see `ReleasedRows.of`."""

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
        """Whether suppressed records leave that the models judge."""
        return self.policy.suppressed != "keep" and not self.recoding.left_out

    def draws(self, treatments: TableTreatments) -> Iterator[tuple[Counted, _ReleasedClasses]]:
        """Yield draws, up to the first of which the models hold.

        Only the rows of classes that fail are drawn anew, where rows are known by their places.
        """
        for last in [*[False] * (DRAWS - 1), True]:
            leaves = treatments.released(self.counted, judged=True)
            seen = self.classes_of(leaves)
            yield leaves, seen
            if last or seen.holds or not treatments.is_drawn:
                return
            failing = np.append(~seen.good, False)[self.keys_in(seen)]
            treatments = treatments.redraw(leaves.places_of(failing))

    def classes_of(self, leaves: Counted) -> _ReleasedClasses:
        """Recode rows, and count their released values."""
        by_person = self.frequency.people.table is not None
        # Whose row it is does not leave, but the models count people.
        schema = self.schema.with_attributes(
            replace(each, role="insensitive") if by_person and each.role == "person" else each
            for each in self.schema.attributes
        )
        released = leaves.apply(schema, self.recoding)
        found = _counted(
            released.table,
            self.policy,
            by_person=by_person,
            starred=self.starred,
            driver_keys=self.driver_keys,
            progress=self.progress,
        )
        return _ReleasedClasses(released, EquivalenceClasses.of_keys(found), self.policy)

    def keys_in(self, seen: _ReleasedClasses) -> NDArray[np.integer]:
        """Return the released class of each key, -1 for one that is in none."""
        from incrowd.core.recoding.people import released_keys

        left, kept = self.recoding.leaving(self.frequency)
        found = released_keys(seen.classes.frequency, left, kept)[0]
        if left is self.frequency:
            return found
        of_key = np.full(self.frequency.keys, -1, np.int64)
        of_key[~self.recoding.starred] = found
        return of_key

    def gone(self, seen: _ReleasedClasses) -> NDArray[np.bool_]:
        """Return the keys of classes that have to be suppressed until the models hold: bool[keys]."""
        return np.asarray(np.append(~seen.remaining(), False)[self.keys_in(seen)])

    def refuse_too_many(self, seen: _ReleasedClasses, draws: int) -> None:
        """Refuse more suppressed records than the policy allows, or a release without any other."""
        frequency, limit = self.frequency, self.policy.max_suppression
        gone = frequency.suppressed + int(frequency.weights[self.recoding.starred].sum())
        if gone < frequency.rows and gone / frequency.rows <= limit:
            return
        names = _perturbed(self.policy)
        raise InfeasibleError(
            f"nothing was released: {_failures(seen.results)}, as column {named(names)} is perturbed; that "
            f"is the best of {draws} draws, {seen.failing:,} records are in classes that fail, and {gone:,} "
            f"of {frequency.rows:,} ({gone / frequency.rows:.2%}) would be suppressed where {limit:.2%} may "
            "be; give the treatment another parameter, raise "
            + setting("max_suppression", "--max-suppression")
            + ", or judge only the values before with "
            + setting("judge='original'", "--judge original")
        )


def _counted(
    table: Any,
    policy: Policy,
    *,
    by_person: bool,
    starred: bool,
    driver_keys: int | None = None,
    progress: Progress | None = None,
) -> FrequencyTable:
    """Count a table with its sensitive values as they are there."""
    from incrowd.engines import read_classes

    schema = policy.schema.measured(person=by_person)
    # Who names people is no quasi-identifier beside perturbed values.
    kept = (
        replace(each, key_of=())
        for each in schema.attributes
        if each.role in ("person", "quasi", "sensitive")
    )
    joint = any(model.is_joint for model in _concerned(policy))
    return read_classes(
        table,
        schema.with_attributes(kept),
        joint=joint,
        driver_keys=driver_keys,
        progress=progress,
        starred=starred,
    ).frequency


def _failures(results: Sequence[ModelResult]) -> str:
    return "of the values that leave, " + "; ".join(
        shortfall(result) for result in results if result.holds is False
    )
