"""What a ledger does for count tables: it knows the data of earlier ones, and compares their people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from incrowd.engines import engine_for
from incrowd.engines.open import loaded
from incrowd.release.jobs.ledger.refusal import entry_name, refuse
from incrowd.release.tables.counting import content_of
from incrowd.release.tables.layout import CountTable

Document = Mapping[str, Any]
"""A count table as `TableRelease.documents` describes it."""


class Counted:
    """The data that tables are made of, as its rows are counted for a ledger.

    Attributes
    ----------
    engine
        The engine of the data.
    """

    def __init__(self, table: Any, keyed: Callable[[str], str]) -> None:
        """Take a raw table, and what makes a keyed digest of a digest."""
        self.engine = engine_for(loaded(table), starred=True)
        self._keyed = keyed
        self._contents: dict[tuple[frozenset[str], str | None], str | None] = {}

    def content(self, document: Document) -> str | None:
        """Return the keyed digest of the columns that a table counts; None if the data lacks one of them."""
        layout = CountTable.from_settings(document["layout"])
        columns = (frozenset(name for name, _ in layout.dimensions), layout.sum)
        if columns not in self._contents:
            content = content_of(self.engine, layout)
            self._contents[columns] = None if content is None else self._keyed(content)
        return self._contents[columns]


def refuse_near_tables(
    entry: Mapping[str, Any],
    documents: Sequence[Document],
    before: Sequence[Mapping[str, Any]],
    tables_of_entry: Callable[[Any], Sequence[Document]],
) -> None:
    """Refuse tables of a group that differs by few people from that of earlier tables.

    Whoever subtracts one table from the other has a table of these few::

        May  412 people, 37 with asthma
        June 413 people, 38 with asthma      the one who came has asthma
    """
    for earlier in before:
        # Tables of the same data were protected together, and noise by cell keys covers a difference.
        same = earlier["input"] == entry["input"]
        for then, now in product([] if same else tables_of_entry(earlier), documents):
            few = max(CountTable.from_settings(each["layout"]).threshold for each in (then, now))
            noise = "cell-key" in (then["layout"].get("protect"), now["layout"].get("protect"))
            if not noise and 0 < abs(then["people"] - now["people"]) < few:
                refuse(
                    f"Table {now['layout']['name']} is about a group that differs from that of table "
                    f"{then['layout']['name']} in {entry_name(earlier)} by fewer than {few} people, so "
                    "that the difference of both tables tells of them.",
                    "Wait until more people have come or gone, or use protect = 'cell-key' for tables "
                    "that are made again and again.",
                )
