"""The arguments of an attack, and the entry of a kind of attack in the list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.attacks.base import Attack
from incrowd.attacks.setting import Setting
from incrowd.core.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from incrowd.release.policy.policy import Policy


class AttackCall(NamedTuple):
    """The arguments of `attack`, checked."""

    table: Any
    released: Any
    policy: Policy | None
    secret: str | None
    releases: tuple[Setting, ...]
    control: Any
    attacks: int
    columns: int
    neighbours: int
    aligned: bool
    known: Sequence[str] | None
    parts: tuple[Sequence[str], Sequence[str]] | None
    kinds: Sequence[str] | None
    seed: int

    @property
    def setting(self) -> Setting:
        """The raw table and the release under attack."""
        return self.releases[0]

    @property
    def with_secret(self) -> list[str]:
        """The quasi-identifiers, followed by the secret if there is any."""
        return [*self.setting.quasi, *([] if self.secret is None else [self.secret])]

    @property
    def inferred(self) -> str:
        """The secret, which must be there."""
        if self.secret is None:
            raise SchemaError("attack: name the sensitive attribute that is inferred (secret)")
        return self.secret

    @property
    def whole_policy(self) -> Policy:
        """The policy, which must be there."""
        if self.policy is None:
            raise ParameterError("attack: give the whole policy of the release in place of the schema")
        return self.policy


@dataclass(frozen=True)
class AttackKind:
    """An entry of the list of attacks.

    Attributes
    ----------
    name
        Its name in calls, on the command line and in reports.
    needs
        The arguments that it needs, for messages.
    possible
        Says whether a call has them.
    attempt
        Tries the attack.
    by_default
        Whether it is tried unless the caller names kinds.
    columns
        The columns whose cells it rests on; the quasi-identifiers unless it says so.
    """

    name: str
    needs: str
    possible: Callable[[AttackCall], bool]
    attempt: Callable[[AttackCall], Attack]
    by_default: bool = True
    columns: Callable[[AttackCall], Iterable[str]] = lambda call: call.setting.quasi

    def result(self, call: AttackCall) -> Attack:
        """Try the attack, or make no guess and give the reason if needed cells cannot be read."""
        unread = {
            name: cells
            for name in self.columns(call)
            for setting in call.releases
            if (cells := setting.columns[name].unread) is not None
        }
        if not unread:
            return self.attempt(call)
        return Attack.of_nothing(self.name, *(cells.text(name) for name, cells in unread.items()))
