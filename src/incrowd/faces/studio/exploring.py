"""Settings already tried, each with loss and risk, and the chart of all settings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.documents import loss_in_words
from incrowd.core.errors import InfeasibleError, InputError, visible
from incrowd.core.progress import Within
from incrowd.faces.studio.sets import largest_risk
from incrowd.measures.privacy import MODELS, KAnonymity
from incrowd.search import ALGORITHMS
from incrowd_gate.wording import at_most

if TYPE_CHECKING:
    from incrowd.core.progress import Progress
    from incrowd.release.jobs.make.release import Release
    from incrowd.release.report.trials import Trial
    from incrowd.search.lattice.node import Node

_MODEL = "k-anonymity"
_MOST = 20
"""Recodings of one level for each column that are offered; more would hide each other."""
_MOST_CHECKS = 40
"""Recodings that are tried by a run, the least loss first."""
_SAME = 0.05
"""Points so close, as a share of the axes, have one label."""
_LEFT = 0.15
"""The part of the risk axis in which a label stands on the right of its point, and not on the other axis."""
_NUMBERS = 3
"""Settings whose label names each of them; more are counted."""
_COLOURS = {"holds": "#2b9a55", "open": "#c9811a", "broken": "#dc4a4a"}
"""Each stands out by 3 to 1 from a white and from a black page."""
_TOLD = "point => Object.assign(document.createElement('div'), {textContent: point.data.told})"
"""The figures of a point as a text, which never becomes markup."""


@dataclass(frozen=True)
class Try:
    """A setting already tried, and the figures of the release.

    Attributes
    ----------
    title
        Its method and its limits: "Mondrian, k = 5, l = 2".
    loss, risk
        What a cell lost on average, and the largest risk after: shares, 0..1.
    suppressed
        The suppressed records.
    state
        The state of its verdict.
    document
        The policy document that gives it again.
    lost
        What a cell of each quasi-identifier lost on average, by name.
    """

    title: str
    loss: float
    risk: float
    suppressed: int
    state: str
    document: Mapping[str, Any] = field(repr=False)
    lost: Mapping[str, float] = field(repr=False)

    @property
    def figures(self) -> tuple[str, str, str, str]:
        """The loss, the largest risk, the suppressed records and the verdict in words."""
        figures = f"loss {loss_in_words(self.loss)}", f"largest risk {at_most(self.risk)}"
        return *figures, f"suppressed {self.suppressed:,}", f"verdict: {self.state}"


def title_of(document: Mapping[str, Any]) -> str:
    """Name the method and the limits of a policy document, as "Mondrian, k = 5, l = 2"."""
    name = str(document.get("algorithm", {}).get("name", "mondrian"))
    parts = [name.replace("-", " ").capitalize()]
    for settings in document.get("models", ()):
        limit = MODELS.get(settings["model"]).limit_name
        parts.append(f"{limit} = {settings[limit]:g}" if limit in settings else settings["model"])
    if share := document.get("max_suppression", 0):
        parts.append(f"up to {100 * share:g}% suppressed")
    if attackers := document.get("attackers"):
        parts.append(f"{len(attackers)} attacker{'s' * (len(attackers) > 1)}")
    return ", ".join(parts)


def try_of(release: Release, document: Mapping[str, Any]) -> Try:
    """Return a release as a setting that was tried."""
    loss, after = release.utility["loss"], release.privacy
    risk = largest_risk(after, "prosecutor") or 0.0
    lost, state = dict(loss.per_attribute or {}), release.verdict.state
    title, copy = title_of(document), deepcopy(dict(document))
    return Try(title, float(loss.value), risk, release.suppression.records, state, copy, lost)


def keep(tries: list[Try], new: Try) -> None:
    """Add a setting to the tried settings, in place of an equal setting."""
    tries[:] = [each for each in tries if each.document != new.document]
    tries.append(new)


def alike(tries: Sequence[Try]) -> list[list[int]]:
    """Return the places of the settings, those with the same figures together."""
    places: dict[tuple[str, ...], list[int]] = {}
    for place, each in enumerate(tries):
        places.setdefault(each.figures, []).append(place)
    return list(places.values())


def compare_settings(
    work: Any, names: Sequence[str], sizes: Sequence[int], progress: Progress
) -> tuple[list[Try], dict[str, list[str]]]:
    """Make a release of each algorithm and class size under the policy of a window, and measure each release.

    Returns
    -------
    The settings that gave a release, and the titles of the others by the reason why they gave none.
    """
    policy, tries, problems = work.policy(), [], dict[str, list[str]]()
    progress.stage("compare")
    settings = [(name, k) for name in names for k in sizes]
    for done, (name, k) in enumerate(settings):
        progress.advance(done, len(settings))
        document = deepcopy(work.chosen.document)
        document["algorithm"] = {"name": ALGORITHMS.get(name).name}
        others = [each for each in document.get("models", ()) if each["model"] != _MODEL]
        document["models"] = [{"model": _MODEL, "k": k}, *others]
        setting = replace(policy.with_models([KAnonymity(k)]), algorithm=ALGORITHMS.parse(name))
        checking = Within(progress, title_of(document))
        try:
            tries.append(try_of(work.trial(setting, checking), document))
        except (InfeasibleError, InputError) as error:
            problems.setdefault(str(error), []).append(title_of(document))
    return tries, problems


def of_levels(work: Any, progress: Progress) -> list[Try]:
    """Return recodings with a level for each column that no other release beats in both loss and mean risk.

    A search counts cells as values. A run also judges the cells that leave, so each one is tried by a run.
    """
    policy, space = work.policy(), work.explore(progress)
    tries: dict[tuple[int, ...], Try] = {}
    checks = 0

    def is_released(node: Node) -> bool:
        nonlocal checks
        checks += 1
        if checks > _MOST_CHECKS:
            return False
        levels = dict(zip(space.names, node.levels, strict=True))
        document = deepcopy(work.chosen.document)
        for name, level in levels.items():
            document["columns"][name]["levels"] = [level, level]
        algorithm = document.get("algorithm", {}).get("name")
        if algorithm is None or not ALGORITHMS.get(algorithm).full_domain:
            document["algorithm"] = {"name": "optimal"}
        try:
            release = work.trial(policy.with_levels(levels), Within(progress, f"check recoding {checks}"))
        except (InfeasibleError, InputError):
            return False
        label = ", ".join(f"{name} {level}" for name, level in levels.items())
        tries[tuple(node.levels)] = replace(try_of(release, document), title=f"Levels: {label}")
        return True

    return [tries[tuple(node.levels)] for node in space.front(is_released)[:_MOST]]


class Tuned(NamedTuple):
    """A search for the setting that keeps an analysis best.

    Attributes
    ----------
    sentence
        What is kept of the analysis before and after.
    trials
        The settings that were tried.
    document
        The policy document with the chosen setting.
    """

    sentence: str
    trials: tuple[Trial, ...]
    document: Mapping[str, Any]


def keep_analysis(work: Any, name: str, most: int, progress: Progress) -> Tuned:
    """Search the setting that keeps an analysis of a window's policy best, as ``--goal`` does."""
    document = deepcopy(work.chosen.document)
    policy = work.policy(document)
    files = {column: str(each.get("hierarchy")) for column, each in document["columns"].items()}
    tuning = work.tune(policy, f"analysis:{name}", most, progress)
    before, after = (tomllib.loads(each.to_toml(files)) for each in (policy, tuning.policy))
    carry_over(document, before, after)
    return Tuned(tuning.sentence, tuning.trials, document)


def carry_over(document: dict[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Change the settings of a document that differ between two policies, and leave the rest as it is."""
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict) and isinstance(document.get(name), dict):
            carry_over(document[name], old, new)
        elif old != new and name in after:
            document[name] = new
        elif old != new:
            document.pop(name, None)


def best(tries: Sequence[Try]) -> int | None:
    """Return the place of the setting with the least loss among verdicts that are not broken."""
    sound = [(each.loss, place) for place, each in enumerate(tries) if each.state != "broken"]
    return min(sound)[1] if sound else None


def losses(tries: Mapping[int, Try]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the loss of some settings in each column: names of table columns, and rows."""
    names = dict.fromkeys(name for each in tries.values() for name in each.lost)
    rows = [
        (name, *(loss_in_words(each.lost[name]) if name in each.lost else "-" for each in tries.values()))
        for name in names
    ]
    whole = ("all columns", *(loss_in_words(each.loss) for each in tries.values()))
    return ["column", *(f"{number}: {each.title}" for number, each in tries.items())], [whole, *rows]


def chart(tries: Sequence[Try]) -> dict[str, Any]:
    """Return the settings as a chart of loss against risk, in exact places: plain data of ECharts."""
    farthest = max(each.risk for each in tries) or 1
    highest = max(each.loss for each in tries) or 1
    labels: dict[tuple[int, int], list[list[int]]] = {}
    for places in alike(tries):
        each = tries[places[0]]
        near = round(each.risk / farthest / _SAME), round(each.loss / highest / _SAME)
        labels.setdefault(near, []).append([place + 1 for place in places])
    data = []
    for points in labels.values():
        text = in_numbers([number for numbers in points for number in numbers])
        for numbers in points:
            each = tries[numbers[0] - 1]
            title = f"{numbers[0]}: {visible(each.title)}" if len(numbers) == 1 else in_numbers(numbers)
            side = "right" if each.risk < _LEFT * farthest else "top"
            label = {"show": numbers is points[0], "position": side, "formatter": text, "padding": [1, 5]}
            data.append(
                {"name": str(numbers[0]), "value": [100 * each.risk, 100 * each.loss],
                 "told": "\n".join((title, *each.figures)), "label": label,
                 "itemStyle": {"color": _COLOURS[each.state]},
                 "symbol": "circle" if each.state == "holds" else "diamond"}
            )  # fmt: skip
    return {
        "animation": False,
        "grid": {"left": 56, "right": 24, "top": 28, "bottom": 46},
        "tooltip": {"confine": True, "extraCssText": "white-space: pre-line", ":formatter": _TOLD},
        "xAxis": _axis("largest risk, %", 28), "yAxis": _axis("loss, %", 40),
        "series": [
            {"type": "scatter", "data": data, "symbolSize": 13, "labelLayout": {"hideOverlap": True}}
        ],
    }  # fmt: skip


def in_numbers(numbers: Sequence[int]) -> str:
    """Name a few settings by number, or count many."""
    many = len(numbers) > _NUMBERS
    return f"{len(numbers)} settings" if many else ", ".join(map(str, numbers))


def _axis(name: str, gap: int) -> dict[str, Any]:
    return {
        "name": name, "nameLocation": "middle", "nameGap": gap, "min": 0,
        "axisLabel": {"formatter": "{value}%"}, "axisLine": {"show": True}, "axisTick": {"show": True},
        "splitLine": {"lineStyle": {"opacity": 0.3}},
    }  # fmt: skip


def free_levels(document: dict[str, Any]) -> None:
    """Let every level be chosen again."""
    for settings in document["columns"].values():
        settings.pop("levels", None)
