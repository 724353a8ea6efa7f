"""Recoding: the decisions of an algorithm, independent of where the rows live, by level or by value."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from incrowd.core.documents import envelope
from incrowd.core.errors import SchemaError, null_values_setting
from incrowd.core.io.addresses import file_path
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.markup import document
from incrowd.core.reading.missing import null_values_of
from incrowd.core.recoding.cells import starred
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import FrequencyTable, People, PopulationCounts, smallest_codes
from incrowd.core.table.sensitive import SensitiveCounts
from incrowd.core.table.survey import Survey
from incrowd.core.table.wildcard_classes import counts_by_number

if TYPE_CHECKING:
    from incrowd.core.recoding.cells import Cells
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.schema import Schema


FORMAT_VERSION = 1

READS_AS_MISSING = "a released cell would read as missing"
"""Message about a released cell that would be read as missing."""

BLANKED_ABOVE = 0.5
"""Share of the records above which a column counts as blanked."""


@dataclass(frozen=True, eq=False, repr=False)
class Recoding(ABC):
    """The decisions of an algorithm about the released cell of every key.

    Attributes
    ----------
    domains
        The values of each quasi-identifier before recoding.
    keys
        Per quasi-identifier the rank of each key's value: uint[keys].
    cells
        Per quasi-identifier the released cells.
    suppressed
        bool[keys]: keys whose records are suppressed.
    treated
        What was decided once for columns that are treated besides, by name: plain data.
    left_out
        Whether the rows of `starred` keys, and those that came in suppressed, are left out of the release.
    """

    _kinds: ClassVar[dict[str, type[Recoding]]] = {}
    kind: ClassVar[str]
    domains: tuple[Domain, ...]
    keys: tuple[NDArray[np.unsignedinteger], ...]
    cells: tuple[Cells, ...]
    suppressed: NDArray[np.bool_]
    treated: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    left_out: bool = field(default=False, kw_only=True)

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        Recoding._kinds[cls.kind] = cls

    @abstractmethod
    def decisions(self) -> dict[str, Any]:
        """Return the decisions as plain data, without values of the table."""

    def classes(self, frequency: FrequencyTable) -> EquivalenceClasses:
        """Group the keys by released cells, with a cache of the last result."""
        cached = self.__dict__.get("_classes")
        if cached is not None and cached.frequency is frequency:
            return cast(EquivalenceClasses, cached)
        codes, sizes = [], []
        for cells in self.cells:
            positions, labels = cells.released
            codes.append(smallest_codes(positions[cells.codes], len(labels)))
            sizes.append(len(labels))
        classes = EquivalenceClasses.from_codes(frequency, codes, sizes, self.suppressed)
        self.__dict__["_classes"] = classes
        return classes

    def without(self, gone: NDArray[np.bool_]) -> Self:
        """Return the recoding with further keys suppressed.

        Parameters
        ----------
        gone
            bool[keys]
        """
        columns = zip(self.cells, self.domains, strict=True)
        cells = tuple(column.without(gone, domain.size) for column, domain in columns)
        return replace(self, cells=cells, suppressed=self.suppressed | gone)

    @cached_property
    def starred(self) -> NDArray[np.bool_]:
        """Keys with ``*`` in every quasi-identifier, for any reason: bool[keys]."""
        return np.asarray(self.suppressed | starred(self.cells))

    @property
    def in_no_class(self) -> NDArray[np.bool_]:
        """Keys that no class takes; other suppressed keys are in a class of ``*``: bool[keys]."""
        return self.suppressed

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Return the recoding of some of the keys: bool[keys]."""
        return replace(
            self,
            keys=tuple(codes[kept] for codes in self.keys),
            cells=tuple(column.only(kept) for column in self.cells),
            suppressed=self.suppressed[kept],
        )

    def leaving(self, frequency: FrequencyTable) -> tuple[FrequencyTable, Self]:
        """Return the keys and the recoding of released rows, as if no other row had come."""
        if not self.left_out:
            return frequency, self
        released = ~self.starred
        return remaining(frequency, released), replace(self.only(released), left_out=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in self.decisions().items())})"

    def _repr_html_(self) -> str:
        return document(type(self).__name__, {"kind": self.kind, **self.decisions()})

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write ``recoding.json`` and ``keys.parquet`` into a new or empty folder, both or none.

        The files hold the values of the quasi-identifiers before recoding, so they are as confidential
        as the data; nobody else may read the folder.

        Parameters
        ----------
        force
            Whether a recoding that was saved there is replaced.

        Raises
        ------
        TableError
            When the folder has files (unless `force`; never other files than `save` wrote), or cannot be
            written.
        """
        from incrowd.core.io.targets import writing

        with writing(folder, force=force, folder=True, private=True, parents=True) as path:
            self._save(path)

    def _save(self, path: Path) -> None:
        document = {
            **envelope("recoding", FORMAT_VERSION),
            "confidential": "holds values of the table before recoding; keep it where the data is kept",
            "kind": self.kind,
            "decisions": self.decisions(),
            **({"treated": dict(self.treated)} if self.treated else {}),
            "attributes": [
                {
                    **_domain_to_dict(domain),
                    "labels": list(cells.labels),
                    "lo": cells.lo.tolist(),
                    "hi": cells.hi.tolist(),
                    "loss": cells.loss.tolist(),
                    "depth": cells.depth.tolist(),
                }
                for domain, cells in zip(self.domains, self.cells, strict=True)
            ],
        }
        columns: dict[str, Any] = {f"key{j}": codes for j, codes in enumerate(self.keys)}
        columns |= {f"cell{j}": cells.codes for j, cells in enumerate(self.cells)}
        columns |= self._key_columns()
        columns["suppressed"] = self.suppressed
        pl.DataFrame(columns).write_parquet(path / "keys.parquet")
        text = json.dumps(document, ensure_ascii=False, allow_nan=True)
        (path / "recoding.json").write_text(text, encoding="utf-8", newline="\n")

    @staticmethod
    def load(folder: str | os.PathLike[str]) -> Recoding:
        """Read a recoding that `save` wrote.

        Raises
        ------
        TableError
            When the folder holds no recoding that this version can read.
        """
        from incrowd.core.recoding.storage import read_recoding

        return read_recoding(file_path(folder), FORMAT_VERSION, Recoding._kinds)

    def _key_columns(self) -> dict[str, NDArray[np.generic]]:
        return {}


def check_cells(recoding: Recoding, schema: Schema) -> None:
    """Raise for cells that would be read as missing, such as a mean of 99 if ``99`` means missing.

    Raises
    ------
    SchemaError
    """
    for domain, cells in zip(recoding.domains, recoding.cells, strict=True):
        nulls = schema.nulls(domain.name)
        if not nulls:
            continue
        means = null_values_of(nulls).mean
        labels = {cells.labels[entry] for entry in np.unique(cells.codes).tolist()}
        if any(label is not None and means(label) for label in [*labels, *domain.written([*labels])]):
            by_column = nulls != schema.null_values
            named_by = f"missing or {null_values_setting()}" if by_column else null_values_setting()
            raise SchemaError(
                f"column {domain.name!r}: {READS_AS_MISSING}, since {named_by} "
                "names its text; take another output style for it, other labels in its hierarchy or another "
                "null value"
            )


def blanked_shares(frequency: FrequencyTable, recoding: Recoding) -> dict[str, float]:
    """Return the share of unsuppressed records with a cell that covers all values, by quasi-identifier."""
    weights = np.where(recoding.suppressed, 0, frequency.weights)
    shares = {}
    for domain, cells in zip(recoding.domains, recoding.cells, strict=True):
        if domain.size < 2:
            continue
        everything = (cells.lo == 0) & (cells.hi == domain.size - 1)
        blanked = everything[cells.codes] | cells.starred
        shares[domain.name] = float(weights[blanked].sum() / max(weights.sum(), 1))
    return shares


def _domain_to_dict(domain: Domain) -> dict[str, Any]:
    """Write a domain as plain data."""
    tree = domain.hierarchy
    return {
        "name": domain.name,
        "kind": domain.kind,
        "values": list(domain.values),
        "numbers": [None if np.isnan(number) else number for number in domain.numbers.tolist()],
        "missing": domain.missing,
        **({} if domain.grid is None else {"grid": domain.grid.spec}),
        **({} if domain.recipe is None else {"recipe": domain.recipe.spec()}),
        **({"decimal": ","} if domain.commas else {}),
        "hierarchy": None
        if tree is None
        else {"labels": list(tree.labels), "parents": tree.parents.tolist()},
    }


def remaining(table: FrequencyTable, mask: NDArray[np.bool_]) -> FrequencyTable:
    """Return some of the keys, with totals that ignore all other rows.

    Unlike those of `FrequencyTable.only`, its totals are of these rows alone, and so are its people and
    households.

    Parameters
    ----------
    mask
        bool[keys]
    """
    rest = table.only(mask)
    number = np.full(table.keys + 1, -1, np.int32)
    number[:-1][mask] = np.arange(rest.keys, dtype=np.int32)
    rows = row_keys = None
    if table.row_keys is not None:
        rows = np.flatnonzero(number[table.row_keys] >= 0)
        row_keys = number[table.row_keys][rows]
    sensitive = tuple(
        replace(after, rows=before.rows).leaving(rows)
        for before, after in zip(table.sensitive, rest.sensitive, strict=True)
    )
    sampling, homes = table.survey
    if sampling is not None:
        weight = None if sampling.of_row is None or rows is None else sampling.of_row[rows]
        sampling = replace(sampling, keys=sampling.keys[mask], suppressed=0, of_row=weight)
    estimated = sampling is not None and table.population is not None and table.population.weights
    return replace(
        rest,
        sensitive=sensitive,
        row_keys=row_keys,
        population=PopulationCounts.estimated(sampling) if estimated and sampling else rest.population,
        target=None if rest.target is None else rest.target.leaving(None),
        people=_people_left(table.people, rest, rows),
        survey=Survey(sampling, None if homes is None else homes.leaving(number)),
    )


def _people_left(people: People, rest: FrequencyTable, rows: NDArray[np.int64] | None) -> People:
    """Return the people of the remaining keys and rows."""
    of_row = None
    if people.of_row is not None and rows is not None:
        numbers = people.of_row[rows]
        of_row = np.full(len(rows), -1, np.int32)
        of_row[numbers >= 0] = np.unique(numbers[numbers >= 0], return_inverse=True)[1]
    table = rest.people.table
    number = rest.records if table is None else table.records
    # Where rows are elsewhere, nobody knows which of those that name no person are left.
    unnamed = min(people.unnamed, number)
    if table is not None:
        table = replace(table, sensitive=_totals_of_people(table, number), suppressed=0)
    return replace(
        people, number=number if people.columns else 0, unnamed=unnamed, of_row=of_row, table=table
    )


def _totals_of_people(table: FrequencyTable, number: int) -> tuple[SensitiveCounts, ...]:
    """Count the values of a table of people anew, each person once for a value."""
    classes = EquivalenceClasses.from_assignment(table, np.zeros(table.keys, np.int32), 1)
    totals_by_person = []
    for position, attribute in enumerate(table.sensitive):
        size, same, by_number = attribute.domain.size, attribute.domain.same_number, None
        counts = classes.counts(position)
        if attribute.by_number is not None and same is not None:
            merged = counts_by_number(classes, position, same, size)
            by_number = np.bincount(merged.codes, merged.counts, size).astype(np.int64)[same]
        totals = np.bincount(counts.codes, counts.counts, size).astype(np.int64)
        totals_by_person.append(replace(attribute, totals=totals, people=number, by_number=by_number))
    return tuple(totals_by_person)
