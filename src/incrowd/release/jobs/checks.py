"""Checks before a search, and checks of the written release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.errors import InfeasibleError, ParameterError, TableError, named, setting
from incrowd.search.base import STARRED_ROOT, names_starred_root

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema
    from incrowd.engines import Counted
    from incrowd.measures.privacy import ModelResult
    from incrowd.release.jobs.assess import Assessment
    from incrowd.release.jobs.suppressed_records import Suppression
    from incrowd.release.policy.policy import Policy


def check_levels(policy: Policy) -> None:
    """Refuse levels and weights that the policy's algorithm does not support."""
    algorithm = policy.algorithm
    for attribute in policy.schema.quasi:
        if attribute.levels is not None and not algorithm.full_domain:
            raise ParameterError(
                f"column {attribute.name!r} has levels, which {algorithm.name} does not know; use a "
                "full-domain algorithm, e.g. optimal"
            )
        if attribute.weight != 1 and not algorithm.weighted:
            raise ParameterError(
                f"column {attribute.name!r} has a weight, which {algorithm.name} does not know"
            )


def check_limits(policy: Policy, frequency: FrequencyTable) -> None:
    """Refuse models that no recoding of a table can satisfy."""
    for model in policy.models:
        model.check_table(frequency.counted)
    if not frequency.records:
        raise TableError("every record of the table is suppressed (* in every quasi-identifier)")


def counting_schema(policy: Policy) -> Schema:
    """Return the schema for counting, with the style and the ends of each quasi-identifier."""
    return policy.schema.with_attributes(each.as_counted() for each in policy.written.attributes)


def judge(assessment: Assessment, policy: Policy, suppression: Suppression | None = None) -> None:
    """Refuse a release that does not satisfy its policy.

    Parameters
    ----------
    suppression
        The suppressed records, where some may be left out.

    Raises
    ------
    InfeasibleError
        Which says what failed, by how much, and what would help.
    """
    problems = [shortfall(measured) for measured in assessment.results.asked if measured.holds is False]
    if problems and assessment.wildcards not in policy.algorithm.wildcards:
        problems.append(
            f"wildcards are {assessment.wildcards!r}, and {policy.algorithm.name} counts * as a value: use a "
            "full-domain algorithm on a table without missing cells, name fewer quasi-identifiers, or set "
            f"{setting('wildcards', '--wildcards')} to 'value'"
        )
    left_out = 0 if suppression is None else suppression.left_out
    suppressed, records = assessment.suppressed + left_out, assessment.records + left_out
    if suppressed and suppressed / records > policy.max_suppression:
        problems.insert(
            0,
            f"{suppressed} of {records} records are suppressed (* in every "
            f"quasi-identifier{', or left out for that' if left_out else ''}), {suppressed / records:.2%} "
            f"where {policy.max_suppression:.2%} "
            "may be; loosen the models, name fewer quasi-identifiers"
            + _wide_ranges(policy)
            + _starred_roots(policy)
            + " or raise "
            + setting("max_suppression", "--max-suppression"),
        )
    if problems:
        raise InfeasibleError("nothing was released: " + "; ".join(problems))


def _wide_ranges(policy: Policy) -> str:
    """Return the remedy for ranges that become `*`, or "" if there is none."""
    rounded = any(each.hierarchy is None and each.ends != "exact" for each in policy.schema.quasi)
    if policy.ends == "exact" or not rounded or policy.algorithm.full_domain:
        return ""
    exact = setting("ends='exact'", "--ends exact")
    return f", publish the ends of ranges ({exact})"


def _starred_roots(policy: Policy) -> str:
    """Return the remedy for classes of hierarchy roots that look suppressed, or "" if there is none."""
    if not names_starred_root(policy.schema.quasi):
        return ""
    return f", give {STARRED_ROOT} to a hierarchy, since a class of * alone is suppressed,"


def shortfall(measured: ModelResult) -> str:
    """Compare the values reached with the limits, and count the classes that fail."""
    text = measured.shortfall()
    if measured.value is None:
        return text
    if measured.failing and measured.failing[0]:
        people = "" if measured.failing_people is None else f", {measured.failing_people:,} people"
        text += f" ({measured.failing[0]:,} classes, {measured.failing[1]:,} records{people})"
    return text + "".join(f"; {reason}" for reason in measured.reasons)


def telling_columns(counted: Counted, schema: Schema, *, force: bool) -> list[str]:
    """Return the columns that the order of the rows reveals, or refuse such an order.

    Raises
    ------
    ParameterError
        When the order tells a column, or the rows have no order.
    """
    columns = counted.columns_in_order(schema)
    if columns and not force:
        keep_order = setting("keep_order", "--keep-order or keep_order = true")
        raise ParameterError(
            f"the rows are in the order of {named(columns)}, so the rows around a row would tell more of it "
            f"than its cells do; leave {keep_order} out, or keep the order all the same with "
            + setting("force=True", "--force")
        )
    return columns
