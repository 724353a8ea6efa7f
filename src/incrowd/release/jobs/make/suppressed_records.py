"""Suppressed records as a class of their own, which is left out if a model fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import InfeasibleError, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding import SUPPRESSED
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import smallest_codes
from incrowd.measures.privacy.attacker import Attacker
from incrowd.release.jobs.make.reasons import count_reasons

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.release.policy.policy import Policy


@dataclass(frozen=True)
class Suppression:
    """The suppressed records of a release, and the models' verdict on the records.

    Attributes
    ----------
    setting
        Whether they leave: ``judged``, ``drop`` or ``keep``, see `Policy`.
    records
        How many there are, those that are left out included.
    came
        How many of them came in suppressed. Their values are not counted by key, so no model judges them.
    left_out
        How many are left out: all of them, or none.
    failing
        The names of the models that they do not satisfy as a class of their own.
    size
        Records of that class, or its people where people count; None where that is unknown.
    reasons
        How many they are by `Reason`; None where they are not counted, as in a table in blocks.
    """

    setting: str
    records: int = 0
    came: int = 0
    left_out: int = 0
    failing: tuple[str, ...] = ()
    size: int | None = None
    reasons: Mapping[str, int] | None = None

    @classmethod
    def of_recoding(
        cls,
        frequency: FrequencyTable,
        recoding: Recoding,
        policy: Policy,
        reasons: NDArray[np.int8],
        of_values: Sequence[PrivacyModel] = (),
    ) -> Suppression:
        """Count the suppressed records of recoded keys, and judge the records as a class.

        Parameters
        ----------
        reasons
            int8[keys]: the `Reason` of each key that is suppressed.
        of_values
            The models that their perturbed values fail as they are released.
        """
        already_suppressed = frequency.suppressed
        records = already_suppressed + int(frequency.weights[recoding.starred].sum())
        failing = failing_models(frequency, recoding, policy.models)
        suppressed_class = EquivalenceClasses.from_assignment(frequency, np.where(recoding.starred, 0, -1), 1)
        size = int(suppressed_class.counted.sizes[0]) if records > already_suppressed else 0
        return cls(
            policy.suppressed,
            records,
            already_suppressed,
            records if recoding.left_out else 0,
            tuple(dict.fromkeys((*failing, *_names(of_values)))),
            None if already_suppressed and frequency.people.table is not None else size + already_suppressed,
            count_reasons(frequency, reasons),
        )

    @property
    def exposed(self) -> int:
        """Suppressed records that are released although the models fail."""
        return self.records - self.left_out if self.failing else 0

    def share(self, released: int) -> float:
        """Return the suppressed records over all, given how many records are released."""
        records = released + self.left_out
        return self.records / records if records else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "setting": self.setting,
            "records": self.records,
            "came": self.came,
            "left_out": self.left_out,
            "failing": list(self.failing),
            "reasons": None if self.reasons is None else dict(self.reasons),
        }

    def sentences(self) -> list[str]:
        """Say whether the suppressed records are released, and which models fail."""
        if not self.records:
            return []
        one = self.records == 1
        records = f"{self.records:,} suppressed record{'' if one else 's'}"
        its, it = ("its", "it") if one else ("their", "they")
        failing = " and ".join(self.failing)
        if self.left_out:
            start = f"{records} {'is' if one else 'are'} left out"
            if self.setting == "drop":
                return [f"{start}, as the policy asks."]
            if self.came:
                return [f"{start}: {self.came:,} came in suppressed, and the models do not judge such."]
            return [f"{start}: as a class of {its} own {it} would not satisfy {failing}."]
        others = "The figures of classes and models are those of the other records."
        if not self.failing:
            verb = "satisfies" if one else "satisfy"
            return [f"The {records} {verb} every model as a class of {its} own. {others}"]
        reason = f"as a class of {its} own {it} {'does' if one else 'do'} not satisfy {failing}"
        if self.came:
            reason = f"the models do not judge those that came in suppressed ({self.came:,})"
        return [f"Of the {records} nothing is promised: {reason}. {others}"]


def failing_models(
    frequency: FrequencyTable, recoding: Recoding, models: Sequence[PrivacyModel]
) -> tuple[str, ...]:
    """Name the models that the suppressed records fail as a class.

    Nobody whose quasi-identifiers fit no released class can be anywhere else, so such a class is what an
    attacker sees. To an attacker who knows some columns, too, the records are a group of their own. The
    values of records that came in suppressed are not counted by key, so of those no model is known to hold.

    Parameters
    ----------
    frequency, recoding
        The keys, and what becomes of them.

    Returns
    -------
    The names, each once; none where no record is suppressed.

    Examples
    --------
    >>> import incrowd as ic
    >>> from incrowd.release.jobs.make.suppressed_records import failing_models
    >>> table = ic.samples.hospital(100)
    >>> release = ic.anonymize(table, ic.Schema(quasi=["age"], unlisted="drop"), "k-anonymity:5")
    >>> failing_models(release.frequency, release.recoding, release.policy.models)
    ()
    """
    starred = recoding.starred
    if frequency.suppressed:
        return _names(models)
    if not starred.any():
        return ()
    return _failing(models, *_with_suppressed(frequency, recoding, starred))


def refuse_failing(classes: EquivalenceClasses, models: Sequence[PrivacyModel]) -> None:
    """Refuse a written table with suppressed records that fail the models as a class.

    Parameters
    ----------
    classes
        The classes of the written table, the suppressed records among them (`EngineSettings.starred`).

    Raises
    ------
    InfeasibleError
    """
    frequency = classes.frequency
    starred = np.ones(frequency.keys, np.bool_)
    for domain, codes in zip(frequency.domains, frequency.codes, strict=True):
        starred &= np.array([value == SUPPRESSED for value in domain.values], np.bool_)[codes]
    for suppressed_class in np.flatnonzero(starred):
        if failing := _failing(models, classes, int(suppressed_class)):
            raise InfeasibleError(
                f"nothing was released: {int(classes.sizes[suppressed_class]):,} suppressed records do not "
                f"satisfy {' and '.join(failing)} as a class of their own"
            )


def _failing(models: Sequence[PrivacyModel], classes: EquivalenceClasses, class_id: int) -> tuple[str, ...]:
    """Name the models that a class fails, or the whole table if a model limits the table."""
    return _names(
        model
        for model in models
        if not (
            all(measured.holds is not False for measured in model.measure(classes))
            if model.of_table
            else model.holds(classes)[class_id]
        )
    )


def _names(models: Iterable[PrivacyModel]) -> tuple[str, ...]:
    """Return the distinct names of models."""
    names = (
        f"the models of attacker {model.attacker!r}" if isinstance(model, Attacker) else model.name
        for model in models
    )
    return tuple(dict.fromkeys(names))


def _with_suppressed(
    frequency: FrequencyTable, recoding: Recoding, starred: NDArray[np.bool_]
) -> tuple[EquivalenceClasses, int]:
    """Group the keys by cells, and the suppressed keys into a separate class.

    Returns
    -------
    The classes, and the number of that one.
    """
    codes, sizes = [], []
    for cells in recoding.cells:
        positions, labels = cells.released
        positions_of_keys = np.where(starred, len(labels), positions[cells.codes])
        codes.append(smallest_codes(positions_of_keys, len(labels) + 1))
        sizes.append(len(labels) + 1)
    classes = EquivalenceClasses.from_codes(frequency, codes, sizes)
    owner = np.repeat(np.arange(len(classes)), np.diff(classes.indptr))
    place = int(owner[starred[classes.members]][0])
    population = frequency.population
    if population is not None and population.weights is None:
        # A suppressed record may be anybody.
        covered = classes.population.astype(np.int64)
        covered[place] = population.covered.sum() + population.outside
        classes.set_population(covered, 0)
    return classes, place


def settle_suppression(
    frequency: FrequencyTable, recoding: Recoding, policy: Policy, *, alone: bool = True
) -> Recoding:
    """Decide whether suppressed records leave, then suppress the classes that fail.

    Where they are left out, the distribution of the table is another one. So the other classes are judged
    anew, and those that fail are left out, too, until all hold.

    Parameters
    ----------
    frequency, recoding
        The keys, and what becomes of them.
    alone
        Whether the classes have to satisfy the models without another table beside them.

    Raises
    ------
    InfeasibleError
        When nothing would be left, or more would be suppressed than the policy allows.
    """
    from incrowd.core.table.matching import matched
    from incrowd.search.base import all_hold

    if policy.suppressed == "keep" or not (frequency.suppressed or recoding.starred.any()):
        return recoding
    if not recoding.left_out:
        if policy.suppressed == "judged" and not failing_models(frequency, recoding, policy.models):
            return recoding
        recoding = replace(recoding, left_out=True)
    # What the whole table has to satisfy, no class is suppressed for; the release is judged by it.
    models = [model for model in policy.models if not model.of_table]
    while True:
        _refuse_too_many(frequency, recoding, policy)
        remaining, remaining_recoding = recoding.leaving(frequency)
        if not alone:
            return recoding
        classes = remaining_recoding.classes(remaining)
        texts = [cells.released[1] for cells in remaining_recoding.cells]
        good = all_hold(models, matched(classes, policy.wildcards, texts))
        if good.all():
            return recoding
        failing_keys = np.zeros(remaining.keys, np.bool_)
        failing_keys[classes.members] = np.repeat(~good, np.diff(classes.indptr))
        of_key = np.zeros(frequency.keys, np.bool_)
        of_key[~recoding.starred] = failing_keys
        recoding = recoding.without(of_key)


def _refuse_too_many(frequency: FrequencyTable, recoding: Recoding, policy: Policy) -> None:
    """Refuse more suppressed records than the policy allows, or a release without any other."""
    suppressed = frequency.suppressed + int(frequency.weights[recoding.starred].sum())
    if suppressed < frequency.rows and suppressed / frequency.rows <= policy.max_suppression:
        return
    keep = setting("suppressed='keep'", "--suppressed keep")
    share = setting("max_suppression", "--max-suppression")
    ways = "" if suppressed == frequency.rows else f"raise {share}, "
    raise InfeasibleError(
        f"nothing was released: {suppressed:,} of {frequency.rows:,} records "
        f"({suppressed / frequency.rows:.2%}) would be suppressed where {policy.max_suppression:.2%} may be, "
        f"as suppressed records are left out and the others are judged without them; {ways}loosen the "
        f"models, or keep suppressed records, of which nothing is promised then ({keep})"
    )
