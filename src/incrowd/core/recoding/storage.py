"""Saved recodings, of which both files are checked completely before use."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, Literal, NoReturn, TypeVar

from pydantic import BaseModel, StrictFloat, StrictInt, StrictStr, ValidationError

from incrowd.core.errors import HierarchyError, ParameterError, TableError, named, quoted, setting
from incrowd.core.hierarchy import Builder, Hierarchy, builder_from_spec
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.cells import read_span
from incrowd.core.recoding.cells import SUPPRESSED, Cells, level_cells, range_label, read_set
from incrowd.core.table.attribute import ValueKind
from incrowd.core.table.domain import MISSING, Domain
from incrowd.core.table.frequency import smallest_codes
from incrowd.core.table.settings import Grid

R = TypeVar("R")


class _Tree(BaseModel):
    labels: list[StrictStr]
    parents: list[StrictInt]


class _Attribute(BaseModel):
    """A quasi-identifier with the values before recoding and the released cells."""

    name: StrictStr
    kind: ValueKind
    values: list[StrictStr | None]
    numbers: list[StrictFloat | StrictInt | None]
    missing: StrictInt
    hierarchy: _Tree | None
    labels: list[StrictStr | None]
    lo: list[StrictInt]
    hi: list[StrictInt]
    loss: list[StrictFloat | StrictInt]
    depth: list[StrictInt]
    grid: StrictStr | None = None
    recipe: dict[str, Any] | None = None
    decimal: Literal[","] | None = None


class _Decisions(BaseModel):
    levels: dict[str, StrictInt] | None = None
    classes: StrictInt | None = None
    rounds: StrictInt | None = None
    algorithm: StrictStr = ""


class _Treated(BaseModel):
    """A treated column with the treatment and the decisions."""

    treat: dict[str, Any]
    decided: dict[str, Any]


class _Document(BaseModel):
    kind: Literal["local", "full-domain", "single-dimensional"]
    decisions: _Decisions
    attributes: list[_Attribute]
    treated: dict[str, _Treated] = {}


def read_recoding(path: Path, version: int, kinds: Mapping[str, Callable[..., R]]) -> R:
    """Read ``recoding.json`` and ``keys.parquet``, and check that the two files agree.

    Parameters
    ----------
    kinds
        What makes a recoding of each kind.

    Raises
    ------
    TableError
        When they cannot be read, are of another version, were changed, or do not belong together.
    """
    try:
        document = json.loads((path / "recoding.json").read_text(encoding="utf-8"))
        table = pl.read_parquet((path / "keys.parquet").read_bytes())
    except (OSError, ValueError, RecursionError, pl.exceptions.PolarsError):
        raise TableError(f"{path}: no readable recoding.json and keys.parquet there") from None
    if not isinstance(document, dict) or document.get("format") != "incrowd recoding":
        raise TableError(f"{path}: recoding.json holds no recoding")
    if document.get("version") != version or isinstance(document["version"], bool):
        raise TableError(f"{path}: recoding of version {quoted(document.get('version'))}, not {version}")
    try:
        return _Reader(path, _Document.model_validate(document), table, kinds).recoding()
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False, include_input=False, include_context=False)
        raise TableError(_damaged(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")) from None


def _damaged(path: Path, problem: str) -> str:
    return (
        f"{path}: the recoding is damaged or was changed ({problem}); take the folder that "
        f"{setting('save', '--recoding')} wrote"
    )


class _Reader(Generic[R]):
    """A reader that makes a recoding of the two files, or names the error."""

    def __init__(
        self, path: Path, document: _Document, table: pl.DataFrame, kinds: Mapping[str, Callable[..., R]]
    ) -> None:
        self.path = path
        self.kinds = kinds
        self.document = document
        self.table = table
        self.suppressed: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.treated = {name: entry.model_dump() for name, entry in document.treated.items()}

    def refuse(self, problem: str) -> NoReturn:
        raise TableError(_damaged(self.path, problem))

    def recoding(self) -> R:
        attributes = self.document.attributes
        names = [attribute.name for attribute in attributes]
        if not names or len(set(names)) < len(names):
            self.refuse("its quasi-identifiers are none, or one stands twice")
        groups = {"local": ["class"], "single-dimensional": ["round"]}.get(self.document.kind, [])
        columns = [f"{part}{j}" for part in ("key", "cell") for j in range(len(names))]
        columns += [*groups, "suppressed"]
        if self.table.columns != columns:
            self.refuse(f"keys.parquet has the columns {named(self.table.columns)}")
        if not self.table.height:
            self.refuse("keys.parquet has no rows")
        if str(self.table["suppressed"].dtype) != "Boolean" or self.table["suppressed"].null_count():
            self.refuse("suppressed: not true or false everywhere")
        self.suppressed = self.table["suppressed"].to_numpy()
        domains = tuple(self.domain(attribute) for attribute in attributes)
        keys = tuple(self.codes(f"key{j}", 0, domain.size) for j, domain in enumerate(domains))
        cells = tuple(self.cells(j, *both) for j, both in enumerate(zip(attributes, domains, strict=True)))
        for name, key, column in zip(names, keys, cells, strict=True):
            if ((key < column.lo[column.codes]) | (key > column.hi[column.codes])).any():
                self.refuse(f"{name!r}: a cell does not cover its value")
        kind = self.document.kind
        reader = {"local": self.classes, "full-domain": self.levels, "single-dimensional": self.rounds}[kind]
        decided = reader(domains, keys, cells)
        codes = tuple(smallest_codes(key, domain.size) for key, domain in zip(keys, domains, strict=True))
        return self.kinds[kind](domains, codes, cells, self.suppressed, *decided, treated=self.treated)

    def domain(self, entry: _Attribute) -> Domain:
        size = len(entry.values)
        missing_ranks = [rank for rank, value in enumerate(entry.values) if value is None]
        if len(set(entry.values)) < size or len(entry.numbers) != size:
            self.refuse(f"{entry.name!r}: a value stands twice, or has no number")
        if missing_ranks != ([] if entry.missing == -1 else [entry.missing]) or missing_ranks not in (
            [],
            [size - 1],
        ):
            self.refuse(f"{entry.name!r}: the missing value has another rank")
        numbers = np.array([np.nan if number is None else number for number in entry.numbers], np.float64)
        tree, present = None, size - len(missing_ranks)
        if entry.hierarchy is not None:
            try:
                tree = Hierarchy(entry.hierarchy.labels, entry.hierarchy.parents)
            except (HierarchyError, OverflowError):
                self.refuse(f"{entry.name!r}: its hierarchy is no tree")
            if tree.n_leaves != size or list(tree.values[:present]) != entry.values[:present]:
                self.refuse(f"{entry.name!r}: the leaves of its hierarchy are not its values")
        texts = [value for value in entry.values if value is not None]
        grid = None if entry.grid is None else Grid(entry.grid)
        if grid is not None and not grid.fits(entry.kind if tree is None else "category"):
            self.refuse(f"{entry.name!r}: its grid is none")
        recipe = None if tree is None or entry.recipe is None else self.recipe(entry, tree, texts)
        domain = Domain(
            entry.name, entry.kind, texts, tree, numbers, entry.missing,
            grid=grid, recipe=recipe, commas=entry.decimal is not None,
        )  # fmt: skip
        # No differences, which are no numbers between two infinite ones.
        if domain.ordered and not (numbers[1:present] >= numbers[: max(present - 1, 0)]).all():
            self.refuse(f"{entry.name!r}: its values are not in order")
        return domain

    def recipe(self, entry: _Attribute, tree: Hierarchy, texts: list[str]) -> Builder:
        """Read the recipe of a hierarchy, and check that the recipe builds that hierarchy."""
        try:
            recipe = builder_from_spec(entry.recipe or {})
            built = recipe.build(texts, entry.name)
        except (ParameterError, HierarchyError):
            self.refuse(f"{entry.name!r}: its recipe makes no hierarchy of its values")
        if tree != (built if entry.missing < 0 else built.with_leaf(MISSING)):
            self.refuse(f"{entry.name!r}: its hierarchy is not that of its recipe")
        return recipe

    def codes(self, name: str, low: int, count: int) -> NDArray[np.int64]:
        column = self.table[name]
        if not column.dtype.is_integer() or column.null_count():
            self.refuse(f"{name}: not whole numbers everywhere")
        smallest, largest = int(column.min()), int(column.max())  # type: ignore[arg-type]
        if smallest < low or largest >= count:
            self.refuse(f"{name}: a number is outside {low} .. {count - 1}")
        return column.to_numpy().astype(np.int64)

    def cells(self, j: int, entry: _Attribute, domain: Domain) -> Cells:
        count = len(entry.labels)
        if any(len(part) != count for part in (entry.lo, entry.hi, entry.loss, entry.depth)):
            self.refuse(f"{entry.name!r}: labels, lo, hi, loss and depth are not as many")
        nodes: dict[tuple[int, int], list[str]] = {}
        if domain.hierarchy is not None:
            tree = domain.hierarchy
            for node, lo, hi in zip(tree.labels, tree.lo.tolist(), tree.hi.tolist(), strict=True):
                nodes.setdefault((lo, hi - 1), []).append(node)
        ranks = {value: rank for rank, value in enumerate(domain.values)}
        for label, lo, hi in zip(entry.labels, entry.lo, entry.hi, strict=True):
            if not 0 <= lo <= hi < domain.size:
                self.refuse(f"{entry.name!r}: a cell stands for ranks outside 0 .. {domain.size - 1}")
            if label not in nodes.get((lo, hi), ()) and not _stands_for(domain, ranks, label, lo, hi):
                self.refuse(f"{entry.name!r}: the text of a cell does not say what the cell stands for")
        if not all(0 <= loss <= 1 for loss in entry.loss) or not all(0 <= d < 2**31 for d in entry.depth):
            self.refuse(f"{entry.name!r}: a loss is outside 0 .. 1, or a depth is none")
        return Cells(
            smallest_codes(self.codes(f"cell{j}", 0, count), count),
            tuple(entry.labels),
            np.array(entry.lo, np.int32),
            np.array(entry.hi, np.int32),
            np.array(entry.loss, np.float64),
            np.array(entry.depth, np.int32),
        )

    def count(self, number: int | None, name: str) -> tuple[NDArray[np.int32], int]:
        """Return the class or round of each key, and the number of classes or rounds."""
        if number is None or not 0 <= number < 2**31:
            self.refuse(f"decisions: no number of {name} that can be")
        column = {"classes": "class", "rounds": "round"}[name]
        of_key = self.codes(column, -1, number)
        if (of_key[~self.suppressed] < 0).any():
            self.refuse(f"{column}: a key that is not suppressed has none")
        return of_key.astype(np.int32), number

    def classes(self, domains: Any, keys: Any, cells: tuple[Cells, ...]) -> tuple[Any, ...]:
        """Return the settings of a local recoding, as `levels` and `rounds` do for the other kinds."""
        del keys
        class_of_key, count = self.count(self.document.decisions.classes, "classes")
        live = class_of_key >= 0
        for domain, column in zip(domains, cells, strict=True):
            if not _one_each(class_of_key[live].astype(np.int64), column.codes[live]):
                self.refuse(f"{domain.name!r}: a class has several cells")
        return class_of_key, count, self.document.decisions.algorithm

    def levels(self, domains: Any, keys: Any, cells: tuple[Cells, ...]) -> tuple[Any, ...]:
        levels = self.document.decisions.levels or {}
        if list(levels) != [domain.name for domain in domains]:
            self.refuse("decisions: the levels are not those of its quasi-identifiers")
        for domain, key, column, level in zip(domains, keys, cells, levels.values(), strict=True):
            if not 0 <= level <= domain.tree.height:
                self.refuse(f"{domain.name!r}: its level is outside 0 .. {domain.tree.height}")
            expected = level_cells(domain, level)
            live = np.flatnonzero(~self.suppressed)
            pairs = zip(expected.entry[key[live]].tolist(), column.codes[live].tolist(), strict=True)
            if any(expected.labels[entry] != column.labels[cell] for entry, cell in set(pairs)):
                self.refuse(f"{domain.name!r}: a cell is not the one of its level")
        return (tuple(levels.values()),)

    def rounds(self, domains: Any, keys: Any, cells: tuple[Cells, ...]) -> tuple[Any, ...]:
        round_of_key, count = self.count(self.document.decisions.rounds, "rounds")
        live = round_of_key >= 0
        for domain, key, column in zip(domains, keys, cells, strict=True):
            of_round = round_of_key[live].astype(np.int64) * domain.size + key[live]
            if not _one_each(of_round, column.codes[live]):
                self.refuse(f"{domain.name!r}: a value has several cells in one round")
        return round_of_key, count, self.document.decisions.algorithm


def _one_each(groups: NDArray[np.int64], codes: NDArray[np.unsignedinteger]) -> bool:
    """Return whether all items of a group have the same code."""
    _, first, of_item = np.unique(groups, return_index=True, return_inverse=True)
    return bool((codes == codes[first][of_item]).all())


def _stands_for(domain: Domain, ranks: dict[str | None, int], label: str | None, lo: int, hi: int) -> bool:
    """Return whether a released text can stand for an interval of ranks in any style of cells."""
    rank = ranks.get(label, -1)
    if label == SUPPRESSED or lo <= rank <= hi:
        return True
    if label is None:
        return False
    parts = read_set(label)
    if parts is not None:
        inside = [ranks.get(part, -1) for part in parts]
        if min(inside) == lo and max(inside) == hi:
            return True
    if not domain.ordered:
        return False
    if _is_range(domain, label, lo, hi):
        return True
    numbers = domain.numbers[lo : hi + 1]
    numbers = numbers[~np.isnan(numbers)]
    if not numbers.size:
        return False
    low, high = float(numbers[0]), float(numbers[-1])
    # Means are written to the day, or to six decimals, of sums that were rounded.
    slack = 0.5 if domain.kind == "date" else 1e-6 + 1e-12 * max(abs(low), abs(high))
    if domain.grid is not None:
        last = domain.texts[lo + len(numbers) - 1]
        ends = domain.grid.down(domain.texts[lo]), domain.grid.up(last)
        low, high = (_number_of_label(end, domain.kind) for end in ends)
        slack *= 2
    return bool(low - slack <= _number_of_label(label, domain.kind) <= high + slack)


def _is_range(domain: Domain, label: str, lo: int, hi: int) -> bool:
    """Return whether a text is the range of an interval, or on a grid a range that covers the interval."""
    if domain.grid is not None:
        span = read_span(label, domain.kind)
        written = None if span is None or lo == hi else domain.covered(span)
        return written is not None and written[:2] == (lo, hi)
    return label == range_label(domain, lo, hi)


def _number_of_label(text: str, kind: str) -> float:
    try:
        return float(np.datetime64(text, "D").astype(np.int64)) if kind == "date" else float(text)
    except ValueError:
        return np.nan
