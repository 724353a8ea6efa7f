"""Real tables from init to the verdict of a release without an edit, and the page that says how good the drafts are."""

from __future__ import annotations

import pytest

from draft_tables import FURTHER, LATER, PAGE, TABLES, UNKNOWN, draft, markdown, page_with, walk
from test_real_tables import call

pytestmark = pytest.mark.slow


QUESTIONS = 10
"""Questions that a draft may ask, however many columns there are; one for each special category comes to them."""


@pytest.mark.gated
@pytest.mark.parametrize("name", [*TABLES, *(name for name in FURTHER if name not in UNKNOWN), *LATER])
def test_a_table_goes_from_init_to_a_verified_verdict_without_an_edit(name, tmp_path):
    row = walk(name, tmp_path, call)
    if name not in TABLES:
        assert row in PAGE.read_text(encoding="utf-8").splitlines(), row


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_table_of_which_nothing_is_known_is_asked_about_whatever_the_options_say(name):
    result = draft(name, ask=False)
    assert (result.kept_open, result.trial) == (True, None)
    assert result.having("?") == draft(name).having("?")


@pytest.mark.parametrize("name", [*TABLES, *FURTHER, *LATER])
def test_no_draft_asks_more_than_ten_questions(name):
    result = draft(name)
    usual = [each.text for each in result.questions if not each.special]
    assert len(usual) + len(result.unread) <= QUESTIONS, usual
    names = [name for question in result.questions for name in question.names]
    assert sorted(names) == sorted(result.having("?")), "each open column is in one question"


@pytest.mark.parametrize(("name", "person"), {"nlswork": ["idcode"], "resume": [], "helpfull": ["ID"],
                                              "services": ["id"], "clinic": ["Patientennummer"], "pbcseq": ["id"],
                                              "wagepan": ["nr"], "evals": ["prof_id"]}.items())  # fmt: skip
def test_who_has_several_rows_is_found(name, person):
    assert draft(name).having("person") == person


@pytest.mark.parametrize("name", TABLES)
def test_no_draft_lets_out_what_should_stay(name):
    for guess in draft(name).guesses:
        assert guess.role != "insensitive"
        if TABLES[name].role(guess.name) in ("identifying", "person"):
            assert guess.role in ("identifying", "person"), guess.name


def test_the_page_is_fresh():
    assert PAGE.read_text(encoding="utf-8") == page_with(markdown())
