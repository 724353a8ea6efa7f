"""Real tables from init to a verified release without an edit, and the page that says how good the drafts are."""

from __future__ import annotations

import pytest

from draft_tables import CLINIC, FURTHER, PAGE, TABLES, draft, further, markdown, page_with, table_of
from incrowd.jobs.draft import draft_policy
from test_real_tables import call

pytestmark = pytest.mark.slow


QUESTIONS = 10
"""Questions that a draft may ask, however many columns there are."""


@pytest.mark.parametrize("name", [*TABLES, *FURTHER])
def test_a_table_goes_from_init_to_a_verified_release_without_an_edit(name, tmp_path):
    options = CLINIC if name == "clinic" else ()
    if options:
        text = further(name).write_csv(separator=";", line_terminator="\r\n")
        (tmp_path / "raw.csv").write_bytes(text.encode("latin-1"))
    else:
        (table_of(name) if name in TABLES else further(name)).write_csv(tmp_path / "raw.csv")
    status, told, err = call(tmp_path, "init", "raw.csv", "-o", "policy.toml", "--no-questions", *options)
    assert status == 0, err
    assert "it runs" in told
    status, _, err = call(
        tmp_path, "anonymize", "raw.csv", "--policy", "policy.toml", "-o", "safe.csv",
        "--row-map", "rows.parquet", *options,
    )  # fmt: skip
    assert status == 0, err
    status, _, err = call(
        tmp_path, "verify", "safe.csv", "--policy", "policy.toml", "--against", "raw.csv",
        "--row-map", "rows.parquet", *options,
    )  # fmt: skip
    assert status == 0, err


@pytest.mark.parametrize("name", [*TABLES, *FURTHER])
def test_no_draft_asks_more_than_ten_questions(name):
    found = draft(name) if name in TABLES else draft_policy(further(name), name)
    assert len(found.questions) + len(found.unread) <= QUESTIONS, [each.text for each in found.questions]
    asked = [name for question in found.questions for name in question.names]
    assert sorted(asked) == sorted(found.having("?")), "each open column is in one question"


@pytest.mark.parametrize(("name", "person"), {"nlswork": ["idcode"], "resume": [], "helpfull": [],
                                              "services": ["id"], "clinic": ["Patientennummer"]}.items())  # fmt: skip
def test_who_has_several_rows_is_found(name, person):
    assert draft_policy(further(name), name).having("person") == person


@pytest.mark.parametrize("name", TABLES)
def test_no_draft_lets_out_what_should_stay(name):
    for guess in draft(name).guesses:
        assert guess.role != "insensitive"
        if TABLES[name].role(guess.name) in ("identifying", "person"):
            assert guess.role in ("identifying", "person"), guess.name


def test_the_page_is_fresh():
    assert PAGE.read_text(encoding="utf-8") == page_with(markdown())
