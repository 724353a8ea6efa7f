"""Callbacks for the compilation of kernels, which delays a first job by seconds."""

from __future__ import annotations

from collections.abc import Callable

on_compiling: list[Callable[[], None]] = []
"""Functions called when a kernel without cached code is compiled."""
