"""The nodes that a search looked at."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import envelope, to_json
from incrowd.core.errors import TableError
from incrowd.core.io.addresses import file_path
from incrowd.core.lazy import np, pl
from incrowd.core.markup import InNotebooks, table

if TYPE_CHECKING:
    from incrowd.search.lattice.node import Node

_KNOWN = ("anonymous", "score", "suppressed", "classes", "smallest", "largest_risk", "mean_risk")


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file for a lattice.

    Raises
    ------
    TableError
        For another ending.
    """
    suffix = file_path(path).suffix
    if suffix not in (".parquet", ".json"):
        raise TableError(f"{path}: a lattice is written as .parquet or .json")
    return suffix


@dataclass(frozen=True)
class SolutionSpace(InNotebooks):
    """The nodes that a search looked at.

    Attributes
    ----------
    names
        The quasi-identifiers.
    size
        Nodes of the whole lattice.
    metric
        What the score is.
    nodes
        The nodes, in the order in which they were looked at.
    best
        The node that was chosen, None where none is anonymous.
    proved
        Whether no node of the lattice can be better under the metric.
    records
        Records of the table.
    bound
        What no node of the lattice scores below, as far as it was proved; the score of the best where that is
        proved to be the best.
    """

    _shown = ("records", "lattice", "looked_at", "metric", "proved", "score", "levels")

    names: tuple[str, ...]
    size: int
    metric: str
    nodes: tuple[Node, ...]
    best: Node | None
    proved: bool
    records: int
    bound: float = 0.0

    @property
    def gap(self) -> float | None:
        """Largest possible gain on the best score, as a share of that score; None where no node is good."""
        if self.best is None:
            return None
        return max(self.best.score - self.bound, 0.0) / self.best.score if self.best.score > 0 else 0.0

    def __repr__(self) -> str:
        return f"SolutionSpace({self.size:,} nodes, {len(self.nodes):,} looked at; {self.metric})"

    def _repr_html_(self) -> str:
        rows = [
            (" ".join(map(str, node.levels)), node.score, self._risk(node), node.suppressed, node.classes)
            for node in self.front()
        ]
        header = ("levels", "score", "mean risk", "suppressed", "classes")
        return super()._repr_html_() + table("The front of loss and risk", header, rows)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a mapping per node: levels by quasi-identifier, then the results.

        Risks are 1 / smallest class and classes / records kept; they and the score are None where the node
        is not anonymous.
        """
        rows = []
        for node in self.nodes:
            kept = self.records - node.suppressed
            good = node.anonymous and kept > 0
            values = (
                node.anonymous,
                node.score if good else None,
                node.suppressed,
                node.classes if good else None,
                node.smallest if good else None,
                1 / node.smallest if good else None,
                node.classes / kept if good else None,
            )
            rows.append(
                {f"level of {name}": level for name, level in zip(self.names, node.levels, strict=True)}
                | dict(zip(_KNOWN, values, strict=True))
            )
        return rows

    def to_polars(self) -> pl.DataFrame:
        """Return `to_rows` as a Polars frame."""
        types = (pl.Boolean, pl.Float64, pl.Int64, pl.Int64, pl.Int64, pl.Float64, pl.Float64)
        schema = {f"level of {name}": pl.Int64 for name in self.names} | dict(zip(_KNOWN, types, strict=True))
        return pl.DataFrame(self.to_rows(), schema=schema)

    def front(self, holds: Callable[[Node], bool] | None = None) -> tuple[Node, ...]:
        """Return the anonymous nodes that no other beats in score and mean risk, the best score first.

        Parameters
        ----------
        holds
            What else a node has to satisfy, such as a run's limits on suppressed cells. A node that does not
            hides none that does.
        """
        found: list[Node] = []
        least = np.inf
        anonymous = [node for node in self.nodes if node.anonymous]
        for node in sorted(anonymous, key=lambda node: (node.score, self._risk(node), node.levels)):
            if self._risk(node) < least and (holds is None or holds(node)):
                least = self._risk(node)
                found.append(node)
        return tuple(found)

    def _risk(self, node: Node) -> float:
        return node.classes / max(self.records - node.suppressed, 1)

    def front_entries(self) -> list[dict[str, Any]]:
        """Return the front as plain data for charts: loss and mean risk of each node, and whether chosen."""
        chosen = None if self.best is None else self.best.levels
        return [
            {
                "levels": list(node.levels),
                "score": node.score,
                "risk": self._risk(node),
                "suppressed": node.suppressed,
                "chosen": node.levels == chosen,
            }
            for node in self.front()
        ]

    def summary(self) -> dict[str, Any]:
        """Return plain data for JSON, without the nodes."""
        best = self.best
        return {
            "lattice": self.size,
            "looked_at": len(self.nodes),
            "metric": self.metric,
            "proved": self.proved,
            "bound": None if best is None else self.bound,
            "gap": self.gap,
            "levels": None if best is None else dict(zip(self.names, best.levels, strict=True)),
            "score": None if best is None else best.score,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            **envelope("lattice"),
            "records": self.records,
            **self.summary(),
            "nodes": self.to_rows(),
        }

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the nodes as ``.parquet`` or ``.json``, all or nothing, without values of the table.

        Raises
        ------
        TableError
            For another suffix; when the file exists (unless `force`) or cannot be written.
        """
        from incrowd.core.io.targets import writing

        suffix = check_suffix(path)
        with writing(path, force=force) as place:
            if suffix == ".parquet":
                self.to_polars().write_parquet(place)
            else:
                text = to_json(self.to_dict()) + "\n"
                place.write_text(text, encoding="utf-8", newline="\n")
