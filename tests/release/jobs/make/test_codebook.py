"""Codebooks in a draft and of a release: proposals that never release more, and nothing of the raw table."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import TableError
from incrowd.release.jobs.compare.draft import draft_policy

HEAD = "field_name,form_name,field_type,field_label,text_validation_type_or_show_slider_number,identifier\n"
ROWS = 400
TABLE = pl.DataFrame(
    {
        "age": [20 + n % 50 for n in range(ROWS)],
        "q7": ["north", "south"] * (ROWS // 2),
        "v3": [f"{n % 97}.5" for n in range(ROWS)],
        "email": [f"p{n}@example.org" for n in range(ROWS)],
        "diagnosis": [f"d{n % 7}" for n in range(ROWS)],
    }
)


def roles(draft) -> dict[str, str]:
    return {each.name: each.role for each in draft.guesses}


@pytest.fixture
def codebook(tmp_path):
    def write(*lines: str):
        (tmp_path / "study.csv").write_text(HEAD + "".join(f"{line}\n" for line in lines))
        return tmp_path / "study.csv"

    return write


def test_a_proposal_names_its_source_and_answers_a_question(codebook):
    before = roles(draft_policy(TABLE, "people.csv"))
    assert before["v3"] == "?"
    book = codebook(
        "v3,a,text,Number of the chart,,y", "age,a,text,Age,,y", "diagnosis,a,text,Diagnosis,zipcode,"
    )
    draft = draft_policy(TABLE, "people.csv", codebook=book)
    assert roles(draft)["v3"] == roles(draft)["age"] == "identifying"
    assert 'role = "identifying"  # study.csv says: identifier = y; ' in draft.text
    # A value that others know would be released as it is, if the column were no longer sensitive.
    assert roles(draft)["diagnosis"] == "sensitive"
    assert draft.undescribed == ("q7", "email")


def test_silence_of_a_codebook_releases_nothing(codebook):
    lines = [f"{name},a,text,{name},," for name in TABLE.columns]
    silent = draft_policy(TABLE, "people.csv", codebook=codebook(*lines))
    assert roles(silent) == roles(draft_policy(TABLE, "people.csv"))
    other = draft_policy(TABLE, "people.csv", codebook=codebook("email,a,text,Mail,zipcode,"))
    assert roles(other)["email"] == "identifying"


def test_labels_are_read_as_names_are(codebook):
    draft = draft_policy(TABLE, "people.csv", codebook=codebook("q7,a,text,Place of birth,,"))
    assert roles(draft)["q7"] == "quasi"
    assert "label: Place of birth" in draft.text or "(Place of birth)" in draft.text


def test_missing_codes_of_a_ddi_codebook_reach_the_policy(tmp_path):
    (tmp_path / "study.xml").write_text(
        '<codeBook><dataDscr><var name="age"><catgry missing="Y"><catValu>69</catValu></catgry></var></dataDscr></codeBook>'
    )
    draft = draft_policy(TABLE, "people.csv", codebook=tmp_path / "study.xml")
    assert 'missing = ["69"]' in draft.text


def test_the_codebook_of_another_table_is_refused(codebook):
    with pytest.raises(TableError, match=r"study\.csv: describes no column of people\.csv"):
        draft_policy(TABLE, "people.csv", codebook=codebook("weight,a,text,Weight,,"))


def test_python_writes_the_same_codebook(tmp_path):
    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(10, 20, 40)}, sensitive=["diagnosis"], unlisted="drop"
    )
    release = ic.anonymize(TABLE, schema, ["k-anonymity:5", "l-diversity:2"])
    release.write(tmp_path / "safe.csv")
    release.write_codebook(tmp_path / "book.xml", file=tmp_path / "safe.csv")
    assert "<caseQnty>400</caseQnty>" in (tmp_path / "book.xml").read_text()
    with pytest.raises(TableError, match="exists"):
        release.write_codebook(tmp_path / "book.xml")
