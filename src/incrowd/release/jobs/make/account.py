"""The account of a release: sentences, and the document of the report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core import markup
from incrowd.core.documents import envelope, loss_in_words, rounded
from incrowd.core.errors import TableError, named, setting
from incrowd.core.hierarchy import Builder
from incrowd.core.io.scratch import PrivateFolder
from incrowd.core.recoding import SUPPRESSED, effective_style
from incrowd.core.table.schema import Attribute
from incrowd.engines import engine_for
from incrowd.release.accounts.bins import attribute_entry
from incrowd.release.accounts.board import (
    audience_facts,
    cards_of,
    decision_facts,
    file_facts,
    left_out,
    table_facts,
)
from incrowd.release.accounts.people import of_people, people_entry, people_sentences, survey_sentences
from incrowd.release.accounts.statements import model_entry, model_sentence, versions
from incrowd.release.accounts.value_warnings import value_warnings
from incrowd.release.jobs.make.decision import Decision
from incrowd.release.jobs.make.leaving_rows import LeavingRows
from incrowd.release.jobs.make.released_rows import ReleasedValues
from incrowd.release.jobs.make.table_treatments import treatment_entries, treatment_sentences
from incrowd.release.policy.policy import Policy, terms_of
from incrowd.release.report.trials import entries_of
from incrowd_gate import wording
from incrowd_gate.points import answered
from incrowd_gate.verdict import Verdict
from incrowd_gate.wording import (
    NAMED_COLUMNS,
    at_most,
    in_words,
    percent,
    who_knows,
    wildcard_sentence,
)

if TYPE_CHECKING:
    from incrowd.core.progress import Progress
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema
    from incrowd.core.table.sensitive import SensitiveCounts
    from incrowd.measures.privacy import ModelResult
    from incrowd.measures.utility import MetricResult
    from incrowd.release.analyses.measure import AnalysisResults
    from incrowd.release.jobs.measure.assess import Assessment
    from incrowd.release.verification import ClauseResult
    from incrowd_gate.points import Point


_LEAST = 5
"""Records below which a bin before recoding is merged where no class size was asked for."""


@dataclass(frozen=True, kw_only=True)
class Account(Decision, LeavingRows):
    """The account of a decision and of the leaving rows: figures, points, the verdict, the report.

    Attributes
    ----------
    privacy
        The released table, measured anew.
    utility
        What was lost, per metric; each is measured when it is first read.
    seconds
        Wall time per stage.
    points
        Dangers and losses that somebody has to answer for; `verdict` has them, with the profile's clauses.
    values
        What the models say of perturbed sensitive values as they are released; None where nothing is
        perturbed that they look at.
    telling
        The columns that the order of the rows tells, if it was kept all the same.
    dropped
        The columns of the raw table that are left out.
    analyses
        What the release keeps of the policy's analyses; None where the policy has none.
    """

    privacy: Assessment
    utility: Mapping[str, MetricResult]
    seconds: dict[str, float]
    points: tuple[Point, ...] = ()
    values: ReleasedValues | None = None
    telling: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    analyses: AnalysisResults | None = None
    _measure_before: Callable[[], Assessment] = field(compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Store the figures of the raw table in place of the function that measures the table."""
        before = self.before
        return self.__dict__ | {"before": before, "_measure_before": None}

    @cached_property
    def before(self) -> Assessment:
        """The assessment of the raw table, measured on the first read if models need class sizes alone."""
        return self._measure_before()

    @cached_property
    def clauses(self) -> tuple[ClauseResult, ...]:
        """The verifier's judgement of each clause of the policy's profile."""
        return clause_results(self.policy, self._write)

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict on the release: holds, open or broken, with the points."""
        points = (*self.points, *points_of_clauses(self.policy, self.clauses))
        remark = "" if self.analyses is None else self.analyses.remark
        return Verdict(answered(points, self.policy.accepted), remark=remark)

    @property
    def risk(self) -> Mapping[str, dict[str, float]]:
        """Figures per risk model of the released table."""
        return self.privacy.risk

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the table.

        Its figures are exact, and those of raw values tell such: do not publish it. `save` rounds them.
        """
        return {
            **envelope("release"),
            **terms_of(self.policy),
            "recoding": {"kind": self.recoding.kind, **self.recoding.decisions()},
            "before": self.before.to_dict(cells=False),
            "after": self.privacy.to_dict(cells=False),
            "suppression": self.suppression.to_dict(),
            "left_out": self.left_out,
            "utility": [lost.to_dict() for lost in self.utility.values()],
            "verdict": self.verdict.to_dict(),
            **({"clauses": [each.to_dict() for each in self.clauses]} if self.clauses else {}),
            **({} if self.values is None else {"released_values": self.values.to_dict()}),
            **({} if self.lattice is None else {"search": self.lattice.summary()}),
            **({} if self.analyses is None else self.analyses.public()),
            **({"treatments": treatment_entries(schema)} if (schema := self.policy.schema).treated else {}),
            "seconds": self.seconds,
        }

    def sentences(self, *, conditions: bool = True) -> list[str]:
        """Describe the contents of the release, each model of the policy, and the losses.

        The first is about the records, then comes one for each condition. No value of the table is in them.

        Parameters
        ----------
        conditions
            Whether the sentences of the single conditions are among them.
        """
        after, schema = self.privacy, self.policy.schema
        return [
            _records_sentence(self),
            *self.suppression.sentences(),
            *people_sentences(after.people),
            *(model_sentence(measured, after.quasi) for measured in _limited_models(self) if conditions),
            *_clause_sentences(self),
            *_risk_sentences(self),
            *_loss_sentences(self),
            *(() if self.analyses is None else self.analyses.sentences()),
            *ends_sentences(self.recoding, self.policy),
            *_unchanged_sentences(self),
            *treatment_sentences(schema, self.policy.judge),
            *(() if self.values is None else self.values.sentences()),
            *_order_sentences(self),
            *value_warnings(self.frequency, schema),
            _dropped_sentence(schema) + wildcard_sentence(after.wildcards),
        ]

    def document(
        self,
        *,
        internal: bool = False,
        file: str | os.PathLike[str] | None = None,
        recipient: str = "",
        purpose: str = "",
        owner: str = "",
        attacks: Sequence[Any] = (),
    ) -> dict[str, Any]:
        """Return the report of a release as plain data, with the parameters of `report`."""
        after, before, policy = self.privacy, self.before, self.policy
        shield: Callable[[Any], Any] = (lambda exact: exact) if internal else rounded
        models = _limited_models(self)
        floor = 0 if internal else max(_LEAST, policy.k)
        suppression = self.suppression
        columns = [column["name"] for column in _released_columns(self)]
        treatments = treatment_entries(policy.schema) if policy.schema.treated else []
        return {
            **envelope("report"),
            "kind": "release",
            "internal": internal,
            "title": "Release of an anonymized table",
            "verdict": self.verdict.to_dict(),
            **({"clauses": [each.to_dict() for each in self.clauses]} if self.clauses else {}),
            "board": {
                "cards": cards_of(after, before, self.utility.get("loss"), suppression.records),
                "table": [
                    *file_facts(file),
                    *table_facts(after, policy.schema, columns, suppression.left_out),
                ],
                "audience": audience_facts(policy, after, recipient, purpose, owner),
                "left_out": left_out(self.dropped, {each["name"]: each["does"] for each in treatments}),
                "decisions": decision_facts(policy, suppression.share(after.records)),
            },
            "attacks": [attack.to_dict() for attack in attacks],
            "trials": [] if self.analyses is None else shield(entries_of(self.analyses.trials)),
            "sentences": self.sentences(),
            "wildcards": policy.wildcards,
            "records": after.records,
            "suppressed": after.suppressed,
            "suppression": suppression.to_dict(),
            "left_out": suppression.left_out,
            "columns": {"released": _released_columns(self), "dropped": _count_dropped(policy.schema)},
            **({"treatments": treatments} if treatments else {}),
            "models": [model_entry(measured, cells=True) for measured in models],
            **({} if self.values is None else {"released_values": self.values.to_dict()}),
            "measured": [
                model_entry(measured, cells=False) for measured in after.privacy if measured.limit is None
            ],
            "loss": shield([_loss_entry(lost) for lost in self.utility.values()]),
            "risk": {"before": shield(dict(before.risk)), "after": dict(after.risk)},
            "classes": {"before": shield(before.size_entry()), "after": after.size_entry()},
            **people_entry(before=before.people, after=after.people),
            **({} if after.estimates is None else {"estimated": after.estimates.to_dict()}),
            "attributes": [
                attribute_entry(j, domain, self.frequency, self.recoding, floor, internal=internal)
                for j, domain in enumerate(self.frequency.domains)
            ],
            "recoding": {"kind": self.recoding.kind, **self.recoding.decisions()},
            "front": None if self.lattice is None else shield(self.lattice.front_entries()),
            "policy": _policy_entry(policy),
            "reproduce": versions(policy),
        }

    def _repr_html_(self) -> str:
        from incrowd.release.report.charts import losses, svg_if_drawn
        from incrowd.release.report.details import losses_of

        document = self.document()
        limits = [
            (
                each["model"] + (f" of {each['attribute']}" if each["attribute"] else ""),
                f"{each['sign']} {each['asked']:g}",
                each["reached"],
                "holds" if each["holds"] else "fails",
            )
            for each in document["models"]
        ]
        shown = losses_of(document)
        return (
            self.verdict._repr_html_()
            + markup.cards(document["board"]["cards"])
            + (svg_if_drawn(losses(shown)) if shown else "")
            + markup.table("What was asked for", ("model", "asked", "reached", "result"), limits)
        )

    def _write(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        escape_formulas: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Write the table as `write` does, whatever the verdict."""

        def check(written: Any) -> None:
            self._judge_rows(written, self._assessment(written, judged_alone=True))

        self._write_rows(path, check, force=force, escape_formulas=escape_formulas, progress=progress)

    def _judge_rows(self, written: Any, measured: Assessment) -> None:
        """Refuse a written table with classes or perturbed values that fail the policy."""
        self._judge(written, measured, self.suppression)
        if self.values is not None:
            self.values.check(written, self.driver_keys)


def _clause_sentences(account: Account) -> list[str]:
    """Count the clauses by state, and name the clauses that are not met."""
    chosen = account.policy.profile
    name = "The context" if chosen is None else chosen.profile.full_name
    if chosen is None and account.policy.context is None:
        return []
    if not account.clauses:
        return [
            f"{name}: its clauses are not judged here; incrowd verify judges them on the written account."
        ]
    numbers = Counter(each.state for each in account.clauses)
    counts = ", ".join(f"{number} {state}" for state, number in numbers.items())
    unmet = [each.id for each in account.clauses if each.state == "not met"]
    return [f"{name}: {len(account.clauses)} clauses, {counts}{f' ({named(unmet, 30)})' if unmet else ''}."]


def _limited_models(account: Account) -> list[ModelResult]:
    return [measured for measured in account.privacy.results.asked if measured.limit is not None]


def _records_sentence(account: Account) -> str:
    after = account.privacy
    share = after.suppressed / after.records if after.records else 0.0
    # The attacker of the next sentence knows the quasi-identifiers, where they are few.
    many = f" Quasi-identifiers are {', '.join(after.quasi)}." if len(after.quasi) > NAMED_COLUMNS else ""
    return (
        f"The table has {after.records:,} records{of_people(after.people)}; {after.suppressed:,} of them "
        f"({percent(share)}) are suppressed.{many}"
    )


def _risk_sentences(account: Account) -> Iterator[str]:
    after, before = account.privacy, account.before
    risk, raw = after.risk.get("prosecutor"), before.risk.get("prosecutor")
    if risk and raw:
        yield (
            f"Whoever knows that a person is in the table, and the person's {in_words(after.quasi)}, and "
            f"nothing else, finds the right {'record' if after.people is None else 'person'} with a "
            "probability of at most "
            f"{at_most(risk['max'])} ({percent(risk['mean'])} on average); before {at_most(raw['max'])} "
            f"({percent(raw['mean'])})."
        )
        suppression = account.suppression
        if suppression.records > suppression.left_out and suppression.size:
            yield (
                f"Of those whose records are suppressed ({suppression.records:,}), the right one is found "
                f"with a probability of {at_most(1 / suppression.size)}."
            )
    yield from survey_sentences(after.estimates, after.risk, after.quasi, before.risk)
    disclosure = after.risk.get("attribute-disclosure")
    if disclosure:
        whom = "records" if after.people is None else "people at most"
        lists = any(attribute.parts is not None for attribute in account.policy.schema.sensitive)
        guessed, single = ("part", "of which all share a part") if lists else ("value", "with a single value")
        yield (
            f"By guessing the most frequent sensitive {guessed}, {who_knows(after.quasi)}, is right for "
            f"{percent(disclosure['mean'])} of the {whom} (before {percent(disclosure['baseline'])}); "
            f"{percent(disclosure['homogeneous'])} are in classes {single}."
        )


def _loss_sentences(account: Account) -> Iterator[str]:
    loss = account.utility.get("loss")
    if loss:
        weighted = ""
        if loss.weighted is not None:
            weighted = f" By the sampling weights it is {loss_in_words(loss.weighted)}."
        yield (
            f"A released cell covers on average {loss_in_words(loss.value)} of its column "
            f"(0% is the raw table).{weighted}"
        )


def ends_sentences(recoding: Recoding, policy: Policy) -> Iterator[str]:
    """Say whether ends of ranges, and means, are values of people."""
    styles = {each.name: each.output or policy.output for each in policy.schema.quasi}
    columns: dict[tuple[bool, bool], list[str]] = {}
    for domain, cells in zip(recoding.domains, recoding.cells, strict=True):
        style = effective_style(styles[domain.name], domain)
        wide = any(
            lo < hi and label != SUPPRESSED
            for lo, hi, label in zip(cells.lo.tolist(), cells.hi.tolist(), cells.labels, strict=True)
        )
        if domain.ordered and style in ("range", "mean") and wide and recoding.kind != "full-domain":
            columns.setdefault((style == "mean", domain.grid is not None), []).append(domain.name)
    sentences = {
        (False, True): "The ends of the ranges of {} are rounded outward, and open where the column ends.",
        (False, False): "The ends of the ranges of {} are exact: they are values of people.",
        (True, True): "The means of {} are rounded, and none is of fewer than three known values.",
        (True, False): "The means of {} are exact: who knows the other values of a class computes the last.",
    }
    yield from (
        sentence.format(named(columns[case])) for case, sentence in sentences.items() if case in columns
    )


def _unchanged_sentences(account: Account) -> Iterator[str]:
    treated = {each.name for each in account.policy.schema.treated}
    columns = [
        column["name"]
        for column in _released_columns(account)
        if column["role"] != "quasi" and column["name"] not in treated
    ]
    if columns:
        yield (
            f"Released as they are: {', '.join(columns)}. The models protect them only where they are named "
            "above."
        )


def _order_sentences(account: Account) -> Iterator[str]:
    if account.telling:
        yield (
            f"The rows are in the order of {named(account.telling)}, so the rows around a row tell more of "
            f"it than its cells do. Leave {setting('keep_order', '--keep-order or keep_order = true')} out."
        )


def _dropped_sentence(schema: Schema) -> str:
    number = _count_dropped(schema)
    if not number:
        return ""
    return f"{number} identifying {'columns were' if number > 1 else 'column was'} left out. "


def _count_dropped(schema: Schema) -> int:
    """Count the columns that are not released."""
    return sum(not each.leaves for each in schema.attributes)


def _released_columns(account: Account) -> list[dict[str, str]]:
    """Return name and role of each released column."""
    schema = account.policy.schema
    return [
        {"name": name, "role": schema[name].role if name in schema else "insensitive"}
        for name in engine_for(account.table).columns
    ]


def _loss_entry(lost: MetricResult) -> dict[str, Any]:
    return {
        "metric": lost.metric,
        "value": lost.value,
        "normalized": lost.normalized,
        **({} if lost.weighted is None else {"weighted": lost.weighted}),
        "per_attribute": lost.per_attribute or {},
    }


def _policy_entry(policy: Policy) -> dict[str, Any]:
    """Describe the policy, without lists of values, which a hierarchy may hold."""
    return {
        "models": [str(model) for model in policy.models],
        "algorithm": str(policy.algorithm),
        "max_suppression": policy.max_suppression,
        "suppressed_records": policy.suppressed,
        "output": policy.output,
        "ends": policy.ends,
        "keep_order": policy.keep_order,
        "wildcards": policy.wildcards,
        "columns": [
            {
                "name": attribute.name,
                "role": attribute.role,
                "kind": attribute.kind,
                "hierarchy": None
                if attribute.hierarchy is None
                else type(attribute.hierarchy).__name__.lower(),
                "weight": attribute.weight,
                **({} if attribute.ends is None else {"ends": attribute.ends}),
            }
            for attribute in policy.schema.attributes
            if attribute.leaves
        ],
    }


def clause_results(policy: Policy, write: Callable[[Path], None]) -> tuple[ClauseResult, ...]:
    """Write a release into a private folder, and let the verifier judge the clauses there.

    A release that cannot be written as a file, as one in a database, has none here: `verify` judges it.

    Parameters
    ----------
    policy
        Its policy.
    write
        Writes the released table to a path.
    """
    if policy.profile is None and policy.context is None:
        return ()
    # Only a job with a profile loads the verifier.
    from incrowd.release.verification import clauses_of

    folder = PrivateFolder()
    try:
        write(folder.path / "release.parquet")
        # The files that the profile names lie beside the policy that chose it, and not here.
        replace(policy, profile=None).write(folder.path / "policy.toml")
        return clauses_of(folder.path / "release.parquet", folder.path / "policy.toml", policy.profile)
    except TableError:
        return ()
    finally:
        folder.remove()


def points_of_clauses(policy: Policy, clauses: Sequence[ClauseResult]) -> Iterator[Point]:
    """Return a point for each clause that is not met or has no answer.

    Parameters
    ----------
    clauses
        The judgement of the clauses of the policy; none where nobody judged them.
    """
    for each in clauses:
        if each.state == "not met":
            yield each.point
    if not clauses and (policy.profile is not None or policy.context is not None):
        name = "context" if policy.profile is None else policy.profile.profile.full_name
        yield wording.clause(
            name, "Its clauses are judged on a written file.", "verify the release", unanswered=True
        )


_OF_RAW = ("before", "utility", "search", "analyses", "propensity")
"""Parts of an account that are measured on raw values."""


def published_account(account: dict[str, Any]) -> dict[str, Any]:
    """Return an account with two significant digits of all figures measured on raw values."""
    return {name: rounded(part) if name in _OF_RAW else part for name, part in account.items()}


def published_policy(policy: Policy, frequency: FrequencyTable) -> Policy:
    """Return the part of a policy that an auditor needs to check the released table.

    The leaves of a tree are raw values, also those that nobody in the table has. A quasi-identifier keeps its
    hierarchy where that is a recipe that names no values. A sensitive attribute is released as it is, and
    t-closeness may need its tree: it keeps the part above its released values, with all heights.

    Parameters
    ----------
    policy
        What the release satisfies.
    frequency
        The table, as it was counted.
    """
    counts = {column.domain.name: column for column in frequency.sensitive}
    return replace(
        policy,
        # A formula may name values, and no auditor needs it.
        analyses=(),
        profile=None if policy.profile is None else policy.profile.published(),
        schema=policy.schema.with_attributes(
            _published_attribute(attribute, counts.get(attribute.name))
            for attribute in policy.schema.attributes
        ),
    )


def _published_attribute(attribute: Attribute, counts: SensitiveCounts | None) -> Attribute:
    treatment = attribute.treatment
    if treatment is not None:
        attribute = replace(attribute, treatment=treatment.published())
    return _published_hierarchy(attribute, counts)


def _published_hierarchy(attribute: Attribute, counts: SensitiveCounts | None) -> Attribute:
    hierarchy = attribute.hierarchy
    if hierarchy is None or (isinstance(hierarchy, Builder) and not hierarchy.names_values):
        return attribute
    tree = None if counts is None or attribute.role != "sensitive" else counts.domain.hierarchy
    if tree is None or counts is None:
        # Without the tree its labels are known as no numbers, so nothing shall say that the cells are.
        if attribute.role != "quasi":
            return replace(attribute, hierarchy=None)
        return replace(
            attribute.unspelled(), hierarchy=None, kind="set" if attribute.kind == "set" else "auto"
        )
    totals = zip(counts.domain.values, counts.totals.tolist(), strict=True)
    released = [value for value, records in totals if records and value is not None]
    return replace(attribute, hierarchy=tree.restricted(released) if released else None)
