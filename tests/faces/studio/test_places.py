"""Projects of the studio: files of the folder, further commands, and the next batch."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import IncrowdError, ParameterError, TableError
from incrowd.faces.cli import main
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.places import Batch, Project, keep, projects
from incrowd.faces.studio.tables import Source
from incrowd.faces.studio.work import Work
from incrowd.release.policy.policy_file import read_toml
from incrowd_gate.points import Accepted

pytestmark = pytest.mark.gated

POLICY = """version = 1
max_suppression = 0.05
unlisted = "drop"
columns.patient_id = { role = "person" }
columns.age = { role = "quasi", hierarchy = { intervals = [5, 10] } }
columns.sex = { role = "quasi" }
columns.diagnosis = { role = "sensitive" }
algorithm.name = "optimal"
models = [{ model = "k-anonymity", k = 5 }, { model = "l-diversity", l = 2 }]
"""


def month(folder: Path, name: str, seed: int, rows: int = 500) -> Source:
    path = folder / f"{name}.csv"
    ic.samples.hospital(rows, seed=seed).write_csv(path)
    return Source(path, path.name)


def window_of(folder: Path, source: Source, policy: str = POLICY) -> Work:
    """A window with the release of a table under a policy."""
    (folder / "p.toml").write_text(policy)
    window = Work((read_toml(folder / "p.toml"), folder / "p.toml"))
    window.open(source)
    window.anonymize(Watched())
    return window


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> Project:
    """A project that was kept from a release of 2,000 people of January."""
    folder = tmp_path_factory.mktemp("places")
    (folder / "in").mkdir()
    window = window_of(folder, month(folder / "in", "january", 1, 2_000))
    project = keep(window, folder, "clinic", "hospital A")
    window.close()
    return project


@pytest.fixture
def kept(first, tmp_path) -> Project:
    """A copy of that project, which a test may go on from."""
    shutil.copytree(first.folder, tmp_path / "clinic")
    return projects(tmp_path)[0]


def batch_of(project: Project, name: str, seed: int, rows: int = 500) -> Batch:
    """A new month, opened by a window."""
    window = Work()
    source = month(project.folder.parent, name, seed, rows)
    window.begin_batch(project, source, None, Watched())
    assert window.batch is not None
    return window.batch


def incrowd(folder: Path, *words: object) -> int:
    """Run a command in a folder, and return the status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["incrowd", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
    return int(stop.value.code or 0)


def test_a_project_is_kept_and_found_with_its_table_release_and_recoding(kept, tmp_path):
    assert [each.folder.name for each in projects(tmp_path)] == ["clinic"]
    assert [each.folder.name for each in projects(kept.folder)] == ["clinic"]
    assert kept.state == ("holds", "holds")
    assert kept.table == kept.folder / "internal" / "january.csv"
    assert kept.release == kept.folder / "release-1.csv"
    assert kept.recoding == kept.folder / "internal" / "recoding"
    assert [each["recipient"] for each in kept.entries] == ["hospital A"]
    for private in ("policy.toml", "internal/january.csv", "internal/release-1.json", "internal/recoding"):
        assert (kept.folder / private).stat().st_mode & 0o077 == 0, private


def test_a_folder_without_policy_or_ledger_is_no_project(kept, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "policy.toml").write_text(POLICY)
    shutil.copytree(kept.folder / "ledger", tmp_path / "third" / "ledger")
    assert len(projects(tmp_path)) == 1
    assert projects(tmp_path / "nowhere") == []


def test_an_account_that_is_none_and_a_file_that_is_gone_hide_no_project(kept, tmp_path):
    kept.internal("release", ".json", 1).write_text("{")
    (kept.folder / "internal" / "nowhere.csv").symlink_to(tmp_path / "nowhere.csv")
    assert projects(tmp_path)[0].state == ("holds", "holds")
    kept.internal("release", ".json", 1).write_text('{"verdict": {"state": "open"}}')
    assert projects(tmp_path)[0].state == ("open", "a point is open")


def test_a_project_says_what_is_wrong_with_it(kept, tmp_path):
    kept.folder.joinpath("release-1.csv").write_text("age\n1\n")
    changed = projects(tmp_path)[0]
    assert changed.state == ("broken", "its file was moved or changed")
    chain = kept.folder / "ledger" / "ledger.jsonl"
    chain.write_text(chain.read_text().replace("hospital A", "hospital B"))
    changed = projects(tmp_path)[0]
    assert changed.state == ("broken", "the ledger was changed")
    with pytest.raises(TableError, match="ledger"):
        batch_of(changed, "february", 2).make(Watched())


@pytest.mark.slow
def test_the_command_line_goes_on_from_a_project_and_the_studio_from_the_command_line(kept, tmp_path, capsys):
    february, march = month(tmp_path, "february", 2), month(tmp_path, "march", 3)
    common = ["--policy", "policy.toml", "--ledger", "ledger", "--recipient", "hospital A"]
    hold = ["--hold", "internal/waiting-2.parquet"]
    apply = ["apply", "internal/recoding"]
    assert incrowd(kept.folder, *apply, february.path, *common, *hold, "-o", "of-february.csv") == 0
    project = projects(tmp_path)[0]
    assert (len(project.entries), project.release) == (2, kept.folder / "of-february.csv")
    assert project.state == ("holds", "holds")
    assert project.table is None  # It lies elsewhere.
    batch = batch_of(project, "march", 3)
    batch.new_people = True
    told = {name: (then, now) for name, then, now in batch.make(Watched()).figures}
    # The command kept no account, so the file says what it says.
    assert told["Rows"] == (f"{pl.read_csv(project.release).height:,}", f"{batch.release.table.height:,}")
    assert told["Loss"][0] == "not known"
    assert "rows that waited came with this batch." in batch.differences.sentences[0]
    assert batch.record("hospital B") == kept.folder / "release-3.csv"
    assert incrowd(kept.folder, "ledger", "verify", "ledger") == 0
    april = ["--ledger-new-people", "-o", "of-april.csv", "--json"]
    source = month(tmp_path, "april", 4)
    capsys.readouterr()
    assert incrowd(kept.folder, *apply, source.path, *common, *april) == 0
    kept.internal("release", ".json", 4).write_text(capsys.readouterr().out)
    last = projects(tmp_path)[0]
    assert last.account["privacy"]["records"] == pl.read_csv(kept.folder / "of-april.csv").height
    assert last.state == ("holds", "holds")
    assert march.path.read_bytes() == (kept.folder / "internal" / "march.csv").read_bytes()
    assert [each["command"] for each in projects(tmp_path)[0].entries] == ["anonymize"] + ["apply"] * 3


@pytest.mark.slow
def test_a_project_that_the_commands_made_gets_its_batch_and_verify_agrees(tmp_path):
    folder = tmp_path / "ward"
    folder.mkdir()
    (folder / "policy.toml").write_text(POLICY.replace('columns.patient_id = { role = "person" }\n', ""))
    month(folder, "people", 1, 2_000)
    common = ["--policy", "policy.toml", "--ledger", "ledger", "--recipient", "hospital A"]
    with pytest.MonkeyPatch.context() as patch:
        # People of one age and sex are paired by the order of their digests, which the key decides.
        patch.setattr("secrets.token_bytes", lambda size: bytes([1]) * size)
        assert incrowd(folder, "ledger", "init", "ledger") == 0
    arguments = ["anonymize", "people.csv", *common, "-o", "safe.csv", "--recoding", "recoding"]
    assert incrowd(folder, *arguments) == 0
    project = projects(tmp_path)[0]
    assert (project.table, project.release) == (folder / "people.csv", folder / "safe.csv")
    assert (project.recoding, project.state) == (folder / "recoding", ("holds", "holds"))
    batch = batch_of(project, "february", 2)
    figures = {name: then for name, then, _ in batch.make(Watched()).figures}
    assert (figures["Rows"], figures["Loss"]) == ("2,000", "not known")
    assert batch.release.together is not None
    batch.record("hospital A")
    check = ["verify", "release-2.csv", "--policy", "policy.toml", "--previous-release", "safe.csv"]
    assert incrowd(folder, *check) == 0
    assert incrowd(folder, "ledger", "verify", "ledger") == 0


@pytest.mark.slow
def test_a_batch_is_compared_with_the_month_before_and_recorded(kept, tmp_path):
    batch = batch_of(kept, "february", 2)
    rows = next(values for name, *values in batch.make(Watched()).figures if name == "Rows")
    assert rows == ["2,000", str(batch.release.table.height)]
    assert batch.release.table.height + batch.release.held == 500
    batch.record("hospital A")
    project = projects(tmp_path)[0]
    assert (len(project.entries), project.release.name) == (2, "release-2.csv")
    assert project.account["utility"]
    assert project.internal("waiting", ".parquet", 2).stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_what_the_ledger_refuses_is_not_recorded_and_has_a_way_out(kept, tmp_path):
    batch = batch_of(kept, "february", 2)
    batch.make(Watched())
    batch.record("hospital A")
    # Of a similar size, and other people: the ledger asks.
    batch = batch_of(projects(tmp_path)[0], "march", 3)
    with pytest.raises(TableError, match="if they are others, say so"):
        batch.make(Watched())
    assert batch.release is None
    assert len(projects(tmp_path)[0].entries) == 2
    batch.new_people = True
    batch.make(Watched())
    batch.record("hospital A")
    # January once more with some new people, by other intervals.
    people = pl.concat(
        [pl.read_csv(tmp_path / "february.csv"), ic.samples.hospital(40, seed=8)], how="vertical_relaxed"
    )
    people.write_csv(tmp_path / "both.csv")
    window = Work()
    project = projects(tmp_path)[0]
    window.begin_batch(project, Source(tmp_path / "both.csv", "both.csv"), None, Watched())
    with pytest.raises(IncrowdError, match=r"exposes .* people") as refused:
        window.batch.make(Watched())
    assert "Recode the new people alone as before" in str(refused.value)
    assert len(projects(tmp_path)[0].entries) == 3


def test_a_batch_may_be_searched_anew_and_leaves_its_recoding_for_the_next(kept, tmp_path):
    batch = batch_of(kept, "february", 2)
    batch.make(Watched(), anew=True)
    batch.record("hospital A")
    project = projects(tmp_path)[0]
    assert project.recoding == kept.folder / "internal" / "recoding-2"
    assert project.entries[-1]["command"] == "anonymize"


def test_an_open_point_is_answered_before_a_batch_is_recorded(kept, tmp_path):
    table = ic.samples.hospital(500, seed=2).with_columns(diagnosis=pl.format("Z{}", pl.int_range(pl.len())))
    table.write_csv(tmp_path / "february.csv")
    window = Work()
    window.begin_batch(kept, Source(tmp_path / "february.csv", "february.csv"), None, Watched())
    batch = window.batch
    batch.make(Watched())
    assert batch.release.verdict.state == "open"
    with pytest.raises(IncrowdError, match="unique-column"):
        batch.record("hospital A")
    batch.accept([Accepted(each.name, each.columns[0], "made up") for each in batch.release.verdict.open])
    batch.record("hospital A")
    assert len(projects(tmp_path)[0].entries) == 2


def test_nothing_is_kept_without_a_recipient_or_over_a_project(first, tmp_path):
    window = window_of(tmp_path, month(tmp_path, "january", 1))
    with pytest.raises(ParameterError, match="who gets the release"):
        keep(window, tmp_path, "ward", " ")
    assert projects(tmp_path) == []
    # What was left of that does not stand in the way.
    assert keep(window, tmp_path, "../ward", "hospital A").folder == tmp_path / "ward"
    with pytest.raises(TableError, match="there is a project of this name"):
        keep(window, tmp_path, "ward", "hospital A")
    window.close()


def test_a_series_goes_on_with_its_own_command(kept):
    entry = kept.entries[-1] | {"command": "next"}
    batch = batch_of(Project(kept.folder, kept.ledger, [entry]), "february", 2)
    with pytest.raises(ParameterError, match="incrowd next"):
        batch.make(Watched())


def test_the_columns_of_a_ledger_are_taken_from_its_last_entry(kept):
    entry = kept.entries[-1]
    assert kept.keys == ["patient_id"]
    assert Project(kept.folder, kept.ledger, [entry | {"matched_by": "rows of ['age']"}]).keys == []
    assert Project(kept.folder, kept.ledger).keys == []
