"""tune(): a search for the setting that keeps an analysis best, under the limits of a policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.documents import envelope, loss_in_words
from incrowd.core.errors import IncrowdError, InfeasibleError, MissingExtraError, ParameterError
from incrowd.core.lazy import np, nw, pl
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import COUNT, SEED
from incrowd.core.progress import Progress, Silent, Within, in_job, with_bar
from incrowd.core.treatments import Microaggregate, Round, TruncateDates
from incrowd.release.analyses.analysis import Analysis, analysis_of
from incrowd.release.analyses.measure import RawAnalyses
from incrowd.release.jobs.make.anonymize import anonymize, check_levels
from incrowd.release.jobs.make.release import Release
from incrowd.release.policy.arguments import as_algorithms
from incrowd.release.policy.policy import Policy
from incrowd.release.report.trials import Trial, chart, entries_of
from incrowd.search import Algorithm
from incrowd_gate.wording import percent

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.schema import Attribute

_ALGORITHMS = ("mondrian", "optimal", "mdav")
"""Algorithms that are tried beside the policy's own."""
_WEIGHTS = (1, 3, 10)
"""How many times the weight of the analysis's columns is raised."""
_STEPS = 20
"""Multiples within the spread of a column that is rounded."""
_LEAST = 1_000
"""Records of the smallest sample."""
_KEPT = 3
"""The part of the settings that stays for the next round: one of so many."""


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
        from incrowd.release.report.vega import for_notebooks

        return for_notebooks(chart(entries_of(self.trials)))

    def _repr_html_(self) -> str:
        from incrowd.release.report.vega import svg_if_drawn

        return svg_if_drawn(chart(entries_of(self.trials))) + super()._repr_html_()

    @property
    def _ends(self) -> tuple[Trial, Trial]:
        """The trials of the policy as it was and of the chosen setting, on all records."""
        most = max(trial.records for trial in self.trials)
        first = next(trial for trial in self.trials if trial.records == most)
        return first, next(trial for trial in self.trials if trial.chosen)

    @property
    def sentence(self) -> str:
        """The share of the analysis that the first policy keeps, and the chosen setting beside it."""
        first, chosen = self._ends
        holds = first.kept is not None and first.problem is None
        before = f"keeps {loss_in_words(first.kept or 0.0)}" if holds else "gives no release that holds"
        after = f"the chosen setting keeps {loss_in_words(chosen.kept or 0.0)} of {self.analysis.name!r}"
        return f"The policy as it was {before}, {after}: {chosen.setting}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON. The figures are of the raw table's analysis: keep them."""
        first, chosen = self._ends
        return {
            **envelope("tuning"),
            "goal": f"analysis:{self.analysis.name}",
            "setting": chosen.setting,
            "kept": chosen.kept,
            "kept_before": first.kept,
            "sentence": self.sentence,
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
    levels: Mapping[str, int] | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Tuning:
    """Search the setting that keeps an analysis best, under all limits of a policy.

    It varies the algorithm, the weights of the analysis's columns, the highest levels of full-domain
    recoding, how cells of the columns are written, and suppression up to what the policy allows. Numbers may
    become means of their class or be rounded, and dates be cut to months. Sensitive numbers may be rounded,
    or rounded to twice their base. What the policy asks for stays: no treatment becomes weaker, and no range
    gets exact ends.

    Settings are tried on samples first. The best third goes on to more records, and the last ones are tried
    on all. The policy as it is stays to the end. So the result keeps no less of the analysis, if that policy
    gives a release that holds. A setting that breaks a limit, or leaves a point open, is never chosen.

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
    population, csv_format, levels, force, progress
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
    policy = policy.with_levels(levels) if levels else policy
    most, seed = COUNT.check(most, "tune", "most"), SEED.check(seed, "tune", "seed")
    table = loaded(table, csv_format)
    if not engine_for(table).in_order:
        raise ParameterError("tune: takes frames and files; fetch the rows of a database or of Spark first")
    others = tuple(each for each in policy.analyses if each.name != analysis.name)
    raw = RawAnalyses.of_table(engine_for(table), policy.schema, (analysis, *others))
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        frame = nw.from_native(nw.from_native(getattr(table, "frame", table)).collect())
    candidates = list(_settings(policy, analysis, as_algorithms(list(algorithms)), raw.sheet.domains))[:most]
    # A policy that was tuned before keeps the settings of that search in the count.
    goals = (replace(analysis, tried=analysis.tried + len(candidates)),)
    settings = [(name, replace(setting, analyses=goals)) for name, setting in candidates]
    order = np.random.default_rng(seed).permutation(len(frame))
    display, trials = progress or Silent(), list[Trial]()
    make = partial(anonymize, population=population, csv_format=csv_format, force=force, unanswered="write")
    left, release = list(range(len(settings))), None
    for records, last in _rounds(len(frame), len(left)):
        rows = table if last else frame[np.sort(order[:records]).tolist()].to_native()
        tried: dict[int, Trial] = {}
        for number in left:
            name, setting = settings[number]
            display.advance(len(trials) + len(tried), len(settings))
            job = partial(make, rows, setting, progress=Within(display, name))
            tried[number], result = _trial(name, records, job, first=number == 0)
            ranks = sorted(tried, key=lambda each: _rank(tried[each], last=last))
            if last and number == ranks[0]:
                # The rows that were judged are those that leave: they are not made once more.
                release = result
        trials += tried.values()
        # The policy as it is goes on whatever it keeps.
        left = sorted({0, *ranks[: max(len(ranks) // _KEPT, 1)]})
    best = ranks[0]
    if release is None or tried[best].problem is not None:
        problems = dict.fromkeys(each.problem for each in tried.values())
        raise InfeasibleError(f"tune: no setting gives a release that holds: {'; '.join(map(str, problems))}")
    at = len(trials) - len(tried) + list(tried).index(best)
    trials[at] = replace(trials[at], chosen=True)
    final = replace(settings[best][1], analyses=(*goals, *others))
    results = release.analyses
    if others:
        everything = replace(raw, analyses=final.analyses)
        results = everything.compare(engine_for(release.table))
    assert results is not None
    release = replace(release, policy=final, analyses=replace(results, trials=tuple(trials)))
    return Tuning(analysis, final, release, tuple(trials))


class _Change(NamedTuple):
    """A change of the columns of an analysis.

    Attributes
    ----------
    words
        The change in words.
    attributes
        The columns as they become, by name.
    suits
        Whether an algorithm makes use of it.
    of_search
        Whether the search alone changes, and not how cells are written.
    """

    words: str
    attributes: Mapping[str, Attribute]
    suits: Callable[..., bool]
    of_search: bool = False


def _settings(
    policy: Policy, analysis: Analysis, algorithms: Sequence[Algorithm], domains: Mapping[str, Domain]
) -> Iterator[tuple[str, Policy]]:
    """Yield settings in words, each with its policy: first the policy as it is."""
    shares = sorted({policy.max_suppression, policy.max_suppression / 2, 0.0}, reverse=True)
    # Without any hierarchy, levels are a column as it is, or none.
    able = [
        each for each in algorithms if not each.full_domain or any(q.hierarchy for q in policy.schema.quasi)
    ]
    every = list(dict.fromkeys((policy.algorithm, *able)))
    changes, seen = list(_changes(policy, analysis, domains)), set[str]()
    few = [change for change in changes if change.of_search]
    for share, change, algorithm in chain(
        product(shares[:1], changes, every), product(shares[1:], few, every)
    ):
        words = f"{algorithm.brief()}, at most {percent(share)} suppressed{change.words}"
        schema = policy.schema.with_attributes(
            change.attributes.get(each.name, each) for each in policy.schema.attributes
        )
        setting = replace(policy, schema=schema, algorithm=algorithm, max_suppression=share)
        if words in seen or not change.suits(algorithm):
            continue
        try:
            check_levels(setting)
        except ParameterError:
            # The policy has levels or weights that this algorithm does not know.
            if seen:
                continue
        seen.add(words)
        yield words, setting


def _changes(policy: Policy, analysis: Analysis, domains: Mapping[str, Domain]) -> Iterator[_Change]:
    """Yield the changes of the columns of an analysis, none of which is weaker than the policy."""
    own = {each.name: each for each in policy.schema.quasi if each.name in analysis.columns}
    yield _Change("", {}, lambda _: True, of_search=True)
    # They come early: with many ways to write and to weight cells, what comes last is tried by nobody.
    for each in policy.schema.attributes:
        if each.name in analysis.columns and each.role != "quasi":
            for words, treatment in _ways(each, domains[each.name]):
                changed = {each.name: replace(each, treatment=treatment)}
                yield _Change(f", {each.name} {words}", changed, lambda _: True)
    for written, factor in product(_written(policy, own.values(), domains), _WEIGHTS if own else (1,)):
        heavy = [replace(each, weight=each.weight * factor) for each in (own | written.attributes).values()]
        words = f", weight of {', '.join(own)} times {factor}" if factor > 1 else ""
        yield _Change(
            words + written.words,
            {each.name: each for each in heavy},
            lambda algorithm, factor=factor, plain=not written.words: (
                (algorithm.weighted or factor == 1) and (plain or not algorithm.full_domain)
            ),
            of_search=not written.words,
        )
    # A level that is fixed, or the lowest that is allowed, stays.
    low = {
        each.name: replace(each, levels=(lowest, max(lowest, 1)))
        for each in own.values()
        for lowest, highest in ([each.levels or (0, None)] if each.hierarchy is not None else [])
        if highest is None or highest > max(lowest, 1)
    }
    if low:
        yield _Change(
            f", {', '.join(low)} at most one level up", low, lambda algorithm: algorithm.full_domain
        )


def _written(policy: Policy, own: Iterable[Attribute], domains: Mapping[str, Domain]) -> Iterator[_Change]:
    """Yield the ways in which cells of numbers and dates are written: first as the policy says."""
    yield _Change("", {}, lambda _: True)
    plain = [each for each in own if each.hierarchy is None and each.treatment is None]
    kinds = {each.name: domains[each.name].kind for each in plain}
    ordered = [each for each in plain if kinds[each.name] != "category"]
    bases = {each.name: _base(domains[each.name]) for each in ordered if kinds[each.name] == "number"}
    every: dict[str, list[Attribute]] = {
        "as the mean of each class": [
            replace(each, output="mean")
            for each in ordered
            if each.output is None and policy.output == "auto"
        ],
        "rounded": [
            replace(each, treatment=Round(base)) for each in ordered if (base := bases.get(each.name))
        ],
        "cut to months": [
            replace(each, treatment=TruncateDates()) for each in ordered if kinds[each.name] == "date"
        ],
        "with ends outward": [
            replace(each, ends="outward") for each in ordered if (each.ends or policy.ends) == "exact"
        ],
    }
    for words, columns in every.items():
        changed = {each.name: each for each in columns}
        if changed:
            yield _Change(f", {', '.join(changed)} {words}", changed, lambda _: True)


def _ways(column: Attribute, domain: Domain) -> Iterator[tuple[str, Any]]:
    """Yield treatments of a column that tell no more than its own.

    Means stand for medians, and rounding keeps sums. A sensitive number is rounded, or rounded to twice its
    base: its values are then closer to those of the whole table, which t-closeness asks for, and so classes
    may be smaller. Half the base, or less noise, would tell more than the policy allows. No limit sees that,
    so such a setting would always be chosen.
    """
    treatment = column.treatment
    if getattr(treatment, "linked", None):
        return
    if isinstance(treatment, Round) and treatment.how == "nearest":
        yield "rounded at random", replace(treatment, how="random")
        yield "rounded so that sums stay", replace(treatment, how="controlled")
    if isinstance(treatment, Microaggregate) and treatment.how == "median":
        yield "as means of groups", replace(treatment, how="mean")
    if column.role != "sensitive" or column.hierarchy is not None or domain.kind != "number":
        return
    if treatment is None and (base := _base(domain)):
        yield f"rounded to {base:g}", Round(base)
    elif isinstance(treatment, Round):
        yield f"rounded to {2 * treatment.base:g}", replace(treatment, base=2 * treatment.base)


def _base(domain: Domain) -> float | None:
    """Return a round number that goes some twenty times into the spread of a column, or None."""
    numbers = domain.numbers[np.isfinite(domain.numbers)]
    spread = float(np.ptp(numbers)) / _STEPS if len(numbers) else 0.0
    if spread <= 0:
        return None
    power = 10.0 ** math.floor(math.log10(spread))
    base = next(step * power for step in (5, 2, 1) if step * power <= spread * (1 + 1e-9))
    return None if domain.whole and base <= 1 else base


def _rounds(records: int, settings: int) -> list[tuple[int, bool]]:
    """Return the records of each round, and whether it is the last, which has all."""
    sizes = [records]
    while settings > _KEPT and sizes[0] // _KEPT >= _LEAST:
        sizes.insert(0, sizes[0] // _KEPT)
        settings //= _KEPT
    return [(size, size == records) for size in sizes]


def _rank(trial: Trial, *, last: bool) -> tuple[bool, float, float]:
    """Return the key by which settings are sorted: on all records those with a problem come last."""
    # Rows in a random order are summed in another order, so the last digits differ.
    kept = -1.0 if trial.kept is None else round(trial.kept, 9)
    return last and trial.problem is not None, -kept, round(trial.loss or 0.0, 9)


def _trial(
    name: str, records: int, job: Callable[[], Release], *, first: bool
) -> tuple[Trial, Release | None]:
    """Make a release by a setting, and measure the analysis."""
    try:
        release = job()
    except IncrowdError as error:
        # What is wrong with the call is wrong with the policy as it is.
        if isinstance(error, MissingExtraError) or (first and isinstance(error, ParameterError)):
            raise
        return Trial(name, records, problem=str(error).partition("\n")[0]), None
    assert release.analyses is not None
    [result] = release.analyses.results
    risk = release.risk.get("prosecutor", {})
    return Trial(
        name,
        records,
        result.kept,
        release.utility["loss"].value,
        release.suppression.share(release.privacy.records),
        risk.get("max"),
        risk.get("mean"),
        None if release.verdict.holds else replace(release.verdict, remark="").text,
    ), release
