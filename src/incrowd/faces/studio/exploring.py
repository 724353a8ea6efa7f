"""Settings and nodes of a lattice that a run would release, as points of loss against risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import visible
from incrowd.core.progress import Within
from incrowd.measures.privacy import KAnonymity
from incrowd.search import ALGORITHMS

if TYPE_CHECKING:
    from incrowd.core.progress import Progress
    from incrowd.core.report.document import ComparisonRun
    from incrowd.release.policy.policy import Policy
    from incrowd.search.lattice.node import Node
    from incrowd.search.lattice.space import SolutionSpace

_MODEL = "k-anonymity"
_MOST = 20
"""Nodes of a front that are offered; more would hide each other."""
_MOST_CHECKS = 40
"""Nodes that are tried by a run, the least loss first."""
_NEAR, _ASIDE = 0.04, 18
"""Points so close, as a share of the axes, stand beside each other, by these pixels."""
_COLOURS = ("#2f7fd1", "#c9611a", "#2b9a55", "#b457c9", "#9a7f1d", "#0f93a3", "#dc4a76")
"""Each stands out by 3 to 1 from a white and from a black page."""
_SYMBOLS = ("circle", "rect", "triangle", "diamond", "arrow")
_TOLD = "point => Object.assign(document.createElement('div'), {textContent: point.data.told})"
"""The figures of a point as a text, which never becomes markup."""


class Point(NamedTuple):
    """A result that can be taken: its loss (or score), its risk, and its suppressed records.

    Points of a group have one colour and one symbol.
    """

    label: str
    group: str
    loss: float
    risk: float
    suppressed: float
    of: Any


def compared(
    table: Any, policy: Policy, settings: Sequence[tuple[str, int]], population: Any, progress: Progress
) -> list[ComparisonRun]:
    """Make a release of each setting, an algorithm and its k, under a policy; return the runs' figures."""
    from incrowd.core.report.document import ComparisonRun
    from incrowd.release.jobs.compare import run_of

    progress.stage("compare")
    runs = []
    for done, (name, k) in enumerate(settings):
        progress.advance(done, len(settings))
        setting = replace(policy.with_models([KAnonymity(k)]), algorithm=ALGORITHMS.parse(name))
        runs.append(run_of(ComparisonRun(name, k, None, None, policy.seed), table, setting, population))
    return runs


def of_runs(runs: Sequence[ComparisonRun]) -> dict[str, Point]:
    """Return the runs that gave a release, by their number."""
    points = {}
    for number, run in enumerate(runs, 1):
        if run.utility is not None:
            # Where everything is suppressed there is no risk.
            risk = 1 / run.smallest if run.smallest else 0.0
            points[str(number)] = Point(
                f"{run.algorithm}, k = {run.k}", run.algorithm, run.utility["loss"], risk,
                run.suppressed or 0, run,
            )  # fmt: skip
    return points


def losses(found: Sequence[ComparisonRun]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the loss of each run in each quasi-identifier: names of the columns of a table, and its rows.

    Runs that gave no release are left out.
    """
    runs = {
        f"{number}: {run.algorithm}, k = {run.k}": run.per_attribute
        for number, run in enumerate(found, 1)
        if run.per_attribute
    }
    columns = next(iter(runs.values()), {})
    rows = [(name, *(f"{lost[name]:.1%}" for lost in runs.values())) for name in columns]
    return ["column", *runs], rows


def of_lattice(work: Any, space: SolutionSpace, progress: Progress) -> dict[str, Point]:
    """Return the nodes that none beats in both loss and mean risk, by number, as far as a run releases them.

    A search counts cells as values. A run also judges the cells that leave, by the wildcards of the policy.
    """
    policy, checked = work.policy(), 0

    def is_released(node: Node) -> bool:
        nonlocal checked
        checked += 1
        checking = Within(progress, f"check node {checked}")
        return checked <= _MOST_CHECKS and work.is_feasible(policy.with_levels(levels_of(node)), checking)

    def levels_of(node: Node) -> dict[str, int]:
        return dict(zip(space.names, node.levels, strict=True))

    points = dict[str, Point]()
    for number, node in enumerate(space.front(is_released)[:_MOST], 1):
        levels = levels_of(node)
        label = ", ".join(f"{name} {level}" for name, level in levels.items())
        risk = node.classes / max(space.records - node.suppressed, 1)
        points[str(number)] = Point(label, "node", node.score, risk, node.suppressed, levels)
    return points


def cell_at(level: int, example: Sequence[str] | None) -> str:
    """Describe a level, with the cell of a value there: ``2: [20-39]``."""
    if not example:
        return str(level)
    return f"{level}: {example[min(level, len(example) - 1)]}"


def best(points: Mapping[str, Point], document: Mapping[str, Any]) -> tuple[str | None, str]:
    """Return the number of the point that loses least and keeps the k of a policy, and say why."""
    limits = [each.get("k", 1) for each in document.get("models", ()) if each["model"] == _MODEL]
    least = max(limits, default=1)
    fit = [(p.loss, p.risk, int(n)) for n, p in points.items() if getattr(p.of, "k", least) >= least]
    if not fit:
        return None, f"None is recommended: nothing with k of at least {least} keeps every limit."
    number = str(min(fit)[2])
    return number, f"{number} is recommended: among the settings that keep every limit it loses least."


def chart(points: Mapping[str, Point], best: str | None, risk: str, loss: str, unit: str) -> dict[str, Any]:
    """Return points as a chart, which is plain data of ECharts.

    `best` is marked, `risk` and `loss` name the axes, and `unit` of the loss is ``%`` or empty.
    """
    farthest = max(each.risk for each in points.values()) or 1
    highest = max(each.loss for each in points.values()) or 1
    placed: list[tuple[float, float]] = []
    groups: dict[str, list[dict[str, Any]]] = {}
    for number, point in points.items():
        x, y = point.risk / farthest, point.loss / highest
        beside = sum(abs(x - a) < _NEAR and abs(y - b) < 2 * _NEAR for a, b in placed)
        placed.append((x, y))
        lost = f"{point.loss:.1%}" if unit else f"{point.loss:.4g}"
        text = f"{number}: {visible(point.label)}\n{loss} {lost}\n{risk} {point.risk:.1%}"
        data: dict[str, Any] = {
            "name": number,
            "value": [100 * point.risk, point.loss * (100 if unit else 1)],
            "told": f"{text}\nsuppressed {point.suppressed:,.0f}",
            "symbolOffset": [_ASIDE * beside, 0],
        }
        if number == best:
            # Where there is no room on the left, the word stands on the right.
            side = {"position": "left" if x > 1 - x else "right", "formatter": "{b} recommended"}
            mark = {"borderColor": "#e08600", "borderWidth": 4}
            data |= {"symbolSize": 22, "itemStyle": mark, "label": side}
        groups.setdefault(point.group, []).append(data)
    looks = zip(groups.items(), cycle(_SYMBOLS), cycle(_COLOURS), strict=False)
    return {
        "animation": False,
        "legend": {"type": "scroll", "top": 0, "itemWidth": 14, "show": len(groups) > 1},
        "grid": {"left": 70, "right": 56, "top": 48, "bottom": 52},
        "tooltip": {"confine": True, "extraCssText": "white-space: pre-line", ":formatter": _TOLD},
        "xAxis": _axis(risk, "%", 30),
        "yAxis": _axis(loss, unit, 50),
        "series": [
            {"type": "scatter", "name": name, "data": data, "symbol": symbol, "symbolSize": 14,
             "color": colour, "itemStyle": {"opacity": 1},
             "label": {"show": True, "position": "top", "formatter": "{b}"}}
            for (name, data), symbol, colour in looks
        ],
    }  # fmt: skip


def _axis(name: str, unit: str, gap: int) -> dict[str, Any]:
    return {
        "name": f"{name}, {unit}" if unit else name, "nameLocation": "middle", "nameGap": gap, "min": 0,
        "axisLabel": {"formatter": f"{{value}}{unit}"}, "axisLine": {"show": True},
        "axisTick": {"show": True}, "splitLine": {"lineStyle": {"opacity": 0.3}},
    }  # fmt: skip


def take_setting(document: dict[str, Any], run: Any) -> None:
    """Make the algorithm and the class size of a run the choice of a policy document."""
    document["algorithm"] = {"name": ALGORITHMS.get(run.algorithm).name}
    if run.k is not None:
        others = [each for each in document.get("models", ()) if each["model"] != _MODEL]
        document["models"] = [{"model": _MODEL, "k": run.k}, *others]


def take_levels(document: dict[str, Any], levels: Mapping[str, int]) -> None:
    """Fix the level of each quasi-identifier, and let an algorithm search that knows levels."""
    for name, level in levels.items():
        document["columns"][name]["levels"] = [level, level]
    name = document.get("algorithm", {}).get("name")
    if name is None or not ALGORITHMS.get(name).full_domain:
        document["algorithm"] = {"name": "optimal"}


def free_levels(document: dict[str, Any]) -> None:
    """Let every level be chosen again."""
    for settings in document["columns"].values():
        settings.pop("levels", None)
