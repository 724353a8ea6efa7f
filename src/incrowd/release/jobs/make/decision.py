"""The decision of a release, policy and recoding, by which written tables are judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, setting
from incrowd.core.lazy import NDArray, np, pl
from incrowd.engines import read_classes
from incrowd.measures.privacy import IdentityModel
from incrowd.release.jobs.make.released_rows import judge
from incrowd.release.jobs.make.suppressed_records import Suppression, refuse_failing
from incrowd.release.jobs.measure.assess import Assessment, assess_table

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.release.policy.policy import Policy
    from incrowd.search.lattice import SolutionSpace


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The decision of a release: the policy, and a recoding that satisfies the policy.

    Attributes
    ----------
    policy
        What the release has to satisfy.
    recoding
        What was decided; it knows values of the table before recoding.
    frequency
        The keys that were recoded, as they came in.
    lattice
        The full-domain recodings that the search looked at, where it looked at such.
    reasons
        int8[keys]: the `Reason` of each key that is suppressed, else 0. Do not hand them out.
    population
        The people that the table was compared with, where a model needed them.
    driver_keys
        How many combinations of values may be fetched where the table is counted elsewhere.
    """

    policy: Policy
    recoding: Recoding
    frequency: FrequencyTable
    lattice: SolutionSpace | None = None
    reasons: NDArray[np.int8] | None = field(default=None, compare=False)
    population: Any = None
    driver_keys: int | None = None

    def class_table(self, sensitive: str | None = None) -> pl.DataFrame:
        """Summarize the release: the number of records per class and sensitive value.

        For a number it has the mean over the class, for a date the mean day. For a category it has the values
        that occur in the class, joined by commas in order. Missing values and suppressed records are left
        out.

        The table tells raw values as means and sets do: see the output styles `mean` and `set`.

        Parameters
        ----------
        sensitive
            The sensitive attribute; may be left out where there is one.

        Returns
        -------
        A Polars frame with the quasi-identifiers, the sensitive attribute and ``count``, sorted by these.

        Raises
        ------
        SchemaError
            When the attribute is not a sensitive one, or there are several and none is named.
        ParameterError
            When the recoding is not local, so that it has no classes of its own. Or when the models hold only
            since ``*`` matches any value: the summary of such a class would tell the values behind ``*``.
        """
        from incrowd.core.recoding import Local
        from incrowd.core.table.classes import EquivalenceClasses
        from incrowd.release.accounts.class_figures import class_table
        from incrowd.search.base import all_hold

        recoding = self.recoding
        if self.policy.wildcards == "matches-any" and isinstance(recoding, Local):
            classes = EquivalenceClasses.from_assignment(
                self.frequency, recoding.class_of_key, recoding.count
            )
            models = [each for model in self.policy.models for each in model.for_classes()]
            if not all_hold(models, classes).all():
                raise ParameterError(
                    "a summary of classes would tell values of fewer people than the models ask for, as they "
                    "hold only where * matches any value; release the table with "
                    + setting("wildcards='value'", "--wildcards value")
                )
        return class_table(self.frequency, self.recoding, sensitive)

    def _assessment(self, written: Any, *, judged_alone: bool = False) -> Assessment:
        """Measure a written table, by the quasi-identifiers alone if verdicts depend on nothing else."""
        schema = self.policy.written
        made_from: tuple[FrequencyTable, Recoding] | None = self.recoding.leaving(self.frequency)
        if judged_alone and _by_sizes_alone(self.policy):
            schema, made_from = schema.with_attributes(schema.having("quasi")), None
        return assess_table(
            written,
            schema,
            self.policy.models,
            population=self.population,
            driver_keys=self.driver_keys,
            made_from=made_from,
            wildcards=self.policy.wildcards,
        )

    def _judge(self, written: Any, measured: Assessment, suppression: Suppression) -> None:
        """Judge a written table, and the suppressed records as a class if required."""
        judge(measured, self.policy, suppression)
        if measured.suppressed and self.policy.suppressed != "keep":
            models = self.policy.models
            classes = read_classes(
                written,
                self.policy.written,
                joint=any(model.is_joint for model in models),
                population=self.population,
                driver_keys=self.driver_keys,
                made_from=self.recoding.leaving(self.frequency),
                starred=True,
            )
            refuse_failing(classes, models)


def _by_sizes_alone(policy: Policy) -> bool:
    """Say whether verdicts depend on the quasi-identifiers alone."""
    # Population counts by weights, people and households are carried over, which compares all values.
    schema = policy.schema
    carried = schema.person or schema.household or schema.weights
    return not carried and all(isinstance(model, IdentityModel) for model in policy.models)
