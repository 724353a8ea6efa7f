"""Ten real tables from init to a verified release without an edit, and the page that says how good the drafts are."""

from __future__ import annotations

import pytest

from draft_tables import PAGE, TABLES, draft, markdown, page_with, table_of
from test_real_tables import call

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", TABLES)
def test_a_table_goes_from_init_to_a_verified_release_without_an_edit(name, tmp_path):
    table_of(name).write_csv(tmp_path / "raw.csv")
    for arguments in (
        ("init", "raw.csv", "-o", "policy.toml", "--no-questions"),
        ("anonymize", "raw.csv", "--policy", "policy.toml", "-o", "safe.csv", "--row-map", "rows.parquet"),
        (
            "verify", "safe.csv", "--policy", "policy.toml", "--against", "raw.csv", "--row-map", "rows.parquet",
        ),
    ):  # fmt: skip
        status, _, err = call(tmp_path, *arguments)
        assert status == 0, (arguments[0], err)


@pytest.mark.parametrize("name", TABLES)
def test_no_draft_lets_out_what_should_stay(name):
    for guess in draft(name).guesses:
        assert guess.role != "insensitive"
        if TABLES[name].role(guess.name) in ("identifying", "person"):
            assert guess.role in ("identifying", "person"), guess.name


def test_the_page_is_fresh():
    assert PAGE.read_text(encoding="utf-8") == page_with(markdown())
