"""tune(): a search for the setting that keeps an analysis best, under the limits of a policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import envelope
from incrowd.core.errors import IncrowdError, InfeasibleError, MissingExtraError, ParameterError
from incrowd.core.lazy import np, nw, pl
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import COUNT, SEED
from incrowd.core.progress import Progress, Silent, Within, in_job, with_bar
from incrowd.release.analyses.analysis import Analysis, analysis_of
from incrowd.release.jobs.make.anonymize import anonymize
from incrowd.release.jobs.make.release import Release
from incrowd.release.policy.arguments import as_algorithms
from incrowd.release.policy.policy import Policy
from incrowd.search import Algorithm
from incrowd_gate.wording import percent

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat

_ALGORITHMS = ("mondrian", "optimal", "mdav")
"""Algorithms that are tried beside the policy's own."""
_WEIGHTS = (1, 3, 10)
"""How many times the weight of the analysis's columns is raised."""
_LEAST = 1_000
"""Records of the smallest sample."""
_KEPT = 3
"""The part of the settings that stays for the next round: one of so many."""


@dataclass(frozen=True)
class Trial:
    """One setting, tried on some records.

    Attributes
    ----------
    setting
        The setting in words.
    records
        The records that it was tried on: a sample, or all.
    kept
        What is kept of the analysis, 0 to 1; None where there is no release.
    loss, suppressed, risk
        The loss LM, the share of suppressed records, and the highest risk of a prosecutor.
    problem
        Why the setting is not chosen whatever it keeps: a broken limit, or an open point.
    chosen
        Whether it was chosen.
    """

    setting: str
    records: int
    kept: float | None = None
    loss: float | None = None
    suppressed: float | None = None
    risk: float | None = None
    problem: str | None = None
    chosen: bool = False


@dataclass(frozen=True)
class Tuning(InNotebooks):
    """A search for the setting that keeps an analysis best.

    Attributes
    ----------
    analysis
        The goal.
    policy
        The policy with the chosen setting. Its `Analysis.tried` says how many settings were tried.
    release
        The release by that policy.
    trials
        All trials, in the order in which they ran; the first is that of the policy as it was.
    """

    _shown = ("goal", "setting", "kept", "kept_before", "trials")

    analysis: Analysis
    policy: Policy = field(repr=False)
    release: Release = field(repr=False)
    trials: tuple[Trial, ...] = field(repr=False)

    def table(self) -> pl.DataFrame:
        """Return a row for each trial: a Polars frame with the attributes of `Trial`."""
        return pl.DataFrame([vars(trial) for trial in self.trials], infer_schema_length=None)

    def plot(self) -> Any:
        """Return an Altair chart of the trials on all records: the risk against the analysis."""
        from incrowd.release.report.vega import category, complete, for_notebooks, quantity

        done = [trial for trial in self._whole if trial.kept is not None]
        points = [vars(trial) | {"state": _state(trial)} for trial in done]
        return for_notebooks(
            complete(
                data={"values": points},
                width=360,
                height=220,
                mark={"type": "point", "filled": True, "size": 70},
                encoding={
                    "x": quantity("risk", title="highest risk of finding a person"),
                    "y": quantity("kept", title=f"kept of {self.analysis.name}"),
                    "color": category("state", title=None),
                    "tooltip": [category("setting"), quantity("kept"), quantity("suppressed")],
                },
            )
        )

    @property
    def _whole(self) -> list[Trial]:
        most = max(trial.records for trial in self.trials)
        return [trial for trial in self.trials if trial.records == most]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON. The figures are of the raw table's analysis: keep them."""
        [chosen] = [trial for trial in self.trials if trial.chosen]
        return {
            **envelope("tuning"),
            "goal": f"analysis:{self.analysis.name}",
            "setting": chosen.setting,
            "kept": chosen.kept,
            "kept_before": self._whole[0].kept,
            "trials": [vars(trial) for trial in self.trials],
        }


@with_bar
@in_job
def tune(  # noqa: PLR0913
    table: Any,
    policy: Policy,
    goal: str | Analysis,
    *,
    algorithms: Sequence[Algorithm | str] = _ALGORITHMS,
    population: Any = None,
    csv_format: CsvFormat | None = None,
    most: int = 30,
    seed: int = 0,
    progress: Progress | None = None,
) -> Tuning:
    """Search the setting that keeps an analysis best, under all limits of a policy.

    It varies the algorithm, the weights of the analysis's columns, the highest levels of full-domain
    recoding, and suppression up to what the policy allows. Settings are tried on samples first. The best
    third goes on to more records, and the last ones are tried on all. The policy as it is stays to the end.
    So the result keeps no less of the analysis. A setting that breaks a limit, or leaves a point open, is
    never chosen.

    The choice looks at the raw table. So the policy says how many settings were tried, and the verdict of
    each release repeats it.

    Parameters
    ----------
    table
        The raw table, whose rows are in memory: a frame or a file.
    policy
        What a release has to satisfy.
    goal
        The analysis: ``"analysis:NAME"`` for one of the policy, or an `Analysis`.
    algorithms
        What is tried beside the policy's own algorithm.
    population, csv_format, progress
        As in `anonymize`.
    most
        How many settings are tried.
    seed
        Seed of the samples.

    Raises
    ------
    InputError
        When the table cannot be read, or the analysis cannot be computed from it.
    InfeasibleError
        When no setting gives a release that holds.

    Examples
    --------
    >>> import incrowd as ic
    >>> table = ic.samples.hospital(300)
    >>> policy = ic.Policy(ic.Schema(["age", "sex"], unlisted="drop"), ("k-anonymity:3",))
    >>> goal = ic.Analysis("ages", "age ~ sex", "means")
    >>> tuned = ic.tune(table, policy, goal, algorithms=["mdav"], most=4)
    >>> tuned.release.verdict.holds, len(tuned.trials)
    (True, 4)
    """
    from incrowd.engines import engine_for, loaded

    analysis = analysis_of(goal, policy.analyses)
    most, seed = COUNT.check(most, "tune", "most"), SEED.check(seed, "tune", "seed")
    table = loaded(table, csv_format)
    if not engine_for(table).in_order:
        raise ParameterError("tune: takes frames and files; fetch the rows of a database or of Spark first")
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        frame = nw.from_native(nw.from_native(getattr(table, "frame", table)).collect())
    settings = list(_settings(policy, analysis, as_algorithms(list(algorithms))))[:most]
    order = np.random.default_rng(seed).permutation(len(frame))
    display, trials = progress or Silent(), list[Trial]()
    left = list(range(len(settings)))
    for records, last in _rounds(len(frame), len(left)):
        rows = frame if last else frame[np.sort(order[:records]).tolist()]
        tried: dict[int, Trial] = {}
        for number in left:
            name, setting = settings[number]
            display.advance(len(trials), len(settings))
            alone = replace(setting, analyses=(replace(analysis, tried=0),))
            tried[number] = _trial(name, rows.to_native(), alone, population, Within(display, name))
        trials += tried.values()
        best = sorted(tried, key=lambda each: _rank(tried[each], last=last))
        # The policy as it is goes on whatever it keeps.
        left = sorted({0, *best[: max(len(best) // _KEPT, 1)]})
    chosen = best[0]
    if tried[chosen].problem is not None or tried[chosen].kept is None:
        problems = dict.fromkeys(each.problem for each in tried.values())
        raise InfeasibleError(f"tune: no setting gives a release that holds: {'; '.join(map(str, problems))}")
    at = len(trials) - len(tried) + list(tried).index(chosen)
    trials[at] = replace(trials[at], chosen=True)
    goal_of = replace(analysis, tried=len(settings))
    others = tuple(each for each in policy.analyses if each.name != analysis.name)
    final = replace(settings[chosen][1], analyses=(goal_of, *others))
    release = anonymize(
        table, final, population=population, csv_format=csv_format, progress=Within(display, "release")
    )
    return Tuning(analysis, final, release, tuple(trials))


def _settings(
    policy: Policy, analysis: Analysis, algorithms: Sequence[Algorithm]
) -> Iterator[tuple[str, Policy]]:
    """Yield settings in words, each with its policy: first the policy as it is."""
    shares = sorted({policy.max_suppression, policy.max_suppression / 2, 0.0}, reverse=True)
    own = [each for each in policy.schema.quasi if each.name in analysis.columns]
    seen = set[str]()
    every = list(dict.fromkeys((policy.algorithm, *algorithms)))
    for share, factor, algorithm in product(shares, _WEIGHTS if own else _WEIGHTS[:1], every):
        if factor > 1 and not algorithm.weighted:
            continue
        for most in (None, 1) if algorithm.full_domain and own and factor == 1 else (None,):
            weighted = {
                each.name: replace(
                    each,
                    weight=each.weight * factor,
                    levels=each.levels if most is None or each.hierarchy is None else (0, most),
                )
                for each in own
            }
            words = f"{algorithm.brief()}, at most {percent(share)} suppressed"
            words += "" if factor == 1 else f", weight of {', '.join(weighted)} times {factor}"
            words += "" if most is None else f", at most level {most}"
            if words not in seen:
                seen.add(words)
                schema = policy.schema.with_attributes(
                    weighted.get(each.name, each) for each in policy.schema.attributes
                )
                yield words, replace(policy, schema=schema, algorithm=algorithm, max_suppression=share)


def _rounds(records: int, settings: int) -> list[tuple[int, bool]]:
    """Return the records of each round, and whether it is the last, which has all."""
    sizes = [records]
    while settings > _KEPT and sizes[0] // _KEPT >= _LEAST:
        sizes.insert(0, sizes[0] // _KEPT)
        settings //= _KEPT
    return [(size, size == records) for size in sizes]


def _rank(trial: Trial, *, last: bool) -> tuple[bool, float, float]:
    """Return the key by which settings are sorted: on all records those with a problem come last."""
    kept = -1.0 if trial.kept is None else trial.kept
    return last and trial.problem is not None, -kept, trial.loss or 0.0


def _trial(name: str, rows: Any, policy: Policy, population: Any, progress: Progress) -> Trial:
    """Release some rows by a setting, and measure the analysis."""
    try:
        release = anonymize(rows, policy, population=population, unanswered="write", progress=progress)
    except (MissingExtraError, ParameterError):
        raise
    except IncrowdError as error:
        return Trial(name, len(rows), problem=str(error).partition("\n")[0])
    assert release.analyses is not None
    [result] = release.analyses.results
    return Trial(
        name,
        len(rows),
        result.kept,
        release.utility["loss"].value,
        release.suppression.share(release.privacy.records),
        release.risk.get("prosecutor", {}).get("max"),
        None if release.verdict.holds else release.verdict.text,
    )


def _state(trial: Trial) -> str:
    return (
        "chosen"
        if trial.chosen
        else "holds"
        if trial.problem is None
        else "breaks a limit or leaves a point open"
    )
