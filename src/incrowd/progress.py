"""Progress: how long-running work reports how far it is."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "Silent"]


class Progress(Protocol):
    """Receives the stages of a job and how far each is."""

    def stage(self, name: str) -> None:
        """Begin a stage, which ends the one before."""

    def advance(self, done: int, total: int) -> None:
        """Say that `done` of `total` units of the stage are finished."""


class Silent:
    """Shows nothing."""

    def stage(self, name: str) -> None:
        """Ignore a stage."""

    def advance(self, done: int, total: int) -> None:
        """Ignore how far it is."""
