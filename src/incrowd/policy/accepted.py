"""The findings of the gate before release, by name, and the answers that a policy gives to them."""

from __future__ import annotations

from dataclasses import dataclass

from incrowd.errors import PolicyError, did_you_mean, named
from incrowd.presentation.markup import InNotebooks

FINDINGS = {
    "unique-column": "many records have a value of their own in a column that is released as it is",
    "unique-together": "two columns that are released as they are single out many records together",
    "unprotected-sensitive": "no model protects a sensitive column",
    "derived-column": "a column that is released as it is follows from a generalized one",
    "repeated-id": "a column looks like the id of people who have several rows",
    "blanked-column": "most cells of a quasi-identifier stand for every value",
    "much-suppressed": "more than a fifth of the records are suppressed",
}
"""Each finding, and its meaning."""


@dataclass(frozen=True)
class Accepted(InNotebooks):
    """A finding that the owner of the data has looked at and accepts.

    Attributes
    ----------
    finding
        Its name, a key of `FINDINGS`.
    column
        The column that it is about; any of them where it is about several. None for one about the records.
    why
        The reason. The account of the release repeats it.

    Raises
    ------
    PolicyError
        When there is no such finding, or no reason.

    Examples
    --------
    >>> Accepted("unique-column", "seqn", "a number that the study made up").column
    'seqn'
    """

    _shown = ("finding", "column", "why")

    finding: str
    column: str | None = None
    why: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return plain data, as a policy file has it."""
        said = {"finding": self.finding, "column": self.column, "why": self.why}
        return {name: value for name, value in said.items() if value is not None}

    def __post_init__(self) -> None:
        if self.finding not in FINDINGS:
            raise PolicyError(
                f"accepted: there is no finding {self.finding!r}; those are {named(FINDINGS)}"
                + did_you_mean(self.finding, FINDINGS)
            )
        if not self.why.strip():
            raise PolicyError(f"accepted: {self.finding}: say why, since the account repeats the reason")
