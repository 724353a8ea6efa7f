"""compare(): several algorithms over a grid of limits and seeds."""

from __future__ import annotations

import csv
import io
import math
import os
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.documents import envelope, figure, loss_in_words
from incrowd.core.errors import IncrowdError, ParameterError, TableError
from incrowd.core.lazy import np, nw, pl
from incrowd.core.markup import ROWS, cards, table
from incrowd.core.progress import Progress, Silent, in_job, with_bar
from incrowd.core.table.parts import refuse_sets
from incrowd.core.table.schema import Schema
from incrowd.measures.privacy import KAnonymity, LDiversity, TCloseness
from incrowd.measures.utility import METRICS
from incrowd.release.accounts.statements import versions
from incrowd.release.jobs.make.anonymize import anonymize
from incrowd.release.jobs.make.table_treatments import TableTreatments
from incrowd.release.policy.arguments import as_algorithms, as_numbers, as_schema
from incrowd.release.policy.policy import Policy
from incrowd.release.report.document import ComparisonRun

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.engines import Engine
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.search import Algorithm

_WARM = 200
_NO_LIMIT = 2**31


@dataclass(frozen=True)
class Comparison:
    """The runs of `compare`, with the time and the loss of each.

    Attributes
    ----------
    records
        Rows of the table.
    runs
        Every run, in the order of the grid.
    """

    records: int
    runs: tuple[ComparisonRun, ...]

    def __repr__(self) -> str:
        done = sum(run.problem is None for run in self.runs)
        return f"Comparison({self.records:,} records, {len(self.runs)} runs, {done} with a release)"

    def averaged(self) -> list[ComparisonRun]:
        """Average runs that differ in the seed alone.

        Runs without a release are left out, unless no run of a setting gave one.
        """
        groups: dict[tuple[object, ...], list[ComparisonRun]] = {}
        for run in self.runs:
            groups.setdefault((run.algorithm, run.k, run.l, run.t), []).append(run)
        return [_average(runs) for runs in groups.values()]

    @property
    def complete(self) -> bool:
        """Whether every run gave a release."""
        return all(run.problem is None for run in self.runs)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            **envelope("comparison"),
            "records": self.records,
            "runs": [run.to_dict() for run in self.runs],
            "averages": [average.to_dict() for average in self.averaged()],
        }

    def _repr_html_(self) -> str:
        from incrowd.release.report.charts import svg_if_drawn
        from incrowd.release.report.content import pictures_of_runs

        document, runs = self.document(), self.averaged()
        limits = [name for name in ("k", "l", "t") if any(getattr(run, name) is not None for run in runs)]
        rows = [(run.algorithm, *(getattr(run, name) for name in limits), *_of_notebook(run)) for run in runs]
        pictures = pictures_of_runs(document)[:1]
        return (
            cards(document["board"]["cards"])
            + "".join(svg_if_drawn(draw()) for _, draw in pictures)
            + table("Averages", ("algorithm", *limits, "seconds", "LM", "MD", "suppressed"), rows, ROWS)
        )

    def to_csv(self) -> str:
        """Return a line per run, with a column per metric."""
        out = io.StringIO()
        rows = [_figures(run) for run in self.runs]
        writer = csv.DictWriter(out, list(dict.fromkeys(chain(*rows))), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def to_frame(self, *, averaged: bool = False) -> pl.DataFrame:
        """Return a row per run, with a column per limit and metric.

        Parameters
        ----------
        averaged
            Whether runs that differ in the seed alone are one row: with ``runs``, their number, and
            with ``METRIC_spread``, the standard deviation of each metric, in place of ``seed``.

        Returns
        -------
        A Polars frame. Columns without a value in any row, such as limits that did not vary, stay.

        Examples
        --------
        >>> import incrowd as ic
        >>> table = ic.samples.hospital(200)
        >>> schema = ic.Schema(quasi=["age", "sex"], unlisted="drop")
        >>> found = ic.compare(table, schema, [ic.Random()], k=[2, 4], seeds=[1, 2])
        >>> found.to_frame().select("algorithm", "k", "seed").rows()
        [('random', 2, 1), ('random', 2, 2), ('random', 4, 1), ('random', 4, 2)]
        >>> found.to_frame(averaged=True).select("algorithm", "k", "runs").rows()
        [('random', 2, 2), ('random', 4, 2)]
        """
        rows = []
        for run in self.averaged() if averaged else self.runs:
            row = _figures(run)
            if averaged:
                del row["seed"]
                row["runs"] = run.runs
                row |= {
                    f"{name}_spread": (run.spread or {}).get(name) for name in ("seconds", *METRICS.names())
                }
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_markdown(self) -> str:
        """Return the table of the averages in Markdown: time, the usual metrics, and spreads."""
        from incrowd.release.report.comparison_table import to_markdown

        return to_markdown(self.records, self.averaged())

    def to_latex(self) -> str:
        """Return the table of the averages in LaTeX, as a `tabular` for the package booktabs."""
        from incrowd.release.report.comparison_table import to_latex

        return to_latex(self.records, self.averaged())

    def document(self) -> dict[str, Any]:
        """Return the report of a comparison as plain data."""
        from incrowd.release.report.comparison_sentences import observations

        runs = self.averaged()
        limits = [
            limit for limit in ("k", "l", "t") if len({getattr(run, limit) for run in runs} - {None}) > 1
        ]
        done = sum(run.utility is not None for run in runs)
        return {
            **envelope("report"),
            "kind": "comparison",
            "internal": False,
            "title": "Anonymization algorithms compared",
            "verdict": {
                # It is no verdict of a release.
                "state": "",
                "text": f"{done:,} of {len(runs):,} settings gave a release of {self.records:,} records.",
            },
            "board": {"cards": _cards(runs)},
            "sentences": [line for limit in limits or ["k"] for line in observations(runs, limit)],
            "records": self.records,
            "limits": limits,
            "runs": [run.to_dict() for run in runs],
            "reproduce": versions(None),
        }

    def report(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a report as ``.html``, ``.pdf`` or ``.json`` with charts, tables and sentences.

        Parameters and errors are those of `incrowd.release.report.pages.write_report`.
        """
        from incrowd.release.report.pages import write_report

        write_report(self.document(), path, force=force)

    def one_page(
        self,
        path: str | os.PathLike[str],
        *,
        against_l: Comparison | None = None,
        at_k: int | None = None,
        title: str = "Anonymization algorithms compared",
        about: str = "",
        force: bool = False,
    ) -> None:
        """Write a single-page PDF with time, LM and MD against k, and against l if measured.

        Parameters and errors are those of `incrowd.release.report.one_page.write_one_page`.
        """
        from incrowd.release.report.one_page import write_one_page

        write_one_page(self, path, against_l=against_l, at_k=at_k, title=title, about=about, force=force)


@with_bar
@in_job
def compare(  # noqa: PLR0913
    table: Any,
    schema: Schema | Policy,
    algorithms: Sequence[Algorithm],
    *,
    models: Sequence[PrivacyModel] = (),
    k: Sequence[int] = (),
    l: Sequence[int] = (),  # noqa: E741
    t: Sequence[float] = (),
    seeds: Sequence[int] = (0,),
    shuffle: bool = False,
    repeat: bool = False,
    known: Comparison | None = None,
    max_suppression: float | None = None,
    population: Any = None,
    csv_format: CsvFormat | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run algorithms over all combinations of limits and seeds, and measure the loss of each.

    Nothing is released. A run that fails is reported with its reason, and the others go on.

    Parameters
    ----------
    table, population, csv_format
        As in `anonymize`.
    schema
        The roles of the columns, or a whole `Policy`, whose algorithm and seed the grid replaces. Figures of
        papers mean a policy with ``ends="exact"``.
    algorithms
        At least one.
    models
        Models that every run has to satisfy besides those of the grid.
    k, l, t
        Limits of k-anonymity, distinct l-diversity and t-closeness; each takes the place of the policy's
        model of that name. Without any, the policy's models stand.
    seeds
        Seeds for algorithms that make random choices; the others run once.
    shuffle
        Whether algorithms that depend on the order of the rows, and have no seed, run once per seed, too,
        each time on rows shuffled by it.
    repeat
        Whether the others run once per seed, too, so that every time is a mean with a spread; each algorithm
        first runs on the whole table without being measured.
    known
        A comparison of the same table and policy: settings that it has are not run again. l = 1 asks for
        nothing, so such a run is the one without l, unless the policy has l-diversity.
    max_suppression
        Largest share of records that may be suppressed, 0 to 1. That of the policy by default.
    progress
        Told about the runs.

    Raises
    ------
    InputError
        When the table cannot be read, or there is nothing to run.
    """
    policy = schema if isinstance(schema, Policy) else Policy(as_schema(schema, " or a Policy"))
    refuse_sets(policy.schema.quasi)
    policy = policy.with_models(models)
    if max_suppression is not None:
        policy = replace(policy, max_suppression=max_suppression)
    algorithms = as_algorithms(algorithms)
    seeds = as_numbers(seeds)
    limits = list(product(*(as_numbers(each) or (None,) for each in (k, l, t))))
    if not algorithms or not seeds:
        raise ParameterError("compare: name at least one algorithm and one seed")
    if not policy.models and limits == [(None, None, None)]:
        raise ParameterError("compare: name limits, e.g. k=[4, 8, 16] or -k 4,8,16, or a privacy model")
    settings = _settings(policy, algorithms, limits, seeds, shuffle=shuffle, repeat=repeat)
    trivial = None if any(isinstance(model, LDiversity) for model in policy.models) else 1

    def key(run: ComparisonRun) -> tuple[object, ...]:
        return run.algorithm, run.k, None if run.l == trivial else run.l, run.t, run.seed

    measured = {key(run): run for run in (known.runs if known is not None else ())}
    progress = progress or Silent()
    if isinstance(table, str | os.PathLike):
        from incrowd.engines import loaded

        progress.stage("read")
        table = loaded(table, csv_format)
    _check_table(table, policy.schema, shuffle=shuffle)
    records = _records(table)
    if known is not None and known.records != records:
        raise ParameterError(f"compare: known is of another table, which has {known.records:,} records")
    progress.stage("warm up")
    new = [setting.policy for setting in settings if key(setting.run) not in measured]
    _warm_up(table, new, population, whole=repeat)
    runs = []
    progress.stage("compare")
    for done, setting in enumerate(settings):
        progress.advance(done, len(settings))
        if same := measured.get(key(setting.run)):
            runs.append(replace(same, l=setting.run.l))
            continue
        rows = table if setting.shuffle is None else _shuffle(table, setting.shuffle)
        runs.append(run_of(setting.run, rows, setting.policy, population))
    return Comparison(records, tuple(runs))


class _Setting(NamedTuple):
    """The settings of a run.

    Attributes
    ----------
    run
        The run, without its figures.
    policy
        The policy that it satisfies.
    shuffle
        The seed by which its rows are shuffled; None where they keep their order.
    """

    run: ComparisonRun
    policy: Policy
    shuffle: int | None


def _settings(
    policy: Policy,
    algorithms: Sequence[Algorithm],
    limits: Sequence[tuple[Any, Any, Any]],
    seeds: Sequence[int],
    *,
    shuffle: bool,
    repeat: bool,
) -> list[_Setting]:
    """Cross algorithms, limits (k, l, t) and seeds into the settings of all runs."""
    settings = []
    for algorithm in algorithms:
        shuffled = shuffle and algorithm.by_record and not algorithm.seeded
        for (k, l, t), seed in product(limits, seeds if algorithm.seeded or shuffled or repeat else [None]):  # noqa: E741
            setting = replace(
                policy.with_models(_limits(k, l, t)),
                algorithm=algorithm,
                seed=policy.seed if seed is None else seed,
                # Nothing is released, so a cell may list what it likes.
                set_limit=_NO_LIMIT,
            )
            run = ComparisonRun(algorithm.brief(), k, l, t, seed)
            settings.append(_Setting(run, setting, seed if shuffled else None))
    return settings


def _check_table(table: Any, schema: Schema, *, shuffle: bool) -> None:
    """Refuse a table that no run can take."""
    from incrowd.engines import engine_for

    engine = engine_for(table)
    lazy = _lazy(table)
    if lazy is None and not engine.in_order:
        raise TableError("compare: takes frames and files; fetch the rows of a database or of Spark first")
    if lazy is not None and shuffle:
        raise ParameterError(
            "compare: rows that stream are not shuffled; leave shuffle out, or read them whole"
        )
    schema.after_treatment().released(engine.columns)
    _check_treatments(schema, engine)


def _check_treatments(schema: Schema, engine: Engine) -> None:
    """Refuse treatments that would fail in every run."""
    sources = {each.treatment.key_source for each in schema.treated if each.treatment is not None}
    if "prompt" in sources:
        raise ParameterError(
            "compare: every run would ask for the key of a treatment; say where it is with key = 'env:NAME' "
            "or 'file:PATH'"
        )
    if schema.treated:
        TableTreatments.of_table(engine, schema)


def _limits(k: int | None, l: int | None, t: float | None) -> list[PrivacyModel]:  # noqa: E741
    models: list[PrivacyModel] = []
    if k is not None:
        models.append(KAnonymity(k))
    if l is not None:
        models.append(LDiversity(l))
    if t is not None:
        models.append(TCloseness(t))
    return models


def _lazy(table: Any) -> pl.LazyFrame | None:
    """Return the lazy rows of opened files or of a lazy frame, or None for other tables."""
    from incrowd.core.io.streams import Files

    if isinstance(table, Files):
        return table.frame
    return table if isinstance(table, pl.LazyFrame) else None


def _records(table: Any) -> int:
    lazy = _lazy(table)
    return len(_frame(table)) if lazy is None else int(lazy.select(pl.len()).collect().item())


def _frame(table: Any) -> Any:
    return nw.from_native(table, eager_only=True)


def _shuffle(table: Any, seed: int) -> Any:
    frame = _frame(table)
    return frame[np.random.default_rng(seed).permutation(len(frame)).tolist()].to_native()


def _warm_up(table: Any, settings: Sequence[Policy], population: Any, *, whole: bool) -> None:
    """Run every algorithm on a few rows or the whole table, so that no measured run includes loading time."""
    lazy = _lazy(table)
    sample = _frame(table)[:_WARM].to_native() if lazy is None else lazy.head(_WARM).collect()
    # A large table, and models that look at values, need code that a few rows or k alone do not.
    kinds = {(setting.algorithm, *map(type, setting.models)): setting for setting in settings}
    for setting in (kinds if whole else {key[0]: each for key, each in kinds.items()}).values():
        run_of(
            ComparisonRun("", None, None, None, None),
            table if whole else sample,
            replace(setting, max_suppression=1.0),
            population,
        )


def run_of(run: ComparisonRun, table: Any, policy: Policy, population: Any) -> ComparisonRun:
    """Anonymize a table, and return the run with figures or with the reason of the failure."""
    clock = _ProcessorClock()
    try:
        release = anonymize(table, policy, population=population, unanswered="write", progress=clock)
    except IncrowdError as error:
        return replace(run, problem=str(error))
    except Exception as error:
        # A message of a library may quote the table, and one failing run must not lose the others.
        return replace(run, problem=f"internal error ({type(error).__name__}); please report it")
    kept = {} if release.analyses is None else release.analyses.losses
    return replace(
        run,
        seconds=math.fsum(clock.seconds[stage] for stage in ("count", "search", "apply", "check")),
        utility={name: lost.value for name, lost in release.utility.items()} | kept,
        per_attribute=release.utility["loss"].per_attribute,
        classes=release.privacy.classes,
        smallest=release.privacy.smallest,
        suppressed=release.suppression.records,
        levels=getattr(release.recoding, "levels", None),
        risk={
            f"{model}-{name}": value
            for model in ("prosecutor", "attribute-disclosure")
            for name, value in release.privacy.risk.get(model, {}).items()
        },
    )


class _ProcessorClock(Silent):
    """Processor time of each stage, in all threads: other work on the machine does not count."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._stage, self._start = "", 0.0

    def stage(self, name: str) -> None:
        """End the current stage, and start the next."""
        now = time.process_time()
        self.seconds[self._stage] += now - self._start  # type: ignore[assignment]
        self._stage, self._start = name, now


def _of_notebook(run: ComparisonRun) -> tuple[object, ...]:
    """Return seconds, LM, MD and suppressed records, or why there is no release."""
    if run.utility is None:
        return (run.problem, None, None, None)
    return (run.seconds, run.utility["loss"], run.utility["distortion"], run.suppressed)


def _cards(runs: Sequence[ComparisonRun]) -> list[tuple[str, str, str]]:
    """Return the settings with a release, the settings of the least loss, and the fastest settings."""
    done = [run for run in runs if run.utility is not None]
    cards = [("Settings", f"{len(done):,} of {len(runs):,}", "gave a release")]
    if done:
        best, quick = min(done, key=lambda run: run.lost("loss")), min(done, key=lambda run: run.seconds)
        loss = loss_in_words(best.lost("loss"))
        cards.append(("Least loss", loss, f"of a cell, by {_setting_of(best)}"))
        cards.append(("Fastest", f"{figure(quick.seconds, 2)} s", f"by {_setting_of(quick)}"))
    return cards


def _setting_of(run: ComparisonRun) -> str:
    limits = [f"{name} = {value:g}" for name in "klt" if (value := getattr(run, name)) is not None]
    return ", ".join([run.algorithm, *limits])


def _figures(run: ComparisonRun) -> dict[str, Any]:
    """Return the settings and the result of a run, with a figure per metric."""
    done = run.utility is not None
    return {
        "algorithm": run.algorithm, "k": run.k, "l": run.l, "t": run.t, "seed": run.seed,
        "seconds": run.seconds if done else None,
        **dict.fromkeys(METRICS.names()), **(run.utility or {}),
        "classes": run.classes, "smallest": run.smallest, "suppressed": run.suppressed,
        "problem": run.problem,
    }  # fmt: skip


def _average(runs: Sequence[ComparisonRun]) -> ComparisonRun:
    """Average the runs with a release, all of the same setting."""
    done = [run for run in runs if run.utility is not None]
    if len(runs) == 1 or not done:
        return runs[0]
    figures = [{"seconds": run.seconds, **(run.risk or {}), **(run.utility or {})} for run in done]
    mean = {name: statistics.fmean(figure[name] for figure in figures) for name in figures[0]}
    spread = {name: statistics.pstdev([figure[name] for figure in figures]) for name in figures[0]}
    return replace(
        done[0],
        seed=None,
        runs=len(done),
        seconds=mean.pop("seconds"),
        risk={name: mean.pop(name) for name in done[0].risk or {}},
        utility=mean,
        classes=statistics.fmean(run.classes or 0 for run in done),
        smallest=statistics.fmean(run.smallest or 0 for run in done),
        suppressed=statistics.fmean(run.suppressed or 0 for run in done),
        spread=spread,
        levels=done[0].levels if len({run.levels for run in done}) == 1 else None,
        per_attribute={
            name: statistics.fmean((run.per_attribute or {})[name] for run in done)
            for name in done[0].per_attribute or {}
        },
    )
