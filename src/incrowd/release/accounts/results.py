"""Results of the models on a table, lazy for models without a limit in the policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from incrowd.measures.privacy import MODELS, ModelResult, PrivacyModel, SensitiveModel
from incrowd.measures.privacy.km_anonymity import KMAnonymity

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable


class Results:
    """Results of privacy models, with the policy's models first.

    Parameters
    ----------
    asked
        What the models say whose limits are judged.
    others
        Measures the others. It is called when they are looked at first; None where there are none.
    """

    def __init__(
        self, asked: Iterable[ModelResult], others: Callable[[], Iterable[ModelResult]] | None = None
    ) -> None:
        self.asked = tuple(asked)
        self._others = others
        self._all = self.asked if others is None else None

    @property
    def all(self) -> tuple[ModelResult, ...]:
        """The results of all models, the policy's first."""
        others = self._others
        if self._all is None and others is not None:
            self._all = (*self.asked, *others())
            # With it go the classes that they were measured of.
            self._others = None
        assert self._all is not None
        return self._all

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Results) and self.all == other.all

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        """Keep the results alone, so that a copy on disk has no classes."""
        return {"asked": self.asked, "_all": self.all, "_others": None}

    def __repr__(self) -> str:
        return f"Results({len(self.asked)} asked)"


def results_of(
    classes: EquivalenceClasses, models: Sequence[PrivacyModel], wildcards: str, *, linked: bool
) -> Results:
    """Measure the policy's models on classes now, and other models on demand.

    Parameters
    ----------
    classes
        The classes, as the wildcards let them match.
    linked
        Whether rows of a person can be joined, so that whole histories are measured, too.
    """
    results = [result for model in models for result in model.measure(classes)]
    identities = {measure_key(result) for result in results}

    def others() -> list[ModelResult]:
        return [
            result
            for variant in unlimited_models(classes.frequency, wildcards, linked=linked)
            for result in variant.measure(classes, asked=False)
            if measure_key(result) not in identities
        ]

    return Results(results, others)


@cache
def _variants(entry: type[PrivacyModel]) -> tuple[PrivacyModel, ...]:
    return tuple(entry.variants())


def unlimited_models(
    frequency: FrequencyTable, wildcards: str, *, linked: bool = False
) -> Iterator[PrivacyModel]:
    """Yield the models that are measured without a limit, whole histories included."""
    for entry in MODELS:
        if entry.unasked and (frequency.sensitive or not issubclass(entry, SensitiveModel)):
            for variant in _variants(entry):
                knows = not isinstance(variant, SensitiveModel) or variant.knows_lists(frequency)
                if knows and wildcards in variant.wildcards and variant.knows_population(frequency):
                    yield variant
    if linked and frequency.people.columns and wildcards in KMAnonymity(1, 0).wildcards:
        yield KMAnonymity(1, 0)


def measure_key(measured: Any) -> tuple[object, ...]:
    """Return a key of a measure of a table or of classes."""
    # The distance that was used says more than whether it was chosen or automatic.
    settings = ((name, str(value)) for name, value in measured.settings.items())
    attacker = getattr(measured, "attacker", None)
    return (measured.model, measured.quantity, measured.attribute, attacker, *sorted(settings))
