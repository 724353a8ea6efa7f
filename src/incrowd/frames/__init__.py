"""The verbs as a namespace of frames: after ``import incrowd.frames`` a frame has ``df.incrowd``.

Examples
--------
>>> import incrowd.frames
>>> import incrowd as ic
>>> people = ic.samples.hospital(300)
>>> people.incrowd.risk(["age", "sex"])["prosecutor"]["max"]
1.0
>>> schema = ic.Schema(quasi=["age", "sex"], unlisted="drop")
>>> people.incrowd.anonymize(schema, "k-anonymity:5").privacy.smallest >= 5
True
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from incrowd.core.lazy import pl
from incrowd.core.table.schema import Schema
from incrowd.release.jobs.make.anonymize import anonymize
from incrowd.release.jobs.make.release import Release
from incrowd.release.jobs.measure.assess import Assessment, assess
from incrowd.release.jobs.measure.evaluate import Evaluation, evaluate
from incrowd.release.policy.policy import Policy

__all__ = ["Incrowd"]


class Incrowd:
    """The namespace ``df.incrowd``: the verbs that begin with a table, on this frame.

    Parameters
    ----------
    frame
        A pandas or Polars frame, or a lazy one of Polars.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __repr__(self) -> str:
        return "Incrowd(assess(), anonymize(), risk(), evaluate())"

    def assess(
        self, schema: Schema | Policy | Iterable[str], models: Any = (), **settings: Any
    ) -> Assessment:
        """Measure the frame without changes, as `incrowd.assess` does.

        Parameters
        ----------
        schema
            A schema, a policy (then its models count), or the names of the quasi-identifiers.
        models, settings
            As in `incrowd.assess`.
        """
        if isinstance(schema, Policy):
            settings = {"wildcards": schema.wildcards, **settings}
            models, schema = models or schema.models, schema.schema
        return assess(self._frame, _schema(schema), models, **settings)

    def anonymize(
        self, schema: Schema | Policy, models: Any = (), algorithm: Any = None, **settings: Any
    ) -> Release:
        """Recode the frame so that it satisfies privacy models, as `incrowd.anonymize` does."""
        return anonymize(self._frame, schema, models, algorithm, **settings)

    def risk(self, schema: Schema | Policy | Iterable[str], **settings: Any) -> dict[str, dict[str, float]]:
        """Return the figures of every risk model, with the parameters of `assess`."""
        return dict(self.assess(schema, **settings).risk)

    def evaluate(self, released: Any, schema: Schema, **settings: Any) -> Evaluation:
        """Measure the losses of a release of this frame, as `incrowd.evaluate` does."""
        return evaluate(self._frame, released, schema, **settings)


def _schema(given: Schema | Iterable[str]) -> Any:
    """Return a schema; names alone are quasi-identifiers, and the verb refuses other objects."""
    return (
        given if isinstance(given, Schema | str) or not isinstance(given, Iterable) else Schema(quasi=given)
    )


def _register() -> None:
    """Register the namespace on frames of Polars, and on frames of pandas where pandas is installed."""
    pl.api.register_dataframe_namespace("incrowd")(Incrowd)
    pl.api.register_lazyframe_namespace("incrowd")(Incrowd)
    try:
        from pandas.api.extensions import register_dataframe_accessor
    except ModuleNotFoundError:
        return
    register_dataframe_accessor("incrowd")(Incrowd)


_register()
