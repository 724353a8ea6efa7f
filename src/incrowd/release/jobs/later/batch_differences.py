"""Differences of a batch from the release before: figures, new values, and the shares of cells."""

from __future__ import annotations

from typing import Any, NamedTuple

from incrowd.core.errors import InputError
from incrowd.core.lazy import nw, pl
from incrowd.core.table.schema import Schema
from incrowd.release.accounts.row_map import map_of
from incrowd.release.jobs.later.apply import AppliedBatch
from incrowd.release.jobs.later.batch import unknown_values
from incrowd.release.jobs.make.release import Release
from incrowd.release.jobs.measure.assess import assess
from incrowd.release.jobs.measure.evaluate import evaluate
from incrowd_gate.wording import percent

_CELLS = 12
"""Cells of a column that are compared, the most frequent ones first."""
_NEW = 5
"""New values of a column that are named."""


class Differences(NamedTuple):
    """The differences of a batch from the release before.

    `figures` are a name, last time and now, in words. `cells` are of each quasi-identifier the most frequent
    cells, with the shares of the rows, 0..1, last time and now.
    """

    figures: list[tuple[str, str, str]]
    sentences: list[str]
    cells: dict[str, list[tuple[str, float, float]]]


def differences(
    before: dict[str, Any], last: pl.DataFrame | None, released: Release | AppliedBatch
) -> Differences:
    """Compare a batch with the last release.

    Parameters
    ----------
    before
        The account of the last release, as `account_of` gives it; empty where none was kept.
    last
        The last release, None where it is not at hand. Then no cells are compared.
    released
        What the batch is released as.
    """
    policy, now = released.policy, account_of(released)
    frame: pl.DataFrame = nw.from_native(released.texts, eager_only=True).to_polars()
    quasi = [each.name for each in policy.schema.quasi]
    if not before and last is not None:
        before = {"privacy": assess(last, Schema.of_attributes(policy.schema.quasi)).to_dict(cells=False)}
    figures = [(name, _figure(before, name), _figure(now, name)) for name in _FIGURES]
    sentences, cells = [], {}
    if isinstance(released, AppliedBatch):
        if released.held_before:
            sentences.append(f"{released.held_before:,} rows that waited came with this batch.")
        if released.held:
            sentences.append(f"{released.held:,} rows wait for the next batch: their groups are too small.")
        if unknown := unknown_values(released.unknown):
            sentences.append(f"Rows lost their cells, as they have {unknown}.")
    for name in frame.columns:
        if last is None:
            break
        counts = _cells(last, frame, name)
        if name in quasi:
            cells[name] = counts[:_CELLS]
        if fresh := [label for label, share, _ in counts if not share]:
            more = f", and {len(fresh) - _NEW:,} more" if fresh[_NEW:] else ""
            sentences.append(f"New in {name}: {', '.join(fresh[:_NEW])}{more}.")
    return Differences(figures, sentences, cells)


_FIGURES = {
    "Rows": lambda account: account["privacy"]["records"],
    "Groups": lambda account: account["privacy"]["classes"]["count"],
    "Smallest group": lambda account: account["privacy"]["classes"]["smallest"],
    "Suppressed or left out": lambda account: account["privacy"]["suppressed"] + account["left_out"],
    "Loss": lambda account: next(each["value"] for each in account["utility"] if each["metric"] == "loss"),
}
"""The figures of a release that are compared, each from its account."""


def _figure(account: dict[str, Any], name: str) -> str:
    try:
        value = _FIGURES[name]({"privacy": account.get("after"), **account})
    except (KeyError, TypeError):
        return "not known"
    return percent(value) if name == "Loss" else f"{value:,}"


def _cells(last: pl.DataFrame, now: pl.DataFrame, name: str) -> list[tuple[str, float, float]]:
    """Return the cells of a column in two releases with the shares of the rows, the most frequent first."""
    shares: list[dict[str, float]] = []
    for frame in (last, now):
        texts = (
            frame[name].cast(pl.String).fill_null("(missing)") if name in frame.columns else pl.Series([""])
        )
        shares.append(dict(texts.value_counts(normalize=True).iter_rows()))
    before, after = shares
    pairs = [(label, before.get(label, 0.0), after.get(label, 0.0)) for label in {**before, **after}]
    return sorted(pairs, key=lambda pair: (-max(pair[1:]), pair[0]))


def account_of(released: Release | AppliedBatch) -> dict[str, Any]:
    """Return a release as a command prints releases with ``--json``, with the losses of an applied batch."""
    if not isinstance(released, AppliedBatch):
        return released.to_dict()
    rows = map_of(released.order, len(released.texts), released.places)
    try:
        losses = evaluate(released.came, released.texts, released.policy.schema, row_map=rows).to_dict()
    except InputError:  # The cells of treated columns are not those of the raw values.
        losses = {"utility": None}
    return released.to_dict() | {"utility": losses["utility"]}
