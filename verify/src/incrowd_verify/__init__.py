"""A second, independent implementation of the privacy models, which checks a release with SQL in DuckDB.

Nothing here imports the code that makes a release: policies, hierarchies and tables are read anew, and
figures are computed with other formulas. So a mistake goes unnoticed only if it is made twice. Both share
the package `incrowd_gate`: what a verdict is, its words, the rule profiles and the errors.

Six files are the heart, which decides whether each limit holds: `figures`, `models`, `quantities`,
`attribute`, `classes` and `limits`. Where a policy asks for it, the heart calls four others: `persons`,
`population`, `lists` and `groups`. They stand on the readers: of tables (`tables`, `databases`, `source`,
`other_kinds`), of the policy (`policy`, `demands`, `spellings`), and of cells and hierarchies (`values`,
`cells`, `recipes`, `tree_files`); `checks` runs their statements.
A column whose cells hold sets has a limit of its own, which `sets` judges before all others.
All other files stand around these. They may add a problem or a point, and never make a limit hold.

The sentence of a limit is `incrowd_gate.wording.limit`; whether records or people were counted is the `unit`
of a `Finding`, which `models` sets. `cli` prints the findings. The sentence of a problem stands beside the
check, most of them in `conformity`.

It checks every model that a policy can ask for, the share of suppressed records, the released columns, and
whether the cells suit the policy. With the raw table it also checks whether the cells are true. If it cannot
check something, it refuses or says so.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incrowd_verify.limits import Finding
    from incrowd_verify.result import ClauseResult, PeopleFound, Verification
    from incrowd_verify.verification import checks_as_sql, clauses_of, verify

__version__ = "0.2.0"

_PLACES = {
    **dict.fromkeys(("ClauseResult", "PeopleFound", "Verification"), "result"),
    "Finding": "limits",
    **dict.fromkeys(("checks_as_sql", "clauses_of", "verify"), "verification"),
}
__all__ = ["ClauseResult", "Finding", "PeopleFound", "Verification", "checks_as_sql", "clauses_of", "verify"]


def __getattr__(name: str) -> object:
    # Whoever needs the errors or the words alone does not load the checks.
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
