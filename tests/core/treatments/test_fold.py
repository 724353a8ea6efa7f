"""Codes that differ only in typing."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.treatments.fold import fold_texts, look_alikes
from incrowd.release.jobs.compare.draft import draft_policy

WAYS = {
    "case": ("flu", "Flu", "FLU"),
    "a blank at the end": ("flu", "flu ", " flu"),
    "a no-break space": ("hay fever", "hay\u00a0fever", "hay fever\u00a0"),
    "two blanks": ("hay fever", "hay  fever", "hay\tfever"),
    "full width": ("E11", "Ｅ１１", "e11"),
    "composed and not": ("caf\u00e9", "cafe\u0301", "CAF\u00c9"),
    "nothing to see": ("a01", "a01\u200b", "a01"),
}


@pytest.mark.parametrize("texts", WAYS.values(), ids=WAYS)
def test_what_is_typed_otherwise_is_one_code(texts):
    assert fold_texts(pl.Series(texts)).n_unique() == 1
    assert look_alikes(pl.Series(texts).unique()) == len(set(texts))
    # Once more changes nothing.
    once = fold_texts(pl.Series(texts))
    assert fold_texts(once).to_list() == once.to_list()


def test_other_codes_stay_apart():
    codes = pl.Series(["E11", "E12", "e-11", "1", "01", "", None, "straße", "strasse"])
    assert look_alikes(codes.drop_nulls()) == 0
    assert fold_texts(codes).null_count() == 1


def table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + row % 5 for row in range(200)],
            "sex": ["m", "M", "f", "F "] * 50,
            "ill": [("flu", "Flu ", "cold", "COLD", "gout")[row % 5] for row in range(200)],
        }
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_a_fold_joins_the_codes_of_a_release_and_the_verifier_agrees(role, tmp_path):
    roles = {"quasi": ["age"], "sensitive": ["ill"]}
    roles[role] = [*roles[role], "sex"]
    schema = ic.Schema(**roles, treatments={"sex": ic.Fold(), "ill": ic.Fold()})
    policy = ic.Policy(schema, ["k-anonymity:5"])
    table().write_csv(tmp_path / "raw.csv")
    policy.write(tmp_path / "policy.toml")
    release = ic.anonymize(tmp_path / "raw.csv", policy, unanswered="write")
    release.write(tmp_path / "safe.csv")
    assert set(release.table["ill"]) == {"flu", "cold", "gout"}
    assert set(release.table["sex"]) == {"m", "f"}
    verification = ic.verify(tmp_path / "safe.csv", tmp_path / "policy.toml", against=tmp_path / "raw.csv")
    assert verification.verdict.text == release.verdict.text
    assert not verification.problems
    forged = release.table.with_columns(ill=pl.col("ill").str.to_uppercase())
    forged.write_csv(tmp_path / "safe.csv")
    verification = ic.verify(tmp_path / "safe.csv", tmp_path / "policy.toml")
    assert any("does not give" in problem for problem in verification.problems)


def test_a_draft_and_an_assessment_say_which_columns_have_such_values():
    draft = draft_policy(table(), ask=False)
    assert ("sex", 4) in draft.look_alikes
    assert "4 of its values differ only in case, blanks or the form of letters" in draft.text
    assessment = ic.assess(table(), ic.Schema(quasi=["age", "sex"], sensitive=["ill"]), "k-anonymity:2")
    text = " ".join(assessment.notes)
    assert "Values of sex (4), ill (4) differ only in case" in text
    assert "flu" not in text.lower().replace("influence", "")
    folded = table().with_columns(pl.col("sex", "ill").str.strip_chars().str.to_lowercase())
    assert "differ only" not in " ".join(
        ic.assess(folded, ic.Schema(quasi=["age", "sex"], sensitive=["ill"]), "k-anonymity:2").notes
    )
