"""The figures of risk models, each measured when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from incrowd.risk.base import RiskModel

if TYPE_CHECKING:
    from incrowd.table.classes import EquivalenceClasses

__all__ = ["Risks"]


class Risks(Mapping[str, dict[str, float]]):
    """Figures per risk model by name, in the order of the models; none is measured before it is read.

    Parameters
    ----------
    models
        Risk models that apply to the table.
    classes
        What they are measured of; it may not change any more.
    """

    def __init__(self, models: Iterable[RiskModel], classes: EquivalenceClasses) -> None:
        self._models = {model.name: model for model in models}
        self._classes: EquivalenceClasses | None = classes
        self._found: dict[str, dict[str, float]] = {}

    def __getitem__(self, name: str) -> dict[str, float]:
        model = self._models[name]
        if name not in self._found:
            assert self._classes is not None, "classes are kept until all is measured"
            self._found[name] = model.measure(self._classes)
            if len(self._found) == len(self._models):
                # Nothing is left to measure of them.
                self._classes = None
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._models

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)

    def __getstate__(self) -> dict[str, Any]:
        """Keep the figures alone: a copy on disk has none of the classes, which are the table in short."""
        found = {name: self[name] for name in self}
        return {"_models": self._models, "_found": found, "_classes": None}

    def __repr__(self) -> str:
        return repr(dict(self))
