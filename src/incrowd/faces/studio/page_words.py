"""Settings as the page names them in messages: by its fields, roles, switches and panels."""

from __future__ import annotations

from incrowd.core.errors import reword
from incrowd.release.policy.settings import SETTINGS

_LIMITS = "in the panel Limits"
_FIELDS = {
    "max-suppression": "the limit on suppression", "k": "the slider of k",
    "population": f"the population's file {_LIMITS}", "[profile.inputs]": f"the rule profile {_LIMITS}",
    "encoding": "the field Encoding", "names": "the field Names of the columns", "sheet": "the field Sheet",
    "Answer": "Answer it here.",
    "null-value": "Missing in the panel Column", "hierarchy": "Hierarchy in the panel Column",
    "treat": "Treatment in the panel Column", "levels": "the levels of a column in its policy file",
    "weights": "the role weight", "person": "the role person", "household": "the role household",
    "linked": "the question whether rows can be joined in the panel Column",
    "ledger-new-people": "the switch Other people", "unanswered": "",
    "accept": "the field Why do you accept it",
    "policy": "a policy", "m": "m of the ledger in a policy file",
}  # fmt: skip
"""How the studio names the setting of an option, or the place where an answer is given; "" for none."""
_SIGNS = set("=[]-")
"""Signs of options and arguments, which nobody reads on the page."""


def in_the_page() -> None:
    """Let messages name settings as the page does from now on."""
    reword(_in_the_page)


def _in_the_page(argument: str, option: str, _: str) -> str:
    """Name a setting by its field, with the value if the option has one; else by words alone."""
    name, _, value = option.lstrip("-").partition(" ")
    if not option.startswith("-") and name not in _FIELDS:
        return option if not _SIGNS & set(option) else argument
    place = _FIELDS.get(name, f"the setting {name.replace('-', ' ')}")
    if name.replace("-", "_") in SETTINGS and name not in _FIELDS:
        place += f" {_LIMITS}"
    return f"{place} ({value})" if place and value and not {*_SIGNS, ","} & set(value) else place
