"""anonymize --report: for whom, why and against which attacks, on the first page."""

from __future__ import annotations

import json

import pytest

from incrowd.attacks import Attack, wilson
from incrowd.core.documents import envelope, to_json

ROLES = ("--qi", "age,sex", "--sensitive", "diagnosis")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with saved results of an attack, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    attack = Attack("linkability", 20, wilson(3, 20), wilson(1, 20), None, None)
    document = envelope("attack") | {"attacks": [attack.to_dict()]}
    (tmp_path / "attacks.json").write_text(to_json(document))
    return tmp_path


def test_the_first_page_names_recipient_purpose_and_attacks(run, hospital_csv, folder):
    assert run("ledger", "init", "book").status == 0
    result = run(
        "anonymize", str(hospital_csv), *ROLES, "--unlisted", "drop", "-k", "5", "-o", "out.csv",
        "--report", "report.json", "--recipient", "Institute", "--purpose", "a study",
        "--attack-results", "attacks.json", "--ledger", "book",
    )  # fmt: skip
    assert result.status == 0, result.err
    report = json.loads((folder / "report.json").read_text())
    assert report["board"]["audience"][1:3] == [["For whom", "Institute"], ["Why", "a study"]]
    assert report["attacks"] == json.loads((folder / "attacks.json").read_text())["attacks"]
    # A ledger asks for the recipient, too, and gets the same.
    [entry] = json.loads(run("ledger", "show", "book", "--json").out)["entries"]
    assert entry["recipient"] == "Institute"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--recipient", "A"), "--recipient is for the report and the ledger; add --report FILE"),
        (("--purpose", "a study"), "--purpose is for the report; add --report FILE"),
        (("--attack-results", "attacks.json"), "--attack-results is for the report; add --report FILE"),
        (("--report", "r.json", "--recipient", "A", "--ledger-keys", "age"), "give --ledger"),
        (("--report", "r.json", "--ledger", "book"), "--recipient, who gets it"),
        (("--report", "r.json", "--attack-results", "none.json"), "none.json: cannot be read (No such file"),
        (
            ("--report", "r.json", "--attack-results", "text.json"),
            "text.json: is no JSON; save what `incrowd attack",
        ),
        (
            ("--report", "r.json", "--attack-results", "list.json"),
            "list.json: has no results of attacks; save what",
        ),
        (
            ("--report", "attacks.json", "--attack-results", "attacks.json", "--force"),
            "would replace an input file",
        ),
    ],
)
def test_what_is_wrong_is_told_before_the_table_is_read(run, folder, more, told):
    (folder / "text.json").write_text("text")
    (folder / "list.json").write_text("[]")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = run("anonymize", "no.csv", *ROLES, "--unlisted", "drop", "-k", "5", "-o", "out.csv", *more)
    assert result.status == 2
    assert told in " ".join(result.err.split())
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
