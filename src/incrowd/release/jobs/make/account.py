"""The account of a release: its sentences, and the document of its report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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
from incrowd.release.jobs.make.released_rows import ReleasedValues
from incrowd.release.jobs.make.table_treatments import treatment_entries, treatment_sentences
from incrowd.release.policy.policy import Policy
from incrowd_gate import wording
from incrowd_gate.wording import (
    NAMED_COLUMNS,
    at_most,
    in_words,
    percent,
    who_knows,
    wildcard_sentence,
)

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema
    from incrowd.core.table.sensitive import SensitiveCounts
    from incrowd.measures.privacy import ModelResult
    from incrowd.measures.utility import MetricResult
    from incrowd.release.jobs.make.suppressed_records import Suppression
    from incrowd.release.jobs.measure.assess import Assessment
    from incrowd.release.verification import ClauseResult
    from incrowd.search.lattice import SolutionSpace
    from incrowd_gate.points import Point
    from incrowd_gate.verdict import Verdict


_LEAST = 5
"""Records below which a bin before recoding is merged where no class size was asked for."""


class Accountable(Protocol):
    """The contents of an account, with the attributes of a `Release`."""

    @property
    def table(self) -> Any:
        """The released table."""

    @property
    def policy(self) -> Policy:
        """The policy of the release."""

    @property
    def recoding(self) -> Recoding:
        """The recoding."""

    @property
    def frequency(self) -> FrequencyTable:
        """The keys before recoding."""

    @property
    def before(self) -> Assessment:
        """The assessment of the raw table."""

    @property
    def privacy(self) -> Assessment:
        """The assessment of the released table."""

    @property
    def utility(self) -> Mapping[str, MetricResult]:
        """The result of each loss metric."""

    @property
    def suppression(self) -> Suppression:
        """The suppressed records, and the verdict of the models on them."""

    @property
    def values(self) -> ReleasedValues | None:
        """The verdict of the models on perturbed values as they are released."""

    @property
    def lattice(self) -> SolutionSpace | None:
        """The nodes that the search visited."""

    @property
    def telling(self) -> Sequence[str]:
        """Quasi-identifiers that the order of the rows reveals."""

    @property
    def dropped(self) -> Sequence[str]:
        """The columns of the raw table that are left out."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the release."""

    @property
    def clauses(self) -> Sequence[ClauseResult]:
        """The judgement of each clause of the profile."""


def sentences_of(release: Accountable, *, conditions: bool = True) -> list[str]:
    """Describe the contents of a release, the value of each model of the policy, and the losses.

    With `conditions` each model that was asked for has a sentence. No value of the table is in them.
    """
    after, schema = release.privacy, release.policy.schema
    return [
        _records_sentence(release),
        *release.suppression.sentences(),
        *people_sentences(after.people),
        *(model_sentence(measured, after.quasi) for measured in _limited_models(release) if conditions),
        *_clause_sentences(release),
        *_risk_sentences(release),
        *_loss_sentences(release),
        *ends_sentences(release.recoding, release.policy),
        *_unchanged_sentences(release),
        *treatment_sentences(schema, release.policy.judge),
        *(() if release.values is None else release.values.sentences()),
        *_order_sentences(release),
        *value_warnings(release.frequency, schema),
        _dropped_sentence(schema) + wildcard_sentence(after.wildcards),
    ]


def _clause_sentences(release: Accountable) -> list[str]:
    """Count the clauses by state, and name the clauses that are not met."""
    chosen = release.policy.profile
    name = "The context" if chosen is None else chosen.profile.full_name
    if chosen is None and release.policy.context is None:
        return []
    if not release.clauses:
        return [
            f"{name}: its clauses are not judged here; incrowd verify judges them on the written release."
        ]
    numbers = Counter(each.state for each in release.clauses)
    counts = ", ".join(f"{number} {state}" for state, number in numbers.items())
    unmet = [each.id for each in release.clauses if each.state == "not met"]
    return [f"{name}: {len(release.clauses)} clauses, {counts}{f' ({named(unmet, 30)})' if unmet else ''}."]


def _limited_models(release: Accountable) -> list[ModelResult]:
    return [measured for measured in release.privacy.results.asked if measured.limit is not None]


def _records_sentence(release: Accountable) -> str:
    after = release.privacy
    share = after.suppressed / after.records if after.records else 0.0
    # The attacker of the next sentence knows the quasi-identifiers, where they are few.
    many = f" Quasi-identifiers are {', '.join(after.quasi)}." if len(after.quasi) > NAMED_COLUMNS else ""
    return (
        f"The table has {after.records:,} records{of_people(after.people)}; {after.suppressed:,} of them "
        f"({percent(share)}) are suppressed.{many}"
    )


def _risk_sentences(release: Accountable) -> Iterator[str]:
    after, before = release.privacy, release.before
    risk, raw = after.risk.get("prosecutor"), before.risk.get("prosecutor")
    if risk and raw:
        yield (
            f"Whoever knows that a person is in the table, and the person's {in_words(after.quasi)}, and "
            f"nothing else, finds the right {'record' if after.people is None else 'person'} with a "
            "probability of at most "
            f"{at_most(risk['max'])} ({percent(risk['mean'])} on average); before {at_most(raw['max'])} "
            f"({percent(raw['mean'])})."
        )
        suppression = release.suppression
        if suppression.records > suppression.left_out and suppression.size:
            yield (
                f"Of those whose records are suppressed ({suppression.records:,}), the right one is found "
                f"with a probability of {at_most(1 / suppression.size)}."
            )
    yield from survey_sentences(after.estimates, after.risk, after.quasi, before.risk)
    disclosure = after.risk.get("attribute-disclosure")
    if disclosure:
        whom = "records" if after.people is None else "people at most"
        lists = any(attribute.parts is not None for attribute in release.policy.schema.sensitive)
        guessed, single = ("part", "of which all share a part") if lists else ("value", "with a single value")
        yield (
            f"By guessing the most frequent sensitive {guessed}, {who_knows(after.quasi)}, is right for "
            f"{percent(disclosure['mean'])} of the {whom} (before {percent(disclosure['baseline'])}); "
            f"{percent(disclosure['homogeneous'])} are in classes {single}."
        )


def _loss_sentences(release: Accountable) -> Iterator[str]:
    loss = release.utility.get("loss")
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


def _unchanged_sentences(release: Accountable) -> Iterator[str]:
    treated = {each.name for each in release.policy.schema.treated}
    columns = [
        column["name"]
        for column in _released_columns(release)
        if column["role"] != "quasi" and column["name"] not in treated
    ]
    if columns:
        yield (
            f"Released as they are: {', '.join(columns)}. The models protect them only where they are named "
            "above."
        )


def _order_sentences(release: Accountable) -> Iterator[str]:
    if release.telling:
        yield (
            f"The rows are in the order of {named(release.telling)}, so the rows around a row tell more of "
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


def _released_columns(release: Accountable) -> list[dict[str, str]]:
    """Return name and role of each released column."""
    schema = release.policy.schema
    return [
        {"name": name, "role": schema[name].role if name in schema else "insensitive"}
        for name in engine_for(release.table).columns
    ]


def document_of(
    release: Accountable,
    *,
    internal: bool = False,
    file: str | os.PathLike[str] | None = None,
    recipient: str = "",
    purpose: str = "",
    owner: str = "",
    attacks: Sequence[Any] = (),
) -> dict[str, Any]:
    """Return the report of a release as plain data, with `internal` exact and with raw values.

    The other parameters are those of `Release.report`.
    """
    after, before, policy = release.privacy, release.before, release.policy
    shield: Callable[[Any], Any] = (lambda exact: exact) if internal else rounded
    models = _limited_models(release)
    sizes = [int(model.settings()["k"]) for model in policy.models if model.name == "k-anonymity"]
    floor = 0 if internal else max([_LEAST, *sizes])
    suppression = release.suppression
    columns = [column["name"] for column in _released_columns(release)]
    treatments = treatment_entries(policy.schema) if policy.schema.treated else []
    return {
        **envelope("report"),
        "kind": "release",
        "internal": internal,
        "title": "Release of an anonymized table",
        "verdict": release.verdict.to_dict(),
        **({"clauses": [asdict(each) for each in release.clauses]} if release.clauses else {}),
        "board": {
            "cards": cards_of(after, before, release.utility.get("loss"), suppression.records),
            "table": [*file_facts(file), *table_facts(after, policy.schema, columns, suppression.left_out)],
            "audience": audience_facts(policy, after, recipient, purpose, owner),
            "left_out": left_out(release.dropped, {each["name"]: each["does"] for each in treatments}),
            "decisions": decision_facts(policy, suppression.share(after.records)),
        },
        "attacks": [attack.to_dict() for attack in attacks],
        "sentences": sentences_of(release),
        "wildcards": policy.wildcards,
        "records": after.records,
        "suppressed": after.suppressed,
        "suppression": suppression.to_dict(),
        "left_out": suppression.left_out,
        "columns": {"released": _released_columns(release), "dropped": _count_dropped(policy.schema)},
        **({"treatments": treatments} if treatments else {}),
        "models": [model_entry(measured, cells=True) for measured in models],
        **({} if release.values is None else {"released_values": release.values.to_dict()}),
        "measured": [
            model_entry(measured, cells=False) for measured in after.privacy if measured.limit is None
        ],
        "loss": shield([_loss_entry(lost) for lost in release.utility.values()]),
        "risk": {"before": shield(dict(before.risk)), "after": dict(after.risk)},
        "classes": {"before": shield(before.size_entry()), "after": after.size_entry()},
        **people_entry(before=before.people, after=after.people),
        **({} if after.estimates is None else {"estimated": after.estimates.to_dict()}),
        "attributes": [
            attribute_entry(j, domain, release.frequency, release.recoding, floor, internal=internal)
            for j, domain in enumerate(release.frequency.domains)
        ],
        "recoding": {"kind": release.recoding.kind, **release.recoding.decisions()},
        "front": None if release.lattice is None else shield(release.lattice.front_entries()),
        "policy": _policy_entry(policy),
        "reproduce": versions(policy),
    }


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
            yield wording.clause(each.id, each.text, each.detail, unanswered=each.unanswered)
    if not clauses and (policy.profile is not None or policy.context is not None):
        name = "context" if policy.profile is None else policy.profile.profile.full_name
        yield wording.clause(
            name, "Its clauses are judged on a written file.", "verify the release", unanswered=True
        )


_OF_RAW = ("before", "utility", "search")
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
        return replace(attribute.unspelled(), hierarchy=None, kind="auto")
    totals = zip(counts.domain.values, counts.totals.tolist(), strict=True)
    released = [value for value, records in totals if records and value is not None]
    return replace(attribute, hierarchy=tree.restricted(released) if released else None)
