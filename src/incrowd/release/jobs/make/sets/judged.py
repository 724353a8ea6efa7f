"""The judge of released sets: their items are counted anew in the table that leaves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from incrowd.core.errors import InfeasibleError
from incrowd.core.kernels.grouping.grouping import group_columns
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.recoding import SUPPRESSED
from incrowd.measures.privacy.results import ModelResult
from incrowd.release.jobs.make.sets.cells import Baskets, Items, joined, listed
from incrowd.release.jobs.make.sets.counting import shared, views_of

if TYPE_CHECKING:
    from incrowd.core.table.attribute import Attribute

ANY = "any"
"""What the core sees of a cell with a set: one value, that splits no class."""
_MISSING = "\0missing"


def masked(frame: pl.DataFrame, sets: Sequence[Attribute]) -> pl.DataFrame:
    """Return a released table with ``any`` for each set, and ``*`` for a suppressed cell."""
    marks = pl.Series([ANY, SUPPRESSED])
    stars = {each.name: suppressed_cells(frame[each.name]).astype(np.int64) for each in sets}
    return frame.with_columns(marks.gather(places).alias(name) for name, places in stars.items())


def suppressed_cells(cells: pl.Series) -> NDArray[np.bool_]:
    """Say which cells are ``*`` alone: bool[rows]."""
    return (cells.cast(pl.String) == SUPPRESSED).fill_null(value=False).to_numpy()


def classes_of(columns: Sequence[pl.Series], rows: int) -> NDArray[np.int64]:
    """Give rows with the same cells the same number: int64[rows], all 0 without columns."""
    if not columns or not rows:
        return np.zeros(rows, np.int64)
    codes = [each.cast(pl.String).fill_null(_MISSING).rank("dense").to_numpy() - 1 for each in columns]
    return group_columns(codes, [int(each.max()) + 1 for each in codes], rows)[0].astype(np.int64)


def judge_sets(
    frame: pl.DataFrame,
    sets: Sequence[Attribute],
    others: Sequence[str],
    k: int,
    trees: Sequence[Items],
    person: NDArray[np.int64] | None,
) -> ModelResult:
    """Measure k^m-anonymity of a released table: the fewest people of a class who share known items.

    Parameters
    ----------
    frame
        The released rows.
    sets
        The columns of sets.
    others
        The other quasi-identifiers.
    trees
        The tree of the items of each column, as it came in.
    person
        int64[rows]: the number of each row's person; None where nobody has a second row.

    Raises
    ------
    InfeasibleError
        When a released item is none of the tree, or stands above another one.
    """
    names, known = names_of(sets), sets[0].known or 0
    baskets = joined(
        [_released(frame[each.name], each, tree) for each, tree in zip(sets, trees, strict=True)]
    )
    of_class = classes_of([frame[other] for other in others], len(frame))
    starred = np.all([suppressed_cells(frame[each.name]) for each in sets], axis=0)
    views = views_of(baskets, np.where(starred, -1, of_class), person)
    smallest, homes = None, np.zeros(0, np.int64)
    for view, size in product(views, range(1, known + 1)):
        found = shared(view, size, names)
        if len(found.support):
            least = int(found.support.min())
            smallest = least if smallest is None else min(least, smallest)
            few = found.owner[found.support < k]
            homes = np.append(homes, view.of_class[few] + (of_class.max(initial=0) + 1) * view.person[few])
    weak = np.isin(of_class + (of_class.max(initial=0) + 1) * views[0].person, homes)
    failing = len(np.unique(of_class[weak])), int(weak.sum())
    number = "1 item" if known == 1 else f"at most {known} items"
    return ModelResult(
        "km-anonymity", "k", {"power": known}, names, smallest, k, not weak.any(), failing=failing,
        knows=(*others, f"{number} of {names}"),
    )  # fmt: skip


def names_of(sets: Sequence[Attribute]) -> str:
    """Return the names of columns of sets as one text."""
    return " and ".join(each.name for each in sets)


def _released(cells: pl.Series, attribute: Attribute, items: Items) -> Baskets:
    """Return the released baskets of a column, whose items stand next to one another."""
    baskets = plain_baskets(cells, attribute)
    _check_items(attribute.name, baskets.items.labels[1:], items)
    return baskets


def plain_baskets(cells: pl.Series, attribute: Attribute, nulls: tuple[str, ...] = ()) -> Baskets:
    """Return the baskets of a column as it stands, whose items stand next to one another.

    A suppressed cell has no items. Parameters as of `Baskets.of_cells`.
    """
    entries = listed(cells, attribute, nulls)
    entries = entries.filter(pl.Series(~suppressed_cells(cells)).gather(entries["row"]))
    texts = entries["item"].unique().sort()
    flat = Items([SUPPRESSED, *texts], np.array([-1] + [0] * len(texts)), np.zeros(len(texts) + 1))
    return Baskets.of_entries(flat, len(cells), entries, texts, np.arange(len(texts)) + 1)


def _check_items(name: str, texts: Sequence[str], items: Items) -> None:
    """Refuse released items that are no nodes of the tree, or of which one stands for another."""
    number = {label: node for node, label in reversed([*enumerate(items.labels)])}
    nodes = {number.get(text, -1) for text in texts}
    above = {int(items.parents[node]) for node in nodes if node > 0}
    wrong = bool(nodes & {-1, 0})
    while above and not wrong:
        wrong = bool(above & nodes)
        above = {int(items.parents[node]) for node in above if node > 0} - {-1}
    if wrong:
        raise InfeasibleError(
            f"nothing was released: column {name!r} has an item that its hierarchy does not have, or one "
            "that stands for another one"
        )
