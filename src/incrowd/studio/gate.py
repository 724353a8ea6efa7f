"""The gate before release on the page: the findings, and why each is accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from nicegui import ui

from incrowd.accounts.findings import unanswered
from incrowd.policy.accepted import Accepted
from incrowd.studio.fields import button, text_field
from incrowd.studio.parts import box, bullets, heading, marked, note, tell, words

if TYPE_CHECKING:
    from incrowd.accounts.findings import Finding
    from incrowd.studio.work import Work


def show_findings(findings: Iterable[Finding]) -> None:
    """Show the findings of a release, those first that nobody has accepted."""
    listed = sorted(findings, key=lambda finding: finding.why is not None)
    left = len(unanswered(listed))
    if not listed:
        return
    with marked(ui.column().classes("warn" if left else "box"), "findings"):
        words("div", _counted(left, "to look at before you publish") if left else "Accepted findings", "name")
        bullets(finding.sentence() for finding in listed)


def _counted(number: int, what: str) -> str:
    return f"{number} {'finding' if number == 1 else 'findings'} {what}"


class Gate:
    """The gate before a release that has findings: each needs a reason to be accepted.

    It calls `opened` when every finding is accepted.
    """

    def __init__(self, work: Work, opened: Callable[[], None]) -> None:
        assert work.release is not None
        self._work, self._opened = work, opened
        self._open = unanswered(work.release.findings)
        self._reasons: list[Any] = []

    def draw(self) -> None:
        """Show each finding with a field for the reason."""
        heading("Before you publish")
        note(
            f"Every model holds, but {_counted(len(self._open), 'may')} give something away or cost much. "
            "Go back and change the policy, or say of each why you accept it. The account repeats your "
            "reasons, so name no person."
        )
        for number, finding in enumerate(self._open):
            with marked(box(", ".join((finding.name, *finding.columns))), f"finding-{number}"):
                words("p", finding.text)
                note(finding.way_out)
                reason = text_field("Why do you accept it?", f"why-{number}").classes("w-full")
                self._reasons.append(reason)
        button("Accept and go on", "accept", self._accept, "", icon="done_all")
        self._messages = ui.column().classes("w-full")

    def _accept(self) -> None:
        reasons = [(reason.value or "").strip() for reason in self._reasons]
        if missing := reasons.count(""):
            tell(self._messages, f"Nothing can be taken yet: {_counted(missing, 'without a reason')}.")
            return
        given = zip(self._open, reasons, strict=True)
        self._work.accept([Accepted(each.name, next(iter(each.columns), None), why) for each, why in given])
        self._opened()
