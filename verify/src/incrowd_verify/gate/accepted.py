"""The answers of a policy to points of a verdict."""

from __future__ import annotations

import html
from dataclasses import dataclass

from incrowd_verify.errors import PolicyError, did_you_mean, named, visible
from incrowd_verify.gate.kinds import ANSWERABLE, KINDS


@dataclass(frozen=True)
class Accepted:
    """A point of a verdict that the owner of the data accepts.

    Attributes
    ----------
    point
        Its kind, a key of `incrowd_verify.gate.kinds.KINDS` that can be accepted.
    column
        The column that it is about, the first where it is about several. None for one about the records.
    why
        The reason. The account of the release repeats it.

    Raises
    ------
    PolicyError
        When nobody can accept such a point, or no reason is named.

    Examples
    --------
    >>> Accepted("unique-column", "seqn", "a number that the study made up").column
    'seqn'
    >>> Accepted.read("unique-column:seqn=a number that the study made up").column
    'seqn'
    """

    point: str
    column: str | None = None
    why: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return plain data, as a policy file has it."""
        settings = {"point": self.point, "column": self.column, "why": self.why}
        return {name: value for name, value in settings.items() if value is not None}

    def _repr_html_(self) -> str:
        about = f" of {self.column}" if self.column else ""
        return visible(f"<p>{html.escape(f'{self.point}{about} is accepted: {self.why}')}</p>")

    @classmethod
    def read(cls, text: str) -> Accepted:
        """Read an answer in option form: ``POINT=REASON``, or ``POINT:COLUMN=REASON``.

        Raises
        ------
        PolicyError
        """
        about, sign, why = text.partition("=")
        if not sign:
            raise PolicyError(
                'accepted: write POINT:COLUMN="reason", or POINT="reason" where it is about records'
            )
        point, _, column = about.partition(":")
        return cls(point.strip(), column.strip() or None, why.strip())

    def __post_init__(self) -> None:
        if self.point not in ANSWERABLE:
            what = "nobody can accept a point" if self.point in KINDS else "there is no point"
            raise PolicyError(
                f"accepted: {what} {self.point!r}; those are {named(ANSWERABLE, 30)}"
                + did_you_mean(self.point, ANSWERABLE)
            )
        if not self.why.strip():
            raise PolicyError(f"accepted: {self.point}: say why, since the account repeats the reason")
