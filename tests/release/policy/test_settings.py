"""A setting has a single default and a single meaning, in every place."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import incrowd as ic
from incrowd.release.jobs.compare.draft import draft_policy
from incrowd.release.policy.settings import SETTINGS, setting_sentence
from incrowd.release.policy.toml_lines import toml_value

PAGE = Path(__file__).resolve().parents[3] / "docs" / "policy.md"
ALL = [ic.Policy, ic.anonymize]
"""What takes every setting."""


def taken(call: Callable[..., Any]) -> dict[str, Any]:
    """Return the settings among the parameters, with the defaults."""
    parameters = inspect.signature(call).parameters.values()
    defaults = {each.name: each.default for each in parameters if each.name in SETTINGS}
    # Whatever draws lots has a seed of its own.
    return {} if set(defaults) == {"seed"} else defaults


def documented(call: Callable[..., Any], name: str) -> str:
    """Return the text of a parameter in the docstring, on a single line and without quotes."""
    text = inspect.getdoc(call) or ""
    entry = re.search(rf"^{name}\n((?: {{4}}.*\n?|\n)+)", text, re.MULTILINE)
    assert entry, f"{call.__name__} does not document {name}"
    return " ".join(entry[1].replace("``", "").split())


@pytest.mark.parametrize("call", ALL, ids=lambda call: call.__name__)
def test_every_setting_is_taken(call):
    assert set(taken(call)) == set(SETTINGS)


def test_parameters_have_the_default_and_the_meaning_that_are_declared():
    # It loads scikit-learn, which no other process needs for its list of tests.
    from incrowd.sklearn import Anonymizer

    public = (getattr(ic, name) for name in ic.__all__)
    for call in (ic.Policy, Anonymizer, *filter(inspect.isfunction, public)):
        for name, default in taken(call).items():
            # None is for what the policy says.
            assert default in (None, SETTINGS[name].default), (call, name)
            assert documented(call, name).startswith(setting_sentence(name)), (call, name)


def test_a_draft_and_the_page_show_settings_with_their_meaning():
    page = PAGE.read_text(encoding="utf-8")
    example = page.partition("## All settings in one example\n")[2].partition("```toml\n")[2]
    draft = draft_policy(pl.DataFrame({"age": range(40)}), "people.csv", ask=False).text
    for text, least in ((example.partition("```")[0], len(SETTINGS)), (draft, 5)):
        known = [name for name in tomllib.loads(text) if name in SETTINGS]
        assert len(known) >= least
        for name in known:
            assert f"# {setting_sentence(name)}\n{name} = " in text
    for name in ("output", "seed", "ends", "suppressed"):
        assert f"\n{name} = {toml_value(SETTINGS[name].default)}\n" in draft
