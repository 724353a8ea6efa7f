"""Small policies as text, for the tests of the verifier."""

from __future__ import annotations

import json
from collections.abc import Sequence

from incrowd.release.verification import Finding, Verification

__all__ = [
    "K2",
    "SIMPLE",
    "WORKED",
    "WORKED_TREE",
    "entry",
    "only",
    "policy_text",
    "t",
    "worked_columns",
]


K2 = 'model = "k-anonymity"\nk = 2'


def entry(name: str, role: str, extra: str = "") -> str:
    return f"[columns.{json.dumps(name, ensure_ascii=False)}]\nrole = '{role}'\n{extra}\n"


def policy_text(columns: Sequence[str], models: Sequence[str], head: str = "") -> str:
    return f"version = 1\n{head}\n" + "".join(columns) + "".join(f"[[models]]\n{model}\n" for model in models)


SIMPLE = [entry("zip", "quasi"), entry("x", "sensitive")]


def t(limit: float = 1.0, **more: str) -> str:
    return f'model = "t-closeness"\nt = {limit}\n' + "\n".join(f'{k} = "{v}"' for k, v in more.items())


def only(result: Verification) -> Finding:
    (finding,) = result.findings
    return finding


# The worked example of the t-closeness page of the PETWorks documentation, its labels in English.
# (Its final table swaps two cells; the figures here follow its steps 2 and 3.)
WORKED = """born,salary,disease
197*,3,stomach cancer
197*,4,flu
198*,5,flu
198*,6,gastritis
198*,8,stomach cancer
"""
WORKED_TREE = (
    "disease\n\trespiratory infection\n\t\tflu\n\tstomach disease\n\t\tstomach cancer\n\t\tgastritis\n"
)


def worked_columns(tree: str = "") -> list[str]:
    return [entry("born", "quasi"), entry("salary", "sensitive"), entry("disease", "sensitive", tree)]
