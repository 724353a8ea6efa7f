"""The cells of new rows under a recoding of earlier rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeVar

from incrowd.core.errors import HierarchyError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.lazy import NDArray, np
from incrowd.core.reading.exact import moment_of, number_of
from incrowd.core.recoding import SUPPRESSED, Cells, FullDomain, Recoding, SingleDimensional, node_labels
from incrowd.core.recoding.observed import Literal, literal
from incrowd.core.table.domain import MISSING, Domain
from incrowd.core.table.frequency import FrequencyTable, smallest_codes

R = TypeVar("R", bound=Recoding)


def with_unseen(recoding: R, domains: Sequence[Domain]) -> tuple[R, list[NDArray[np.bool_]]]:
    """Return the recoding with the values of new rows in hierarchies made by recipes.

    Example: the widths 5 and 10 put the age 23 into ``[20-24]``, whether or not an earlier row had this age.
    Every earlier value keeps its groups. A new value of another hierarchy stays unknown.

    Parameters
    ----------
    recoding
    domains
        The values of the new rows, per quasi-identifier.

    Returns
    -------
    recoding
        No key has one of the values that were added.
    added
        bool[size] per quasi-identifier: which ranks were added.
    """
    wide, keys, cells, added = [], [], [], []
    columns = zip(recoding.domains, recoding.keys, recoding.cells, domains, strict=True)
    for domain, codes, column, new in columns:
        texts = [text for text in new.values if text is not None]
        tree = None if domain.hierarchy is None else _wider(domain, texts)
        grown = None if tree is None else _Grown(domain, tree)
        ranks = np.arange(domain.size) if grown is None else grown.ranks
        wide.append(domain if grown is None else grown.domain)
        keys.append(codes if grown is None else ranks[codes])
        cells.append(column if grown is None else grown.cells(column))
        added.append(np.isin(np.arange(wide[-1].size), ranks, invert=True))
    return replace(recoding, domains=tuple(wide), keys=tuple(keys), cells=tuple(cells)), added


def _wider(domain: Domain, texts: Iterable[str]) -> Hierarchy | None:
    """Return the domain's hierarchy with the texts that the recipe accepts, or None without any."""
    if domain.recipe is None:
        return None
    present = set(domain.texts)
    fresh = domain.recipe.taken(domain.texts, [text for text in texts if text not in present])
    if not fresh:
        return None
    try:
        tree = domain.recipe.build([*domain.texts, *fresh], domain.name)
    except HierarchyError:
        # A new text is that of a group.
        return None
    return tree if domain.missing < 0 else tree.with_leaf(MISSING)


class _Grown:
    """A domain with a hierarchy that has more leaves than before.

    Attributes
    ----------
    domain
        The domain with all leaves.
    ranks
        int64[size]: the new rank of each earlier one.
    """

    def __init__(self, domain: Domain, tree: Hierarchy) -> None:
        old = domain.tree
        texts = (MISSING if text is None else text for text in domain.values)
        self.ranks = np.array([tree.ranks[text] for text in texts], np.int64)
        self._old, self._tree, self._node = old, tree, _images(old, tree, self.ranks)
        values = tree.values if domain.missing < 0 else tree.values[:-1]
        numbers = np.full(tree.n_leaves, np.nan)
        numbers[self.ranks] = domain.numbers
        missing = -1 if domain.missing < 0 else tree.n_leaves - 1
        self.domain = replace(domain, texts=values, hierarchy=tree, numbers=numbers, missing=missing)

    def cells(self, cells: Cells) -> Cells:
        """Return the cells with new ranks, where a cell of a group covers the new members, too."""
        lo, hi = self.ranks[cells.lo], self.ranks[cells.hi]
        old, tree = self._old, self._tree
        nodes = old.leaves[cells.lo]
        while (lower := old.depths[nodes] > cells.depth).any():
            nodes = np.where(lower, old.parents[nodes], nodes)
        shows_group = (old.lo[nodes] == cells.lo) & (old.hi[nodes] == cells.hi + 1)
        shows_group &= np.array([old.labels[node] for node in nodes.tolist()]) == np.array(
            [label or "" for label in cells.labels]
        )
        images = self._node[nodes]
        lo, hi = np.where(shows_group, tree.lo[images], lo), np.where(shows_group, tree.hi[images] - 1, hi)
        return replace(cells, lo=lo.astype(np.int32), hi=hi.astype(np.int32))


def _images(old: Hierarchy, tree: Hierarchy, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the node of a wider tree for each node of the old tree: int64[nodes].

    Raises
    ------
    HierarchyError
        When an earlier value would get other groups than it had.
    """
    images = np.full(old.n_nodes, -1, np.int64)
    images[old.leaves] = tree.leaves[places]
    for height in range(old.height):
        nodes = np.flatnonzero(old.heights == height)
        nodes = nodes[nodes > 0]
        images[old.parents[nodes]] = tree.parents[images[nodes]]
    same = (tree.parents[images[1:]] == images[old.parents[1:]]).all()
    if not same or [tree.labels[image] for image in images.tolist()] != list(old.labels):
        raise HierarchyError("the recipe of a hierarchy gives other groups than when the recoding was made")
    return images


_CELLS = 8_000_000

Labels = list[list[str | None]]


class NewCells(NamedTuple):
    """The cells of new keys.

    Attributes
    ----------
    labels
        Per quasi-identifier the text of each key's cell.
    covered
        bool[keys]: whether the recoding has a cell for the key.
    unknown
        bool[keys] per quasi-identifier: whether the key has no cell, and its value is one of those that the
        recoding does not know.
    """

    labels: Labels
    covered: NDArray[np.bool_]
    unknown: list[NDArray[np.bool_]]


def labels_of(recoding: Recoding, frequency: FrequencyTable) -> NewCells:
    """Return the cells of new keys under a recoding."""
    recoding, added = with_unseen(recoding, frequency.domains)
    listed = [True] * len(recoding.domains)
    if isinstance(recoding, FullDomain):
        labels, covered = _levels(recoding, frequency)
        # Without a hierarchy, every value is on both levels.
        listed = [domain.hierarchy is not None for domain in recoding.domains]
    elif isinstance(recoding, SingleDimensional):
        labels, covered = _first_rounds(recoding, added, frequency)
    else:
        labels, covered = _covering_classes(recoding, frequency)
    sides = _sides(recoding, frequency)
    unknown = [~covered & (low < 0) & limited for (low, _), limited in zip(sides, listed, strict=True)]
    return NewCells(labels, covered, unknown)


def with_own_cells(new_cells: NewCells, recoding: Recoding, frequency: FrequencyTable) -> NewCells:
    """Give keys that the recoding knows the cells of that recoding.

    Rounded ranges overlap, so another class may cover the key as well.
    """
    own = _same_keys(recoding, frequency)
    labels: Labels = [
        [
            text if key < 0 else cells.labels[cells.codes[key]]
            for text, key in zip(column, own.tolist(), strict=True)
        ]
        for column, cells in zip(new_cells.labels, recoding.cells, strict=True)
    ]
    unknown = [none & (own < 0) for none in new_cells.unknown]
    return NewCells(labels, new_cells.covered | (own >= 0), unknown)


def _same_keys(recoding: Recoding, frequency: FrequencyTable) -> NDArray[np.int64]:
    """Return the first key of the recoding with the values of each new key, -1 for none."""
    first: dict[tuple[int, ...], int] = {}
    for key, ranks in enumerate(np.column_stack(recoding.keys).tolist()):
        first.setdefault(tuple(ranks), key)
    ranks_of_known = [
        _exactly(*_places(domain, new))[codes]
        for domain, new, codes in zip(recoding.domains, frequency.domains, frequency.codes, strict=True)
    ]
    return np.array(
        [first.get(tuple(ranks), -1) for ranks in np.column_stack(ranks_of_known).tolist()], np.int64
    )


class RecodedBatch(Recoding):
    """The cells of keys beyond the keys of a recoding."""

    kind: ClassVar[str] = "carried over"

    def decisions(self) -> dict[str, Any]:
        """Return no decisions, because the recoding is not stored."""
        return {}

    @classmethod
    def as_it_is(cls, frequency: FrequencyTable) -> RecodedBatch:
        """Release each key with the present texts."""
        labels: Labels = [
            [domain.values[code] for code in codes.tolist()]
            for domain, codes in zip(frequency.domains, frequency.codes, strict=True)
        ]
        return cls.build(frequency.domains, frequency, labels, np.ones(frequency.keys, np.bool_))

    @classmethod
    def build(
        cls,
        domains: tuple[Domain, ...],
        frequency: FrequencyTable,
        labels: Labels,
        is_kept: NDArray[np.bool_],
    ) -> RecodedBatch:
        """Release each key with the given texts, or suppressed unless kept."""
        cells = []
        for column in labels:
            numbers, texts = number_texts(
                [label if good else SUPPRESSED for label, good in zip(column, is_kept.tolist(), strict=True)]
            )
            nothing = np.zeros(len(texts), np.int32)
            cells.append(
                Cells(
                    smallest_codes(numbers, max(len(texts), 1)),
                    tuple(texts),
                    nothing,
                    nothing,
                    nothing.astype(np.float64),
                    nothing,
                )
            )
        return cls(domains, frequency.codes, tuple(cells), ~is_kept)


# --- which cells a key gets --------------------------------------------------------------------------


def _places(domain: Domain, new: Domain) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each new value the ranks of the known values below and above, -1 outside.

    A known value is on both sides of itself; a number between two known ones is covered by what covers both.
    """
    rank = {value: place for place, value in enumerate(domain.values)}
    if domain.kind != new.kind or not (domain.ordered and new.ordered):
        low = np.array([rank.get(value, -1) for value in new.values], np.int64)
        return low, low
    read: Any = moment_of if domain.kind == "date" else number_of
    sides = [
        (rank[value], rank[value]) if value in rank else domain.line.around(read(value))
        for value in new.values
    ]
    low, high = np.array(sides, np.int64).reshape(-1, 2).T
    return low, high


def _exactly(low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranks of known values, -1 for other values."""
    return np.where(low == high, low, -1)


def number_texts(column: Sequence[str | None]) -> tuple[NDArray[np.int64], list[str | None]]:
    """Assign a number to each distinct text of a column."""
    distinct = {label: number for number, label in enumerate(dict.fromkeys(column))}
    return np.array([distinct[label] for label in column], np.int64), list(distinct)


def _levels(recoding: FullDomain, frequency: FrequencyTable) -> tuple[Labels, NDArray[np.bool_]]:
    """Generalize every value to the column's level, and leave suppressed keys suppressed."""
    labels: Labels = []
    covered = np.ones(frequency.keys, np.bool_)
    ranks = []
    for domain, new, codes, level in zip(
        recoding.domains, frequency.domains, frequency.codes, recoding.levels, strict=True
    ):
        rank_of_value = _exactly(*_places(domain, new))
        if domain.hierarchy is None:
            texts = [SUPPRESSED if level else value for value in new.values]
            reached = np.ones(new.size, np.bool_)
        else:
            names = node_labels(domain, domain.hierarchy.climb(level))
            # What shows nothing of any value covers every value.
            anything = set(names) == {SUPPRESSED}
            reached = (rank_of_value >= 0) | anything
            texts = [names[place] if place >= 0 else SUPPRESSED for place in rank_of_value.tolist()]
        labels.append([texts[code] for code in codes.tolist()])
        covered &= reached[codes]
        ranks.append(rank_of_value[codes])
    suppressed = _is_suppressed(recoding, np.column_stack(ranks))
    for column in labels:
        for key in np.flatnonzero(suppressed).tolist():
            column[key] = SUPPRESSED
    return labels, covered


def _covering_classes(recoding: Recoding, frequency: FrequencyTable) -> tuple[Labels, NDArray[np.bool_]]:
    """Return for every key the cells of the covering class of least loss.

    Rounded ranges overlap. What loses least may have too few of the known keys.
    """
    live = np.flatnonzero(~recoding.suppressed)
    entries = np.column_stack([cells.codes[live].astype(np.int64) for cells in recoding.cells])
    entries, number = np.unique(entries, axis=0, return_inverse=True)
    loss = [cells.loss[entries[:, j]] for j, cells in enumerate(recoding.cells)]
    order = np.argsort(np.sum(loss, axis=0), kind="stable")
    entries = entries[order]
    # The class of each key of the recoding; the last place is that of no key.
    class_of = np.full(len(recoding.suppressed) + 1, -1)
    class_of[live] = np.argsort(order)[number.ravel()]
    own = class_of[_same_keys(recoding, frequency)]
    columns = [
        _Column(meaning, cells.labels, entries[:, j])
        for j, (meaning, cells) in enumerate(zip(_literals(recoding, frequency), recoding.cells, strict=True))
    ]
    sides = _sides(recoding, frequency)
    chosen = np.full(frequency.keys, -1)
    block = max(_CELLS // max(len(entries), 1), 1)
    for start in range(0, frequency.keys if len(entries) else 0, block):
        here = slice(start, start + block)
        inside = np.logical_and.reduce(
            [column.holds(low[here], high[here]) for column, (low, high) in zip(columns, sides, strict=True)]
        )
        inside_own = (own[here] >= 0) & inside[np.arange(len(inside)), own[here]]
        least = np.where(inside.any(axis=1), inside.argmax(axis=1), -1)
        chosen[here] = np.where(inside_own, own[here], least)
    covered = chosen >= 0
    labels: Labels = []
    for j, cells in enumerate(recoding.cells):
        column: list[str | None] = [SUPPRESSED] * frequency.keys
        for key in np.flatnonzero(covered).tolist():
            column[key] = cells.labels[entries[chosen[key], j]]
        labels.append(column)
    return labels, covered


def _columns_of(recoding: Recoding) -> Iterator[tuple[Domain, Cells]]:
    return zip(recoding.domains, recoding.cells, strict=True)


def _sides(
    recoding: Recoding, frequency: FrequencyTable
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return for each quasi-identifier the ranks below and above each key's value.

    Where ranges have ends on a grid, they cover values beyond the known ones, too. Then both are the rank
    of the value among the new ones.
    """
    sides = []
    for domain, new, codes in zip(recoding.domains, frequency.domains, frequency.codes, strict=True):
        own = np.arange(new.size, dtype=np.int64)
        low, high = _places(domain, new) if domain.grid is None else (own, own)
        sides.append((low[codes], high[codes]))
    return sides


def _literals(recoding: Recoding, frequency: FrequencyTable) -> list[Literal]:
    """Return for each quasi-identifier the ranks of `_sides` that each cell covers."""
    literals = []
    for (domain, cells), new in zip(_columns_of(recoding), frequency.domains, strict=True):
        every = replace(cells, lo=np.zeros_like(cells.lo), hi=np.full_like(cells.hi, new.size - 1))
        literals.append(literal(domain, cells) if domain.grid is None else literal(new, every))
    return literals


class _Column:
    """The values that the cells of some classes cover in a column, by the texts alone.

    Parameters
    ----------
    said, labels
        What each cell covers, and its text; ``*`` covers every value.
    entries
        int[classes]: the cell of each class.
    """

    def __init__(self, meaning: Literal, labels: Sequence[str | None], entries: NDArray[np.int64]) -> None:
        self.lo, self.hi = meaning.lo[entries], meaning.hi[entries]
        self.anything = np.array([label == SUPPRESSED for label in labels], np.bool_)[entries]
        self.sets = np.isin(entries, list(meaning.named))
        self.classes_of: dict[int, list[int]] = {}
        for number in np.flatnonzero(self.sets).tolist():
            for rank in meaning.named[int(entries[number])]:
                self.classes_of.setdefault(rank, []).append(number)

    def holds(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return bool[values, classes]: whether a class covers a value, given the ranks below and above."""
        a, b = low[:, None], high[:, None]
        inside = (a >= 0) & (self.lo <= a) & (b <= self.hi)
        if self.sets.any():
            ranks, place = np.unique(_exactly(low, high), return_inverse=True)
            in_set = np.zeros((len(ranks), len(self.lo)), np.bool_)
            for row, rank in enumerate(ranks.tolist()):
                in_set[row, self.classes_of.get(rank, [])] = True
            inside &= ~self.sets | in_set[place]
        return np.asarray(inside | self.anything)


def _first_rounds(
    recoding: SingleDimensional, added: Sequence[NDArray[np.bool_]], frequency: FrequencyTable
) -> tuple[Labels, NDArray[np.bool_]]:
    """Take every value to the cell of the key's first round, or of the last round that fits.

    Parameters
    ----------
    added
        Which ranks of each quasi-identifier are of values that no earlier row had.
    """
    sides = _sides(recoding, frequency)
    literals = _literals(recoding, frequency)
    ranks = [
        _exactly(*_places(domain, new))[codes]
        for domain, new, codes in zip(recoding.domains, frequency.domains, frequency.codes, strict=True)
    ]
    chosen = np.full((frequency.keys, len(sides)), -1, np.int64)
    settled = np.zeros(frequency.keys, np.bool_)
    for number in range(recoding.count):
        keys_of_round = np.flatnonzero(recoding.round_of_key == number)
        entries = []
        for j, (domain, cells) in enumerate(_columns_of(recoding)):
            entry = np.full(domain.size + 1, -1, np.int64)
            entry[recoding.keys[j][keys_of_round]] = cells.codes[keys_of_round]
            low, high = sides[j]
            if domain.grid is None:
                # A value between two known ones has their cell where that is one, and says that it covers it.
                both = entry[low] == entry[high]
                both &= (literals[j].lo[entry[low]] <= low) & (high <= literals[j].hi[entry[low]])
                cell_of = np.where(both, entry[low], -1)
            else:
                cell_of = entry[ranks[j]]
            unseen = (cell_of < 0) & ((ranks[j] < 0) | added[j][ranks[j]])
            _cover(
                cell_of,
                unseen,
                np.unique(cells.codes[keys_of_round]),
                cells,
                literals[j],
                _exactly(low, high),
            )
            entries.append(cell_of)
        cells_of_keys = np.column_stack(entries)
        fits = (cells_of_keys >= 0).all(axis=1) & ~settled
        chosen[fits] = cells_of_keys[fits]
        live = {
            tuple(row)
            for row in np.column_stack([cells.codes[keys_of_round] for cells in recoding.cells]).tolist()
        }
        settled |= fits & np.array([tuple(row) in live for row in cells_of_keys.tolist()], np.bool_)
    covered = (chosen >= 0).all(axis=1)
    suppressed = _is_suppressed(recoding, np.column_stack(ranks))
    labels: Labels = []
    for j, cells in enumerate(recoding.cells):
        texts = [cells.labels[entry] if entry >= 0 else SUPPRESSED for entry in chosen[:, j].tolist()]
        labels.append(
            [SUPPRESSED if out else text for text, out in zip(texts, suppressed.tolist(), strict=True)]
        )
    return labels, covered | suppressed


def _cover(
    cell_of: NDArray[np.int64],
    unseen: NDArray[np.bool_],
    here: NDArray[np.integer],
    cells: Cells,
    meaning: Literal,
    ranks: NDArray[np.int64],
) -> None:
    """Give every unseen value the covering cell of least loss, if there is any.

    Parameters
    ----------
    cell_of
        int[keys]: the cell of each key's value, -1 for none; it is written to.
    unseen
        bool[keys]: which values have none because no earlier row had them.
    here
        The cells of the round.
    ranks
        int[keys]: the rank of each value among those that `meaning` speaks of, -1 for none.
    """
    places = np.flatnonzero(unseen)
    if not len(places):
        return
    for cell in here[np.argsort(cells.loss[here], kind="stable")][::-1].tolist():
        covered = meaning.covers(np.full(len(places), cell), ranks[places])
        cell_of[places[covered | (cells.labels[cell] == SUPPRESSED)]] = cell


def _is_suppressed(recoding: Recoding, ranks: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say for each key, given by the ranks of values, whether the recoding suppressed the key."""
    suppressed = {tuple(key) for key in np.column_stack(recoding.keys)[recoding.suppressed].tolist()}
    return np.array([tuple(key) in suppressed for key in ranks.tolist()], np.bool_)
