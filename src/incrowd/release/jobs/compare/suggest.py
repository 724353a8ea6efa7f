"""suggest(): tested changes of a policy that a table cannot satisfy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import envelope
from incrowd.core.errors import InfeasibleError, InputError, ParameterError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import with_keyword_hints
from incrowd.core.progress import Progress, Silent, Within, in_job, with_bar
from incrowd.measures.privacy.attacker import Attacker
from incrowd.release.jobs.make.anonymize import anonymize
from incrowd.release.policy.limits import LongListError
from incrowd.release.policy.policy import Policy
from incrowd.search import Mondrian
from incrowd_gate.points import Point
from incrowd_gate.verdict import Verdict

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat

_SHARES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
_TIMES = (1.25, 1.5, 2, 3, 5, 10)
_LISTED = (2, 4, 8)
"""How many times as many values a cell may list."""
_COLUMNS = 6
"""Columns of which it is tried whether the table does without them."""


@dataclass(frozen=True)
class Suggestion(InNotebooks):
    """A single change of a policy.

    Attributes
    ----------
    text
        The change, in words.
    policy
        The policy with the change.
    place, value
        Where the changed setting stands in a policy document, and its new value.
    """

    _shown = ("text",)

    text: str
    policy: Policy = field(repr=False)
    place: tuple[str | int, ...] = field(repr=False)
    value: Any = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"text": self.text, "place": list(self.place), "value": self.value}

    def edited(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a policy document with the change."""
        copy = deepcopy(dict(document))
        inner: Any = copy
        for step in self.place[:-1]:
            inner = inner[step]
        inner[self.place[-1]] = self.value
        return copy


@dataclass(frozen=True)
class Suggestions(InNotebooks):
    """The changes of a policy that make a release possible.

    Attributes
    ----------
    feasible
        Whether the policy as it is gives a release that tells something, so that nothing has to be changed.
    found
        Single changes with which there is such a release, the mildest of each kind.
    points
        The points of the release under the policy as it is; none where there is no release.
    """

    _shown = ("feasible", "found")

    feasible: bool
    found: tuple[Suggestion, ...] = ()
    points: tuple[Point, ...] = field(default=(), repr=False)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the release under the unchanged policy."""
        return Verdict(self.points)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            **envelope("suggestions"),
            "feasible": self.feasible,
            "verdict": self.verdict.to_dict(),
            "found": [each.to_dict() for each in self.found],
        }


@with_keyword_hints
@with_bar
@in_job
def suggest(
    table: Any,
    policy: Policy,
    *,
    population: Any = None,
    csv_format: CsvFormat | None = None,
    most: int = 3,
    progress: Progress | None = None,
) -> Suggestions:
    """Find single changes of a policy with which a table can be released, by trying each.

    It tries another algorithm, more suppression, longer lists in a cell, a looser limit of each model, and to
    leave a quasi-identifier out. Nothing is released. Each try is a search of its own.

    Parameters
    ----------
    table, population, csv_format, progress
        As in `anonymize`.
    policy
        What a release has to satisfy.
    most
        How many changes to look for.

    Raises
    ------
    InputError
        When the table cannot be read, or does not fit the policy.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [*[20] * 9, 80]})
    >>> schema = ic.Schema(quasi={"age": ic.Hierarchy.flat()})
    >>> policy = ic.Policy(schema, (ic.KAnonymity(3),), ic.CellSuppression())
    >>> [each.text for each in ic.suggest(table, policy, most=1).found]
    ['let up to 10.0% of the records be suppressed (max_suppression = 0.1)']
    """
    from incrowd.engines import loaded

    display = progress or Silent()
    table = loaded(table, csv_format)

    def feasible(changed: Policy, doing: str) -> bool:
        within = Within(display, doing)
        try:
            return _tells(attempt(changed, within), changed)
        except (InfeasibleError, InputError):
            return False

    def attempt(tried: Policy, within: Progress) -> tuple[Point, ...]:
        """Release the table under a policy, and return the points; raise for a broken verdict."""
        verdict = anonymize(
            table,
            tried,
            population=population,
            csv_format=csv_format,
            progress=within,
            unanswered="write",
        ).verdict
        verdict.refuse(only_broken=True)
        return verdict.points

    points: tuple[Point, ...] = ()
    try:
        points = attempt(policy, Within(display, "now"))
        if _tells(points, policy):
            return Suggestions(True, points=points)
    except (InfeasibleError, LongListError):
        pass
    changes = helping(policy, lambda change: feasible(change.policy, change.text), most=most)
    return Suggestions(False, tuple(changes), points)


def _tells(points: Iterable[Point], policy: Policy) -> bool:
    """Say whether a release tells something: not every column has mostly cells that stand for every value."""
    blanked = {point.columns for point in points if point.name == "blanked-column"}
    return len(blanked) < len(policy.schema.quasi)


def helping(policy: Policy, feasible: Callable[[Suggestion], bool], *, most: int = 3) -> Iterator[Suggestion]:
    """Return up to `most` single changes that make a policy feasible, the mildest of each kind."""
    count = 0
    for ladder in ladders(policy):
        change = _mildest(ladder, feasible)
        if change is not None:
            yield change
            count += 1
        if count == most:
            return


def _mildest(ladder: Sequence[Suggestion], feasible: Callable[[Suggestion], bool]) -> Suggestion | None:
    """Return the first change of a ladder that helps, or None.

    Halving finds it: what helps goes on helping when it is loosened further.
    """
    if not ladder or not feasible(ladder[-1]):
        return None
    low, high = 0, len(ladder) - 1
    while low < high:
        middle = (low + high) // 2
        if feasible(ladder[middle]):
            high = middle
        else:
            low = middle + 1
    return ladder[high]


def ladders(policy: Policy) -> Iterator[list[Suggestion]]:
    """Return the possible changes: for each setting from the mildest to the strongest."""
    yield _other_algorithm(policy)
    yield _suppression(policy)
    yield _set_limit(policy)
    for position, model in enumerate(model for model in policy.models if not isinstance(model, Attacker)):
        yield _limit(policy, position, model)
    lists = not policy.algorithm.full_domain
    for attribute in policy.schema.quasi[:_COLUMNS]:
        if lists and attribute.hierarchy is None and attribute.kind in ("auto", "category"):
            yield [_value_or_star(policy, attribute.name)]
    quasi = [attribute.name for attribute in policy.schema.quasi]
    if len(quasi) > 1:
        for name in quasi[:_COLUMNS]:
            yield [_without(policy, name)]


def _other_algorithm(policy: Policy) -> list[Suggestion]:
    """Replace a full-domain algorithm by mondrian, which recodes each class alone."""
    if not policy.algorithm.full_domain:
        return []
    text = f"search with {Mondrian.name} in place of {policy.algorithm.name}: each class is recoded alone"
    schema = policy.schema.with_attributes(replace(each, levels=None) for each in policy.schema.attributes)
    changed = replace(policy, schema=schema, algorithm=Mondrian())
    return [Suggestion(text, changed, ("algorithm",), {"name": Mondrian.name})]


def _suppression(policy: Policy) -> list[Suggestion]:
    return [
        Suggestion(
            f"let up to {share:.1%} of the records be suppressed (max_suppression = {share})",
            replace(policy, max_suppression=share),
            ("max_suppression",),
            share,
        )
        for share in _SHARES
        if share > policy.max_suppression
    ]


def _set_limit(policy: Policy) -> list[Suggestion]:
    limits = (policy.set_limit * times for times in _LISTED)
    return [
        Suggestion(
            f"let a cell list up to {limit} values (set_limit = {limit})",
            replace(policy, set_limit=limit),
            ("set_limit",),
            limit,
        )
        for limit in limits
    ]


def _limit(policy: Policy, position: int, model: Any) -> list[Suggestion]:
    """Loosen the limit of a model, and keep the other parameters."""
    limit = model.limit_name
    value = model.settings().get(limit)
    if limit not in model.parameters() or not isinstance(value, int | float):
        return []
    place = policy.models.index(model)
    suggestions = []
    for looser_value in looser(model, value):
        models = list(policy.models)
        try:
            models[place] = replace(model, **{limit: looser_value})
        except ParameterError:  # the least l of a kind that counts values is 2
            continue
        text = f"{model.name}: {limit} = {looser_value:g} in place of {value:g}"
        changed = replace(policy, models=tuple(models))
        suggestions.append(Suggestion(text, changed, ("models", position, limit), looser_value))
    return suggestions


def looser(model: Any, value: float) -> list[float]:
    """Return limits of a model looser than `value`, the nearest first."""
    declared = model.parameters()[model.limit_name]
    if isinstance(value, int) and (declared.kind is int or (model.more_is_safer and value > 2)):
        if model.more_is_safer:
            # A class of one is no protection.
            return list(range(int(value) - 1, max(int(declared.low or 0), 2) - 1, -1))
        return sorted({int(value * factor) + 1 for factor in _TIMES})
    if model.more_is_safer:
        smallest = declared.low or 0
        tenths = [round(value * tenth / 10, 3) for tenth in range(9, 0, -1)]
        return [each for each in tenths if smallest < each < value]
    if declared.high is not None:
        steps = (round(step / 20, 2) for step in range(1, 20))
        return [share * declared.high for share in steps if value < share * declared.high]
    return [round(value * factor, 3) for factor in _TIMES]


def _value_or_star(policy: Policy, name: str) -> Suggestion:
    schema = policy.schema.with_attributes(
        replace(each, hierarchy=Hierarchy.flat()) if each.name == name else each
        for each in policy.schema.attributes
    )
    text = f"let a cell of {name} be its value or *, and no list (a flat hierarchy)"
    return Suggestion(text, replace(policy, schema=schema), ("columns", name, "hierarchy"), {"flat": True})


def _without(policy: Policy, name: str) -> Suggestion:
    schema = policy.schema.with_attributes(
        type(each)(name, "identifying") if each.name == name else each for each in policy.schema.attributes
    )
    new_policy = replace(policy, schema=schema)
    role = {"role": "identifying"}
    return Suggestion(f"leave {name} out of the release", new_policy, ("columns", name), role)
