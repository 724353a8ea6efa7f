"""The clauses of the profile that a policy chose: each is checked on the release, attested, or not met.

A check is a function of one list. It returns counts in SQL that must be 0, so that `verify` runs them and a
script holds them. A check that lacks something says so, and its clause is not met.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from incrowd_verify.checks import Checks
from incrowd_verify.clause_checks import CHECKS, LackingError, Subject
from incrowd_verify.column_texts import Texts
from incrowd_verify.errors import visible
from incrowd_verify.policy import Policy
from incrowd_verify.profiles import Clause
from incrowd_verify.result import ClauseResult

_CONTEXT = Clause(
    "context",
    "The probability of an attempt, times that of its success, is at most the threshold.",
    "ISO/IEC 27559:2022, clauses 6 to 8",
    "context",
)


def judge_clauses(con: Checks, policy: Policy, texts: Texts) -> Iterator[ClauseResult]:
    """Judge each clause of the policy's profile, and the context where the policy answers for it."""
    clauses = [] if policy.profile is None else list(policy.profile.profile.clauses)
    if policy.context is not None:
        clauses = [each for each in clauses if each.id != _CONTEXT.id or each.check is None] + [_CONTEXT]
    for clause in clauses:
        blank = ClauseResult(clause.id, clause.text, clause.source, "not met", "")
        if clause.check is None:
            yield _attested(con, policy, clause, blank)
        else:
            yield _checked(con, Subject(con, policy, texts, clause), clause, blank)


def _attested(con: Checks, policy: Policy, clause: Clause, blank: ClauseResult) -> ClauseResult:
    assert policy.profile is not None
    said = policy.profile.attested.get(clause.id)
    if said is None:
        con.never(f"{clause.id}: somebody had attested it")
        return replace(blank, detail=f"nobody attests it: {clause.question}", unanswered=True)
    con.note(f"Attested, not checked: {clause.id}, by {visible(said.by)} on {said.on}.")
    return replace(blank, state="attested", detail=f"{said.by}, {said.on}: {said.says}")


def _checked(con: Checks, subject: Subject, clause: Clause, blank: ClauseResult) -> ClauseResult:
    try:
        counts = list(CHECKS[clause.check or ""](subject))
    except LackingError as lacking:
        con.never(f"{clause.id}: it could be checked")
        return replace(blank, detail=f"cannot be checked: {lacking}", unanswered=True)
    broken = []
    for each in counts:
        con.check(f"{clause.id}: {each.words}", each.sql)
        if con.is_script or each.doubtful in subject.unread:
            continue
        found = int(con.row(f"SELECT ({each.sql})")[0])
        if found and each.doubtful is not None:
            subject.unread.append(each.doubtful)
        elif found:
            broken.append(f"{each.words}: {found:,}")
    cleared = f"not of this kind by the policy: {', '.join(subject.cleared)}" if subject.cleared else ""
    # What nobody recognizes may be anything: somebody has to look.
    unread = f"not checked: {', '.join(subject.unread)}" if subject.unread else ""
    detail = "; ".join(filter(None, [*broken, unread, subject.said, cleared]))
    state = "not met" if broken or unread else "checked"
    return replace(blank, state=state, detail=detail, unanswered=bool(unread) and not broken)
