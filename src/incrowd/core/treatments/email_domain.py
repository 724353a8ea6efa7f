"""The domain of an e-mail address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.lazy import pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments.base import LINKED, Batch, Distinct, Treatment
from incrowd.core.treatments.other import with_label

if TYPE_CHECKING:
    from incrowd.core.treatments.keys import Secret

OTHER_DOMAIN = "other"
"""What stands for rare domains, and for texts that are no address."""


@dataclass(frozen=True)
class EmailDomain(Treatment):
    """Keep the domain of an e-mail address if enough records have that domain.

    A domain of one family tells the person. So rare domains become ``other``, and so do texts without a
    single ``@``. Which domains are kept is decided once: the next batch gets the same.

    Parameters
    ----------
    least
        How many records a domain needs at least.
    linked
        Columns that tell the same and go along; see "Columns that tell the same" on the page of treatments.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [30, 31, 32], "mail": ["a@x.org", "b@x.org", "c@c-family.name"]})
    >>> schema = ic.Schema(["age"], insensitive=["mail"], treatments={"mail": ic.EmailDomain(2)})
    >>> sorted(ic.anonymize(table, schema, "k-anonymity:3").table["mail"])
    ['other', 'x.org', 'x.org']

    References
    ----------
    ENISA, Pseudonymisation techniques and best practices, 2019, section 7 (e-mail addresses).
    """

    least: int = parameter("records that a domain needs to be kept", kind=int, low=1, default=5)
    linked: str | None = LINKED.field(None)

    name: ClassVar[str] = "email-domain"
    summary: ClassVar[str] = "keeps the domains of e-mail addresses that enough records have"
    paper: ClassVar[str] = "ENISA 2019"
    no_promise: ClassVar[str] = "A domain may still tell an employer or a school."
    for_quasi: ClassVar[bool] = True

    @property
    def promise(self) -> str:
        """Say which domains are kept."""
        return (
            f"is the domain of the address where at least {self.least} records have it, else {OTHER_DOMAIN}"
        )

    def learn(self, found: Distinct, secret: Secret | None) -> dict[str, Any]:
        """Decide which domains are kept."""
        counted = (
            pl.DataFrame({"domain": _domains(found.values), "records": found.counts})
            .drop_nulls("domain")
            .group_by("domain")
            .agg(pl.col("records").sum())
            .filter(pl.col("records") >= self.least)
        )
        return {"domains": sorted(counted["domain"])}

    def treat(self, batch: Batch) -> pl.Series:
        """Take the domains of the rows."""
        return with_label(batch.values, _domains(batch.values), batch.decided["domains"], OTHER_DOMAIN)


def _domains(texts: pl.Series) -> pl.Series:
    """Return domains in lower case, or null for a text without a domain."""
    return texts.str.strip_chars().str.extract(r"^[^@\s]+@([^@\s]+)$").str.to_lowercase()
