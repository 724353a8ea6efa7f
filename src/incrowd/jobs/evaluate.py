"""evaluate(): the information loss of a release, from the raw and the released table alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.table.documents import envelope
from incrowd.table.schema import Schema
from incrowd.utility import METRICS, MetricResult, measure_all

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.recoding.observed import Observed
    from incrowd.table.frequency import FrequencyTable

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """What a released table lost of a raw one.

    Attributes
    ----------
    records
        Rows of the tables.
    suppressed
        Rows with ``*`` in every quasi-identifier of the release.
    classes
        Equivalence classes of the release.
    summarized
        Per quasi-identifier the cells that do not cover the raw values of their class, such as means and most
        frequent values. They count as the values that the class has.
    utility
        What was lost, per metric.
    frequency, recoding
        The raw keys and what became of them.
    """

    records: int
    suppressed: int
    classes: int
    summarized: dict[str, int]
    utility: dict[str, MetricResult]
    frequency: FrequencyTable = field(repr=False)
    recoding: Observed = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"Evaluation({self.records:,} records, {self.suppressed:,} suppressed, {self.classes:,} classes, "
            f"{len(self.utility)} metrics)"
        )

    def per_record(self, metric: str) -> NDArray[np.float64] | None:
        """Return what every row lost under a metric: float64[rows]; None where the metric has no such figure.

        Raises
        ------
        PolicyError
            When there is no such metric.
        """
        import numpy as np

        each = METRICS.get(metric)().per_record(self.frequency, self.recoding)
        rows = self.frequency.key_of_row("per_record")
        return None if each is None else np.append(each, 1.0)[rows]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: no value of the tables is in it."""
        return {
            **envelope("evaluation"),
            "records": self.records,
            "suppressed": self.suppressed,
            "classes": self.classes,
            "summarized": self.summarized,
            "utility": [lost.to_dict() for lost in self.utility.values()],
        }


def evaluate(raw: Any, released: Any, schema: Schema) -> Evaluation:
    """Measure what a release lost, whoever made it.

    Parameters
    ----------
    raw, released
        Tables of the same rows in the same order: pandas, Polars or PyArrow tables, or paths of CSV or
        Parquet files. Other columns than the schema's are not looked at.
    schema
        The quasi-identifiers with their hierarchies, where they have one, and the sensitive attributes.

    Raises
    ------
    InputError
        When a table cannot be read or does not fit the schema, or the rows are not the same in number.
    """
    from incrowd.engines import engine_for, loaded
    from incrowd.errors import InputError
    from incrowd.recoding.observed import observe

    before = engine_for(loaded(raw)).count(
        Schema.of((*schema.quasi, *schema.sensitive), null_values=schema.null_values)
    )
    written = Schema.of(schema.quasi, null_values=schema.null_values).measured()
    try:
        after = engine_for(loaded(released)).count(written)
    except InputError as error:
        raise type(error)(f"released table: {error}") from None
    frequency, recoding = observe(before, after)
    classes = recoding.classes(frequency)
    return Evaluation(
        frequency.rows,
        classes.suppressed,
        len(classes),
        recoding.summarized,
        measure_all(frequency, recoding),
        frequency,
        recoding,
    )
