"""The gate before release: findings that a reader should look at although every model holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.accounts.statements import percent
from incrowd.drafting.functional_dependencies import determined, part_of
from incrowd.drafting.repeats import repeated_id_words, repeated_ids
from incrowd.errors import InfeasibleError, setting
from incrowd.lazy import np, pl
from incrowd.presentation.markup import InNotebooks
from incrowd.privacy.base import SensitiveModel
from incrowd.recoding import BLANKED_ABOVE, blanked_shares

if TYPE_CHECKING:
    from incrowd.engines import Engine
    from incrowd.policy.policy import Policy
    from incrowd.privacy import PrivacyModel
    from incrowd.recoding import Recoding
    from incrowd.table.frequency import FrequencyTable

_MANY = 0.2
"""Share of the records from which a finding is made: a fifth."""
_LOOKED_AT = 50_000
"""Rows by which a column is first looked at; only where they show something, all rows are counted."""
_PAIRED = 12
"""Columns with the most values that are looked at in pairs, and rows of them."""
_PAIRED_ROWS = 20_000


@dataclass(frozen=True)
class Finding(InNotebooks):
    """Something that a release may give away although every model holds.

    Attributes
    ----------
    name
        Which finding it is; `incrowd.policy.accepted.FINDINGS` has all of them.
    columns
        The columns that it is about; none where it is about the records.
    share
        Share of the records that it concerns, 0..1.
    text
        A sentence with the figures. It names columns and no value.
    way_out
        A sentence on what helps.
    why
        Why the policy accepts it; None where it does not.
    """

    _shown = ("finding", "columns", "text", "way_out", "accepted")

    name: str
    columns: tuple[str, ...]
    share: float
    text: str = field(repr=False)
    way_out: str = field(repr=False)
    why: str | None = field(default=None, repr=False)

    def sentence(self) -> str:
        """Return the finding as one text: its name, the figures, and the way out or the reason."""
        if self.why is not None:
            return f"{self.name}: {self.text} Accepted: {self.why}"
        return f"{self.name}: {self.text} {self.way_out}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: no value of the table is in it."""
        return {
            "finding": self.name,
            "columns": list(self.columns),
            "share": self.share,
            "text": self.text,
            "way_out": self.way_out,
            "accepted": self.why,
        }


class Evidence(NamedTuple):
    """The input of findings.

    Attributes
    ----------
    came, leaving
        The engines of the rows as they came, and of the rows with their treatments.
    frequency, recoding
        The keys and their cells.
    suppressed
        Share of the records that are suppressed.
    """

    came: Engine
    leaving: Engine
    policy: Policy
    frequency: FrequencyTable
    recoding: Recoding
    suppressed: float

    @property
    def as_they_are(self) -> list[str]:
        """The columns that leave as they came in, and that no model looks at."""
        schema = self.policy.schema
        found = []
        for name in self.leaving.columns:
            if name not in schema:
                if schema.unlisted == "keep":
                    found.append(name)
                continue
            if schema[name].role == "insensitive" and schema[name].treatment is None:
                found.append(name)
        return found


def findings_of(evidence: Evidence) -> tuple[Finding, ...]:
    """Return all findings, in the order of `FINDINGS`; those that the policy accepts have its reason."""
    found = [finding for check in _CHECKS for finding in check(evidence)]
    return answered(found, evidence.policy)


def answered(findings: Iterable[Finding], policy: Policy) -> tuple[Finding, ...]:
    """Return findings with the reasons for which a policy accepts them."""
    return tuple(_answered(finding, policy) for finding in findings)


def unanswered(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that the policy does not accept."""
    return [finding for finding in findings if finding.why is None]


def refuse_unanswered(findings: Sequence[Finding]) -> None:
    """Refuse a release with findings that its policy does not accept.

    Raises
    ------
    InfeasibleError
        With each of them, and the lines that would accept the first.
    """
    open_ones = unanswered(findings)
    if not open_ones:
        return
    first = open_ones[0]
    column = f', column = "{first.columns[0]}"' if first.columns else ""
    raise InfeasibleError(
        f"nothing was released: {len(open_ones)} {'finding is' if len(open_ones) == 1 else 'findings are'} "
        f"not answered: {' '.join(finding.sentence() for finding in open_ones)} Change the policy, or accept "
        f'each there: [[accepted]] finding = "{first.name}"{column}, why = "..."'
    )


def _answered(finding: Finding, policy: Policy) -> Finding:
    for answer in policy.accepted:
        about = not finding.columns or answer.column in finding.columns
        if answer.finding == finding.name and about:
            return replace(finding, why=answer.why)
    return finding


# --- columns that are released as they are ------------------------------------------------------------


def _unique_columns(evidence: Evidence) -> Iterator[Finding]:
    for name in evidence.as_they_are:
        share = _lone_share(evidence, [name])
        if share is not None and share >= _MANY:
            yield Finding(
                "unique-column",
                (name,),
                share,
                f"{name} is released as it is, and {percent(share)} of the records have a value in it that "
                "no other record has. Whoever knows the value finds the record.",
                "Leave the column out, make it a quasi-identifier, or give it a treatment.",
            )


def _unique_pairs(evidence: Evidence) -> Iterator[Finding]:
    """Find the pairs of columns, neither of them unique, that single out many records."""
    heads = {name: evidence.leaving.head(name, _PAIRED_ROWS) for name in evidence.as_they_are}
    columns = {name: head for name, head in heads.items() if head is not None and _lone_part([head]) < _MANY}
    sizes = {name: column.n_unique() for name, column in columns.items()}
    most = set(sorted(sizes, key=lambda name: -sizes[name])[:_PAIRED])
    for pair in combinations([name for name in columns if name in most], 2):
        one, other = pair
        if sizes[one] * sizes[other] < _MANY * len(columns[one]):
            continue
        if _lone_part([columns[one], columns[other]]) < _MANY:
            continue
        share = _lone_share(evidence, pair)
        if share is not None and share >= _MANY:
            yield Finding(
                "unique-together",
                pair,
                share,
                f"{one} and {other} are released as they are, and {percent(share)} of the records have "
                "values in them that no other record has together. Whoever knows both finds the record.",
                "Make one of them a quasi-identifier, give it a treatment, or leave it out.",
            )


def _lone_share(evidence: Evidence, columns: Sequence[str]) -> float | None:
    """Return the share of the records whose values in some columns no other record has.

    None where the engine cannot say. A share below `_MANY` may be one of the first rows alone.
    """
    heads = [head for name in columns if (head := evidence.leaving.head(name, _LOOKED_AT)) is not None]
    if len(heads) == len(columns):
        share = _lone_part(heads)
        if share < _MANY or len(heads[0]) < _LOOKED_AT:
            return share
    lone = evidence.leaving.lone_rows(columns)
    return None if lone is None else lone / max(evidence.frequency.rows, 1)


def _lone_part(columns: Sequence[pl.Series]) -> float:
    """Return the share of rows whose values in all columns no other row has."""
    rows = pl.DataFrame([column.alias(f"c{place}") for place, column in enumerate(columns)])
    sizes = rows.group_by(pl.all()).len("rows")
    return sizes.filter(pl.col("rows") == 1).height / max(rows.height, 1)


# --- the other findings -------------------------------------------------------------------------------


def unprotected(models: Iterable[PrivacyModel], sensitive: Sequence[str]) -> list[str]:
    """Return those sensitive attributes that no model looks at, also not against an attacker."""
    parts = [part for model in models for part in getattr(model, "models", (model,))]
    named = {getattr(part, "attribute", None) for part in parts if isinstance(part, SensitiveModel)}
    return [] if None in named else [name for name in sensitive if name not in named]


def _unprotected(evidence: Evidence) -> Iterator[Finding]:
    attributes = {each.name: j for j, each in enumerate(evidence.frequency.sensitive)}
    left = unprotected(evidence.policy.models, list(attributes))
    if not left:
        return
    classes = evidence.recoding.classes(evidence.frequency)
    for name in left:
        sizes = classes.sizes
        alike = int(sizes[classes.most_frequent(attributes[name]) == sizes].sum())
        share = alike / max(int(np.sum(sizes)), 1)
        lists = evidence.frequency.sensitive[attributes[name]].domain.parts is not None
        common = "share a part" if lists else "have one value"
        yield Finding(
            "unprotected-sensitive",
            (name,),
            share,
            f"{name} is sensitive, and no model protects it: {percent(share)} of the records are in classes "
            f"in which all {common} of it.",
            "Add a model of sensitive values, such as l-diversity or t-closeness.",
        )


def _derived(evidence: Evidence) -> Iterator[Finding]:
    quasi = [attribute.name for attribute in evidence.policy.schema.quasi]
    others = evidence.as_they_are
    heads = {name: evidence.came.head(name, _PAIRED_ROWS) for name in [*quasi, *others]} if others else {}
    table = {name: head for name, head in heads.items() if head is not None}
    if not table:
        return
    rows = pl.DataFrame(table)
    follows = set(determined(rows, list(table)))
    for other in (name for name in others if name in table):
        for one in (name for name in quasi if name in table):
            if (one, other) in follows or part_of(table[other], table[one]):
                text = f"{other} is released as it is, and it follows from {one}, which is generalized."
            elif (other, one) in follows or part_of(table[one], table[other]):
                text = f"{other} is released as it is, and {one}, which is generalized, follows from it."
            else:
                continue
            yield Finding(
                "derived-column",
                (other, one),
                1.0,
                f"{text} So it tells more of {one} than the released cells do.",
                f"Make {other} a quasi-identifier, or leave it out.",
            )
            break


def _repeated(evidence: Evidence) -> Iterator[Finding]:
    for name in repeated_ids(evidence.came, evidence.policy.schema):
        yield Finding("repeated-id", (name,), 1.0, *repeated_id_words(name))


def _blanked(evidence: Evidence) -> Iterator[Finding]:
    for name, share, way_out in blanked_columns(evidence.frequency, evidence.recoding, evidence.policy):
        left = "Nothing" if share == 1 else "Little"
        yield Finding(
            "blanked-column",
            (name,),
            share,
            f"{left} is left of {name}: its cells stand for every value in {percent(share)} of the records.",
            way_out,
        )


def _suppressed(evidence: Evidence) -> Iterator[Finding]:
    if evidence.suppressed > _MANY:
        yield Finding(
            "much-suppressed",
            (),
            evidence.suppressed,
            f"{percent(evidence.suppressed)} of the records are suppressed, so figures of the release are "
            "biased to what is frequent.",
            "Name fewer quasi-identifiers, give them hierarchies, or ask for less.",
        )


def blanked_columns(
    frequency: FrequencyTable, recoding: Recoding, policy: Policy
) -> list[tuple[str, float, str]]:
    """Return the columns that a release blanks for most of its records, with that share and a way out."""
    return [
        (name, share, _way_out(name, policy))
        for name, share in blanked_shares(frequency, recoding).items()
        if share > BLANKED_ABOVE
    ]


def _way_out(name: str, policy: Policy) -> str:
    """Return a sentence on a change that would leave more of a column."""
    if not policy.algorithm.full_domain:
        return "Name fewer quasi-identifiers, or ask for less."
    if policy.schema[name].hierarchy is None:
        first = f"Give {name} a hierarchy (intervals, prefix, ...)"
    elif (policy.schema[name].levels or (0,))[0]:
        return f"Take a lower level of {name}."
    else:
        first = f"Allow suppression ({setting('max_suppression', '--max-suppression')})"
    return f"{first}, or use an algorithm of local recoding such as mondrian."


_CHECKS = (
    _unique_columns, _unique_pairs, _unprotected, _derived, _repeated, _blanked, _suppressed,
)  # fmt: skip
