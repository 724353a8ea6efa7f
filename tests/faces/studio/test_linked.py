"""Several tables about the same people, behind a window."""

from __future__ import annotations

import re
import shlex
import sys
import zipfile

import polars as pl
import pytest

import incrowd as ic
from clinic_tables import PEOPLE, SECRET, write_clinic
from incrowd.core.errors import IncrowdError, TableError, VerdictError
from incrowd.core.progress import Cancelled
from incrowd.faces.cli import main
from incrowd.faces.studio import export, status
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.panels.linked import changes_for
from incrowd.faces.studio.tables import read_policy
from incrowd.faces.studio.work import Source, Work
from incrowd.release.linked.folders import joins_of
from incrowd.release.policy.policy_file import read_toml
from incrowd_gate.points import Accepted

pytestmark = pytest.mark.gated


def incrowd(folder, *words: object) -> int:
    """Run a command in a folder, and return the status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["incrowd", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)


@pytest.fixture
def window():
    state = Work()
    yield state
    state.close()


@pytest.fixture
def clinic(window, tmp_path, monkeypatch):
    """Linked tables that are open in a window, with an answer to the question of the draft."""
    monkeypatch.setenv("INCROWD_KEY", SECRET)
    write_clinic(tmp_path / "clinic")
    assert window.open_linked(Source(tmp_path / "clinic", "clinic"))
    for name in window.linked.chosen.having("?"):
        window.linked.chosen.columns[name]["role"] = "quasi"
    return window.linked


def test_a_folder_of_different_tables_is_drafted_as_init_drafts_it(window, tmp_path, capsys):
    write_clinic(tmp_path / "clinic")
    assert window.open_linked(Source(tmp_path / "clinic", "clinic"))
    clinic = window.linked
    assert incrowd(tmp_path, "init", "clinic", "-o", "policy.toml") == 0
    assert clinic.chosen.document == read_toml(tmp_path / "policy.toml")
    assert "visits (its patient_id is patients.patient_id)" in capsys.readouterr().out
    assert [each[:4] for each in joins_of(clinic.tables)] == [
        ("visits", "patient_id", "patients", "patient_id")
    ]
    assert clinic.joined("visits") == {"patient_id": "patients.patient_id"}
    assert clinic.height == {"patients": PEOPLE, "visits": PEOPLE}
    assert dict(clinic.distribution("patients.sex")) == {"f": PEOPLE // 2, "m": PEOPLE // 2}
    assert window.table is None
    assert status.mark(window) is None


def test_one_table_and_parts_of_one_table_are_opened_as_before(window, tmp_path):
    write_clinic(tmp_path / "clinic")
    for path in (tmp_path / "clinic" / "patients.csv", tmp_path / "parts"):
        (tmp_path / "parts").mkdir(exist_ok=True)
        for number in range(2):
            pl.DataFrame({"sex": ["f", "m"]}).write_csv(tmp_path / "parts" / f"{number}.csv")
        assert not window.open_linked(Source(path, path.name))
        assert window.linked is None


def test_all_tables_are_released_together_and_nothing_raw_leaves(clinic, window, tmp_path):
    release = clinic.anonymize(Watched())
    assert release.verdict.holds
    assert release.view.smallest >= 5
    assert status.mark(window) == ("holds", release.verdict.brief)
    archive, name = clinic.archive(Watched())
    assert name == "released.zip"
    with zipfile.ZipFile(archive) as packed:
        names = packed.namelist()
        texts = b"".join(packed.read(each) for each in names).decode()
    assert {"released/patients.csv", "released/visits.csv", "released/policy.toml"} <= {*names}
    assert not [each for each in names if "internal" in each]
    assert not re.search(r"\b[PV]0[0-9][0-9]\b", texts)


@pytest.mark.slow
def test_the_command_makes_the_same_tables(clinic, tmp_path):
    clinic.anonymize(Watched())
    archive, _ = clinic.archive(Watched())
    zipfile.ZipFile(archive).extractall(tmp_path)
    assert incrowd(tmp_path, "verify", "released") == 0
    policy, _ = export.policy_file(clinic, clinic.policy())
    (tmp_path / "policy.toml").write_bytes(policy.read_bytes())
    again = shlex.split(clinic.command().replace("--output released", "--output again"))
    assert incrowd(tmp_path, *again[1:]) == 0
    for table in ("patients", "visits"):
        first, second = (pl.read_csv(tmp_path / each / f"{table}.csv") for each in ("released", "again"))
        assert first.sort(first.columns).equals(second.sort(first.columns))


def test_open_points_shut_the_files_until_they_are_accepted(clinic, tmp_path):
    clinic.chosen.document["models"][0]["k"] = 20
    release = clinic.anonymize(Watched())
    assert release.verdict.state == "open"
    with pytest.raises(VerdictError):
        clinic.archive(Watched())
    points = release.verdict.open
    answers = [Accepted(each.name, next(iter(each.columns), None), "looked at it") for each in points]
    assert clinic.accept(answers)
    assert clinic.release.verdict.holds
    archive, _ = clinic.archive(Watched())
    zipfile.ZipFile(archive).extractall(tmp_path)
    # The policies of all tables, and of each alone, repeat the answers, and the second reading agrees.
    assert incrowd(tmp_path, "verify", "released") == 0
    own = {each.columns[0].partition(".")[0] for each in points if each.columns}
    assert own
    for table in own:
        policy = read_toml(tmp_path / "released" / "policies" / table / "policy.toml")
        assert [each["why"] for each in policy["accepted"]]
    # So does the next release under the same policy.
    assert clinic.anonymize(Watched()).verdict.holds


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["^ward$", "^.*$", "*", "a.b", "__proto__", "<b>"])
def test_a_column_may_have_any_name(window, tmp_path, name, monkeypatch):
    monkeypatch.setenv("INCROWD_KEY", SECRET)
    write_clinic(tmp_path / "clinic", **{name: ["x", "y"] * (PEOPLE // 2)})
    assert window.open_linked(Source(tmp_path / "clinic", "clinic"))
    clinic = window.linked
    clinic.chosen.columns[f"patients.{name}"] = {"role": "insensitive"}
    for each in clinic.chosen.having("?"):
        clinic.chosen.columns[each]["role"] = "quasi"
    assert dict(clinic.distribution(f"patients.{name}")) == {"x": PEOPLE // 2, "y": PEOPLE // 2}
    assert clinic.anonymize(Watched()).verdict.state in ("holds", "open")


def test_changes_are_those_that_are_defined_for_several_tables(clinic):
    clinic.chosen.document["models"][0]["k"] = 20
    points = clinic.anonymize(Watched()).verdict.open
    changes = [change for point in points for change in changes_for(point, clinic)]
    assert {each.name for each in changes} <= {"suppress", "identifying"}
    assert "algorithm" not in clinic.chosen.document
    change = next(each for each in changes if each.name == "identifying")
    change.make()
    assert "identifying" in {each["role"] for each in clinic.chosen.columns.values()}


def test_a_change_in_mid_search_makes_no_release(clinic):
    class Changing(Watched):
        def stage(self, name):
            if name == "search":
                clinic.chosen.document["max_suppression"] = 0.5
            super().stage(name)

    with pytest.raises(Cancelled):
        clinic.anonymize(Changing())
    assert clinic.release is None


def test_a_given_policy_of_linked_tables_is_taken(clinic, window, tmp_path):
    (tmp_path / "taken").mkdir()
    clinic.policy().write(tmp_path / "taken" / "policy.toml")
    again = Work(read_policy(tmp_path / "taken" / "policy.toml"))
    assert again.open_linked(Source(tmp_path / "clinic", "clinic"))
    assert again.linked.chosen.origin.endswith("policy.toml")
    assert again.linked.policy().order == ("patients", "visits")
    again.close()


def test_a_wrong_policy_of_linked_tables_is_refused_when_it_is_given(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text('version = 1\n[[linked]]\nnam = "person"\n[columns."person.sex"]\nrole = "quasi"\n')
    with pytest.raises(IncrowdError, match="no setting 'nam'"):
        read_policy(path)


def test_a_draft_with_questions_may_be_given_back(window, tmp_path):
    write_clinic(tmp_path / "clinic")
    assert incrowd(tmp_path, "init", "clinic", "-o", "policy.toml") == 0
    again = Work(read_policy(tmp_path / "policy.toml"))
    assert again.open_linked(Source(tmp_path / "clinic", "clinic"))
    assert again.linked.chosen.having("?")
    again.close()


def test_a_table_takes_the_place_of_linked_tables_and_they_of_it(clinic, window, tmp_path):
    clinic.anonymize(Watched())
    window.open(Source(tmp_path / "clinic" / "patients.csv", "patients.csv"))
    assert window.linked is None
    assert window.open_linked(Source(tmp_path / "clinic", "clinic"))
    assert (window.table, window.choices, window.release) == (None, None, None)
    window.close_table()
    assert window.source is None


def test_a_secret_that_is_not_there_is_asked_for_by_its_place(window, tmp_path, monkeypatch):
    monkeypatch.delenv("INCROWD_KEY", raising=False)
    write_clinic(tmp_path / "clinic")
    window.open_linked(Source(tmp_path / "clinic", "clinic"))
    lacking = window.linked.lacking_keys()
    assert {each["key"] for each in lacking} == {"env:INCROWD_KEY"}
    for treat in lacking:
        treat["key"] = "prompt"
    for name in window.linked.chosen.having("?"):
        window.linked.chosen.columns[name]["role"] = "quasi"
    with pytest.raises(IncrowdError, match="terminal"):
        window.linked.anonymize(Watched())


def test_tables_that_nothing_joins_are_refused_by_the_name_that_their_owner_gave(window, tmp_path):
    source, places = window.upload_several(["a.csv", "b.csv"])
    for place, name in zip(places, ("x", "y"), strict=True):
        pl.DataFrame({name: [1, 2, 3]}).write_csv(place)
    with pytest.raises(TableError) as refused:
        window.open_linked(source)
    assert str(source.path) not in str(refused.value)
    assert str(refused.value).startswith("tables: no column")
    assert window.linked is None


def test_a_file_of_another_kind_is_refused_and_not_left_out(window):
    with pytest.raises(TableError, match=r"people\.xlsx: several tables together"):
        window.upload_several(["visits.csv", "people.xlsx"])
    assert not [path for path in window._private.path.iterdir() if path.is_dir()]


def test_tables_of_a_standard_are_drafted_with_their_hierarchies(window, tmp_path):
    for name, table in ic.samples.omop(60).items():
        table.write_csv(tmp_path / f"{name}.csv")
    assert window.open_linked(Source(tmp_path, "omop"))
    clinic = window.linked
    assert "OMOP" in clinic.chosen.origin
    assert next(iter(clinic.frames)) == "person"
    assert clinic.policy().order[0] == "person"
