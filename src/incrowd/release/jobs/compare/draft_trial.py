"""The trial of a draft before the draft is written: disclosures, and changes that the draft needs."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from incrowd.core.errors import InfeasibleError, InputError
from incrowd.core.lazy import pl
from incrowd.core.progress import Silent
from incrowd.release.drafting.roles import Guess
from incrowd.release.jobs.compare.remedies import Remedies
from incrowd.release.policy.limits import LongListError, UnlistableError
from incrowd_gate.verdict import Verdict

_ROWS = 20_000
"""Rows of a large table that a draft is tried on."""
_SHARES = (0.05, 0.1, 0.2)
"""Shares of records that may be suppressed, one after the other until a draft runs."""
_LISTED = 20
"""Values up to which a longer list is allowed rather than none."""


@dataclass(frozen=True)
class Trial:
    """The result of trying a draft.

    Attributes
    ----------
    rows
        Rows that it was tried on.
    suppressed, loss
        Share of records that were suppressed, and the loss LM; None where the draft does not run.
    mended
        What was changed so that it runs, in words.
    remedies
        What was changed so that fewer points are open, in words.
    verdict
        The verdict of the release that the draft makes; None where it does not run.
    problem
        Why it does not run; empty where it does.
    """

    rows: int
    suppressed: float | None = None
    loss: float | None = None
    mended: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    verdict: Verdict | None = None
    problem: str = ""


def try_draft(
    table: pl.DataFrame, guesses: Sequence[Guess], write: Callable[[Sequence[Guess], Mapping[str, Any]], str]
) -> tuple[tuple[Guess, ...], str, Trial]:
    """Try a draft in memory, and change the draft until a run succeeds and no change removes an open point.

    Cells may list more values, up to 20, or have the value or ``*``. As many records as have to be may be
    suppressed, a fifth at most. What is changed for open points is said in `Remedies`. Of a large table,
    20,000 random rows are tried.

    Parameters
    ----------
    write
        What writes the policy file of guesses, with settings of the whole policy that were changed.

    Returns
    -------
    The guesses and the policy file as they were mended, and what came of it.
    """
    from incrowd.release.jobs.make.anonymize import anonymize
    from incrowd.release.policy.policy import Policy

    rows = table if table.height <= _ROWS else table.sample(_ROWS, seed=0)
    draft, shares, remedies = _Draft(tuple(guesses)), iter(_SHARES), Remedies()
    while True:
        text = write(draft.guesses, draft.settings())
        try:
            policy = Policy.from_dict(tomllib.loads(text), Path(), "the draft")
            release = anonymize(rows, policy, progress=Silent(), unanswered="write")
        except UnlistableError as error:
            # A list is allowed once, and a column that is flat has none, so this ends.
            draft = draft.without_list(error.column, error.longest if isinstance(error, LongListError) else 0)
            continue
        except InfeasibleError as error:
            problem, share = str(error), next(shares, None)
        except InputError as error:
            problem, share = str(error), None
        else:
            new_guesses = remedies.apply(draft.guesses, release)
            if new_guesses is None:
                break
            draft = replace(draft, guesses=new_guesses)
            continue
        if share is None:
            new_guesses = remedies.leave_out(draft.guesses)
            if new_guesses is None:
                return tuple(guesses), write(guesses, {}), Trial(rows.height, problem=problem)
            draft, shares = replace(draft, guesses=new_guesses, share=0.0), iter(_SHARES)
            continue
        draft = replace(draft, share=share)
    suppressed_share = release.suppression.share(release.privacy.records)
    if draft.share and rows is table:
        draft = replace(draft, share=math.ceil(suppressed_share * 100) / 100)
    text = write(draft.guesses, draft.settings())
    trial = Trial(
        rows.height,
        suppressed_share,
        release.utility["loss"].value,
        draft.changes(),
        remedies.in_words(),
        release.verdict,
    )
    return draft.guesses, text, trial


@dataclass(frozen=True)
class _Draft:
    """A draft with the changes of the trial."""

    guesses: tuple[Guess, ...]
    share: float = 0.0
    set_limit: int = 0
    flat: tuple[str, ...] = ()

    def without_list(self, column: str, longest: int) -> _Draft:
        """Allow a list of values in a column, or let the column have the value or ``*``."""
        if self.set_limit < longest <= _LISTED:
            return replace(self, set_limit=longest)
        spec: dict[str, object] = {"flat": True}
        why = "the value or *, because cells would list too many values"
        guesses = (
            replace(guess, hierarchy=spec, recipe=why) if guess.name == column else guess
            for guess in self.guesses
        )
        return replace(self, guesses=tuple(guesses), flat=(*self.flat, column))

    def settings(self) -> dict[str, Any]:
        """Return the settings of the whole policy that were changed."""
        values = {"max_suppression": self.share, "set_limit": self.set_limit}
        return {name: value for name, value in values.items() if value}

    def changes(self) -> tuple[str, ...]:
        """Describe the changes."""
        return (
            *(f"{name} = {value}" for name, value in self.settings().items()),
            *(f"{name} has the value or *" for name in self.flat),
        )
