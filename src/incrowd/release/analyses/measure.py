"""The comparison of an analysis before and after a release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.documents import envelope, loss_in_words
from incrowd.core.errors import ParameterError, SchemaError, those_are
from incrowd.core.lazy import np
from incrowd.core.markup import InNotebooks
from incrowd.release.analyses.analysis import Analysis, check_analyses
from incrowd.release.analyses.cells import RawSheet, Sheet
from incrowd.release.analyses.fits import Estimate, Fit, at, fit
from incrowd.release.analyses.propensity import Propensity, propensity
from incrowd.release.sampling import Design

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema
    from incrowd.engines import Engine
    from incrowd.release.report.trials import Trial

_SHOWN = 6
"""Terms that the sentence of an analysis names."""


class Kept(NamedTuple):
    """An estimate from the raw table beside the same from the release.

    Attributes
    ----------
    before, after
        The estimate from the raw table and from the release; None after it where the release cannot tell it.
    overlap
        The mean of the shares of both intervals in which they overlap: 1 for equal intervals, 0 for none.
    sign, significant
        Whether the sign, and whether the answer that the interval leaves out 0, is the same. None where 0
        has no meaning.
    difference
        The distance of the estimates in standard errors of the raw one; None where that has none.
    """

    before: Estimate
    after: Estimate | None
    overlap: float
    sign: bool | None
    significant: bool | None
    difference: float | None

    @classmethod
    def of_estimates(cls, before: Estimate, after: Estimate | None) -> Kept:
        """Compare two estimates."""
        if after is None:
            answer = False if before.tested else None
            return cls(before, None, 0.0, answer, answer, None)
        sign: bool | None = (before.value > 0) == (after.value > 0)
        significant: bool | None = (before.low > 0 or before.high < 0) == (after.low > 0 or after.high < 0)
        if not before.tested:
            sign = significant = None
        far = abs(after.value - before.value) / before.error if before.error > 0 else None
        return cls(before, after, overlap(before, after), sign, significant, far)


def overlap(before: Estimate, after: Estimate) -> float:
    """Return the overlap of two intervals: the mean of the shares that lie in the other one.

    References
    ----------
    Karr, Kohnen, Oganian, Reiter and Sanil, A framework for evaluating the utility of data altered to protect
    confidentiality, The American Statistician 60(3), 2006, section 3.

    Examples
    --------
    >>> overlap(Estimate(1, 0.5, 0, 2), Estimate(2, 0.5, 1, 3))
    0.5
    """
    common = min(before.high, after.high) - max(before.low, after.low)
    lengths = (before.high - before.low, after.high - after.low)
    if min(lengths) <= 0:
        # A number without an interval is kept or not.
        return float(before.value == after.value)
    return max(common / lengths[0] + common / lengths[1], 0.0) / 2


@dataclass(frozen=True)
class AnalysisResult(InNotebooks):
    """An analysis, before and after a release.

    Attributes
    ----------
    analysis
        What was computed.
    before, after
        The fits of the raw table and of the release; None where the release does not allow it.
    problem
        Why it does not; empty where it does.
    remark
        What the recipient has not got, such as the sampling weights; mostly empty.
    """

    _shown = ("name", "kind", "kept", "terms", "estimates")

    analysis: Analysis
    before: Fit = field(repr=False)
    after: Fit | None = field(repr=False)
    problem: str = ""
    remark: str = ""

    @cached_property
    def estimates(self) -> dict[str, Kept]:
        """The comparison of each estimate, by name."""
        after: Mapping[str, Estimate] = {} if self.after is None else self.after.estimates
        return {
            name: Kept.of_estimates(before, after.get(name)) for name, before in self.before.estimates.items()
        }

    @cached_property
    def distances(self) -> dict[str, float]:
        """The largest distance of each curve from that of the release: 1 where there is none."""
        far = {}
        for name, curve in self.before.curves.items():
            other = None if self.after is None else self.after.curves.get(name)
            if other is None:
                far[name] = 1.0
                continue
            times = np.unique(np.concatenate((curve[0], other[0])))
            far[name] = float(np.abs(at(curve, times) - at(other, times)).max())
        return far

    @property
    def kept(self) -> float:
        """The mean overlap of the intervals, 0 to 1; of curves it is 1 less the largest distance.

        The intercept of a regression does not count, unless there is nothing else.
        """
        shares = [each.overlap for name, each in self.estimates.items() if name != "Intercept"]
        if self.before.curves:
            shares = [1 - each for each in self.distances.values()]
        shares = shares or [each.overlap for each in self.estimates.values()]
        return math.fsum(shares) / len(shares) if shares else 0.0

    @cached_property
    def terms(self) -> dict[str, dict[str, Any]]:
        """The kept shares by term of the formula, without any value of the table.

        Each has the mean overlap, how many estimates there are, and how many of them are lost, keep their
        sign and keep their significance.
        """
        groups: dict[str, list[Kept]] = {}
        for each in self.estimates.values():
            if each.before.term != "Intercept":
                groups.setdefault(each.before.term, []).append(each)
        terms: dict[str, dict[str, Any]] = {}
        for term, group in groups.items():
            tested = group[0].before.tested
            terms[term] = {
                "kept": math.fsum(each.overlap for each in group) / len(group),
                "estimates": len(group),
                "lost": sum(each.after is None for each in group),
                "sign": sum(bool(each.sign) for each in group) if tested else None,
                "significant": sum(bool(each.significant) for each in group) if tested else None,
            }
        return terms

    @property
    def sentence(self) -> str:
        """The outcome of the analysis in plain words, without any value of the table."""
        name = self.analysis.name
        if self.after is None:
            return f"The analysis {name!r} is lost: {self.problem}."
        parts = [_part(term, each) for term, each in list(self.terms.items())[:_SHOWN]]
        more = len(self.terms) - _SHOWN
        parts += [f"and {more:,} more terms"] if more > 0 else []
        remark = f" {self.remark}" if self.remark else ""
        what = "intervals"
        if self.distances:
            what = "curves"
            parts = [f"the largest distance of a curve is {loss_in_words(max(self.distances.values()))}"]
        kept = f"keeps {loss_in_words(self.kept)} of its {what}"
        return f"The analysis {name!r} {kept}: {'; '.join(parts)}.{remark}"

    def __repr__(self) -> str:
        return f"AnalysisResult({self.sentence})"

    def public(self) -> dict[str, Any]:
        """Return the public part: shares by term, without estimates of the raw table."""
        return {
            "name": self.analysis.name,
            "kind": "function" if self.analysis.function is not None else self.analysis.kind,
            "ranges": self.analysis.ranges,
            "categories": self.analysis.categories,
            "tried": self.analysis.tried,
            "kept": self.kept,
            "largest_distance": max(self.distances.values(), default=None),
            "terms": self.terms,
            "sentence": self.sentence,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, with the estimates of the raw table: it is for its owner alone."""
        return {
            **envelope("analysis"),
            **self.public(),
            "formula": self.analysis.formula,
            "records": [self.before.records, 0 if self.after is None else self.after.records],
            "estimates": [_entry(name, each) for name, each in self.estimates.items()],
            "curves": [{"curve": name, "largest_distance": far} for name, far in self.distances.items()],
        }


@dataclass(frozen=True)
class AnalysisResults(InNotebooks):
    """The analyses of a policy, before and after a release.

    Attributes
    ----------
    results
        One for each analysis.
    propensity
        How well a model tells the raw records from the released ones, by the columns of all analyses; None
        where the release lacks all of them.
    trials
        The settings that `tune` tried; none where nobody tuned.
    """

    _shown = ("analyses", "propensity")

    results: tuple[AnalysisResult, ...]
    propensity: Propensity | None
    trials: tuple[Trial, ...] = ()

    def __getitem__(self, name: str) -> AnalysisResult:
        return {each.analysis.name: each for each in self.results}[name]

    def sentences(self) -> list[str]:
        """Return a sentence for each analysis, and one for the propensity."""
        more = [] if self.propensity is None else [self.propensity.sentence]
        return [*(each.sentence for each in self.results), *more]

    @property
    def losses(self) -> dict[str, float]:
        """The loss of each analysis as a metric: 1 less its kept share, by ``analysis:NAME``."""
        return {f"analysis:{each.analysis.name}": 1 - each.kept for each in self.results}

    @property
    def remark(self) -> str:
        """Whether the setting was chosen by an analysis of the raw table, as a sentence of the verdict."""
        return " ".join(
            f"The setting was chosen among {each.analysis.tried:,} by how well each keeps the analysis "
            f"{each.analysis.name!r} of the raw table."
            for each in self.results
            if each.analysis.tried
        )

    def public(self) -> dict[str, Any]:
        """Return the public part: shares, without estimates of the raw table."""
        far = None if self.propensity is None else self.propensity._asdict()
        return {"analyses": [each.public() for each in self.results], "propensity": far}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, with the estimates of the raw table: it is for its owner alone."""
        return {
            **self.public(),
            **envelope("analyses"),
            "analyses": [each.to_dict() for each in self.results],
            **({"trials": [vars(trial) for trial in self.trials]} if self.trials else {}),
        }


@dataclass(frozen=True, eq=False)
class RawAnalyses:
    """Analyses of a raw table, with which those of its releases are compared.

    Attributes
    ----------
    analyses
        What was computed.
    sheet
        The columns of the raw table.
    designs
        How the sample of each analysis was drawn, by name.
    fits
        The fit of each analysis, by name.
    """

    analyses: tuple[Analysis, ...]
    sheet: RawSheet
    designs: Mapping[str, Design]
    fits: Mapping[str, Fit]

    @classmethod
    def of_table(cls, raw: Engine, schema: Schema, analyses: Iterable[Analysis]) -> RawAnalyses:
        """Compute analyses from a raw table.

        Parameters
        ----------
        raw
            The table; its rows may be anywhere.
        schema
            The roles of the columns.
        analyses
            What to compute, at least one.

        Raises
        ------
        InputError
            When the table cannot be read, or an analysis cannot be computed from it.
        MissingExtraError
            When statsmodels is not installed, or scikit-learn for a classifier.
        """
        analyses = check_analyses(analyses)
        sampling = next((each.name for each in schema.having("weight")), None)
        designs = {
            each.name: Design()
            if each.function is not None
            else Design(each.weights or sampling, each.strata, each.clusters)
            for each in analyses
        }
        columns = [name for each in analyses for name in (*each.columns, *designs[each.name].names())]
        every = list(dict.fromkeys(columns))
        for name in every:
            if name not in raw.columns:
                raise SchemaError(
                    f"analyses: there is no column {name!r}; {those_are(list(raw.columns), name)}"
                )
        sheet = RawSheet.of_table(raw, schema, every)
        fits = {each.name: fit(each, sheet, designs[each.name]) for each in analyses}
        return cls(analyses, sheet, designs, fits)

    def compare(self, released: Engine) -> AnalysisResults:
        """Compute the analyses from a release, and compare them.

        The two tables need not have the same rows: both are analysed as they stand, the release as whoever
        receives it would. So a release without the columns of weights, strata or clusters is analysed without
        them.
        """
        after = self.sheet.of_release(released)
        columns = dict.fromkeys(name for each in self.analyses for name in each.columns)
        results = tuple(self._result(each, after) for each in self.analyses)
        return AnalysisResults(results, propensity(self.sheet, after, list(columns)))

    def _result(self, analysis: Analysis, after: Sheet) -> AnalysisResult:
        """Fit an analysis to the release, which may not allow it."""
        raw, design = self.fits[analysis.name], self.designs[analysis.name]
        gone = [name for name in analysis.columns if name not in after.columns]
        if gone:
            problem = f"the release has no column {', '.join(map(repr, gone))}"
            return AnalysisResult(analysis, raw, None, problem)
        lost = [what for what, name in design._asdict().items() if name and name not in after.columns]
        remark = f"The release has no {' and no '.join(lost)}: its figures are without them." if lost else ""
        design = design._replace(**dict.fromkeys(lost))
        try:
            return AnalysisResult(analysis, raw, fit(analysis, after, design), remark=remark)
        except ParameterError as error:
            problem = str(error).removeprefix(f"analysis {analysis.name}: ")
            return AnalysisResult(analysis, raw, None, problem, remark)


def _entry(name: str, kept: Kept) -> dict[str, Any]:
    """Return an estimate before and after as plain data."""
    sides = {"before": kept.before, "after": kept.after}
    ends = ("value", "error", "low", "high")
    return {
        "estimate": name,
        **{f"{side}_{end}": getattr(each, end, None) for side, each in sides.items() for end in ends},
        "overlap": kept.overlap,
        "sign_kept": kept.sign,
        "significance_kept": kept.significant,
        "standardized_difference": kept.difference,
    }


def _part(term: str, kept: Mapping[str, Any]) -> str:
    """Describe the outcome of a term."""
    number, share = kept["estimates"], loss_in_words(kept["kept"])
    if kept["lost"] == number:
        return f"{term} is lost"
    if number > 1:
        signs = "" if kept["sign"] is None else f", {kept['sign']} of {number} signs"
        return f"{term} keeps {share} of its {number} intervals{signs}"
    if kept["sign"] is None:
        return f"{term} keeps {share} of its interval"
    if not kept["sign"]:
        return f"{term} changes its sign"
    return f"{term} keeps its sign, {share} of its interval" + (
        "" if kept["significant"] else ", but not its significance"
    )
