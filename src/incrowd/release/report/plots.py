"""Charts of results in a notebook: the methods of ``result.plot``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrowd.core.errors import ParameterError, those_are
from incrowd.release.report import charts


class _Plots:
    """Charts drawn from the document of a result, which contains nothing unpublishable.

    Parameters
    ----------
    document
        Plain data, as the report of the result has it.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def __repr__(self) -> str:
        names = [name for name in dir(type(self)) if not name.startswith("_")]
        return f"{type(self).__name__}({', '.join(f'{name}()' for name in names)})"


class FrontPlots(_Plots):
    """Charts of a search of the lattice."""

    def front(self, *, width: int = 420, height: int = 180) -> Any:
        """Draw the recodings on the front of loss and mean risk, with the chosen recoding filled.

        Parameters
        ----------
        width, height
            In pixels.

        Raises
        ------
        ParameterError
            When the search looked at no lattice.
        """
        nodes = self._document["front"]
        if nodes is None:
            raise ParameterError(
                "plot.front: this search looked at no lattice; use a full-domain algorithm, e.g. optimal"
            )
        return charts.for_notebooks(charts.front(nodes, width=width, height=height))


class AssessmentPlots(_Plots):
    """Charts of a table without recoding."""

    def classes(self, *, width: int = 420) -> Any:
        """Draw the number of records by class size, for a release before and after."""
        return charts.for_notebooks(charts.class_sizes(self._document["classes"], width=width))

    def risk(self, *, width: int = 420) -> Any:
        """Draw the figures of the risk models, for a release before and after."""
        return charts.for_notebooks(charts.risks(self._document["risk"], width=width))


class ReleasePlots(AssessmentPlots, FrontPlots):
    """Charts of a release."""

    def column(self, name: str, *, width: int = 420) -> Any:
        """Draw the distribution of a quasi-identifier before and after.

        Values before are counted in bins that name nothing which the release does not name.

        Raises
        ------
        ParameterError
            When it is no quasi-identifier.
        """
        attributes = {each["name"]: each for each in self._document["attributes"]}
        if name not in attributes:
            raise ParameterError(
                f"plot.column: {name!r} is no quasi-identifier; {those_are(attributes, name)}"
            )
        return charts.for_notebooks(charts.distribution(attributes[name], width=width))
