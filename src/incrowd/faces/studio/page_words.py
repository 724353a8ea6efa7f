"""Settings as the page names them in messages: by its fields, roles and panels."""

from __future__ import annotations

from incrowd.core.errors import reword

_FIELDS = {
    "encoding": "the field Encoding", "names": "the field Names of the columns", "sheet": "the field Sheet",
    "population": "the population's file in the panel Limits", "null-value": "null_values in a policy file",
    "weights": "the role weight", "person": "the role person", "household": "the role household",
    "treat": "a treatment in the panel Column", "ledger-new-people": "the switch Other people",
}  # fmt: skip
"""How the studio names the setting of an option."""


def in_the_page() -> None:
    """Let messages name settings as the page does from now on: most fields are called as arguments."""
    reword(lambda argument, option, _: _FIELDS.get(option.removeprefix("--").partition(" ")[0], argument))
