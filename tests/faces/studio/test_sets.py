"""Columns whose cells hold sets, behind a window."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.faces.studio import declared, export, status
from incrowd.faces.studio.account import attempts
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.exploring import try_of
from incrowd.faces.studio.panels.cells import cells_in_words, has_cells_form
from incrowd.faces.studio.sets import hold_sets, lacking
from incrowd.faces.studio.values import most_frequent
from incrowd.faces.studio.work import Source, Work
from incrowd.release.policy.policy_file import read_toml

CELLS = ["E11;I10", "E11;I10;J45", "E11;I11;J45", "E10;I11", "I10;J45", "E10;I10", "J45", "E10;I11;J44"]


@pytest.fixture
def window(tmp_path):
    """A window with a table of sets, whose draft has the diagnoses as lists of a sensitive column."""
    path = tmp_path / "stays.csv"
    rows = {"sex": ["f"] * 40 + ["m"] * 40, "diagnoses": CELLS * 10}
    pl.DataFrame(rows).write_csv(path)
    state = Work()
    state.open(Source(path, path.name))
    state.chosen.columns["sex"]["role"] = "quasi"
    yield state
    state.close()


def as_sets(window: Work, known: int = 2) -> dict:
    """Give the diagnoses the role and the kind by the steps that the page has for them."""
    settings = window.chosen.columns["diagnoses"]
    declared.give_role(settings, "diagnoses", "quasi")
    hold_sets(window.chosen, "diagnoses", holds=True)
    settings["known"] = known
    window.changed()
    return settings


def test_a_drafted_column_of_lists_becomes_one_of_sets_by_the_sign_that_the_draft_found(window):
    assert window.chosen.lists == {"diagnoses": ";"}
    assert window.chosen.columns["diagnoses"] == {"role": "sensitive", "parts": ";"}
    assert cells_in_words(window.chosen.columns["diagnoses"]) == "lists parted by ';'"
    settings = as_sets(window)
    assert settings == {"role": "quasi", "kind": "set", "parts": ";", "known": 2}
    assert cells_in_words(settings) == "sets parted by ';', 2 items known"
    # No column is sensitive any more, and l-diversity is not defined beside items.
    assert [each["model"] for each in window.chosen.models] == ["k-anonymity"]
    assert window.policy().schema.sets[0].name == "diagnoses"
    hold_sets(window.chosen, "diagnoses", holds=False)
    assert settings == {"role": "quasi"}


@pytest.mark.parametrize(
    ("role", "left"), [("quasi", {"kind": "set", "parts": ";", "known": 2}), ("sensitive", {"parts": ";"}),
                       ("insensitive", {}), ("identifying", {})],
)  # fmt: skip
def test_a_column_of_sets_may_get_any_other_role(window, role, left):
    settings = as_sets(window)
    declared.give_role(settings, "diagnoses", role)
    assert settings == {"role": role} | left
    window.policy()


def test_settings_of_single_values_leave_a_column_of_sets(window):
    declared.give_role(settings := window.chosen.columns["diagnoses"], "diagnoses", "quasi")
    settings.update(hierarchy={"intervals": [5]}, treat={"fold": True}, levels=[1], format="%Y")
    assert as_sets(window) == {"role": "quasi", "kind": "set", "parts": ";", "known": 2}
    settings["hierarchy"] = {"prefix": True}
    hold_sets(window.chosen, "diagnoses", holds=True)
    assert settings["hierarchy"] == {"prefix": True}


def test_a_table_with_sets_is_released_and_its_rows_stand_side_by_side(window):
    as_sets(window)["hierarchy"] = {"prefix": True}
    window.changed()
    release = window.anonymize(Watched())
    assert release.verdict.holds
    before, after, height = window.pairs(0, 80)
    assert height == 80
    assert before["diagnoses"].to_list() == CELLS * 10
    for raw, cell in zip(before["diagnoses"], after["diagnoses"], strict=True):
        assert all(any(x.startswith(item.rstrip("*")) for x in raw.split(";")) for item in cell.split(";"))
    # The items are counted, not the lists: raw ones before, and those that leave after.
    items = dict(window.distribution("diagnoses"))
    assert sum(items.values()) == sum(len(cell.split(";")) for cell in after["diagnoses"])
    figures = status.figures(window)
    fewest = release.privacy.results.asked[-1].value
    assert figures.knows == "whoever knows sex and 2 items of diagnoses, and nothing else"
    assert (figures.before, figures.after) == (None, 1 / fewest)
    assert try_of(release, window.chosen.document).risk == 1 / fewest


def test_the_files_are_those_of_the_command_and_verify_agrees(window, tmp_path):
    as_sets(window)
    window.anonymize(Watched())
    policy, name = export.policy_file(window, window.release.policy)
    assert name == "policy.toml"
    assert read_toml(policy)["columns"]["diagnoses"]["kind"] == "set"
    path, _ = export.release_file(window, Watched())
    assert ic.verify(path, policy).verdict.holds


def test_items_are_counted_by_cell_and_make_the_tree(window):
    settings = as_sets(window)
    counts = {"E10": 30, "E11": 30, "I10": 40, "I11": 30, "J44": 10, "J45": 40}
    assert window.counts("diagnoses") == counts
    assert dict(window.distribution("diagnoses")) == counts
    assert dict(most_frequent(pl.Series("diagnoses", ["a|b", "b|b", None]), settings | {"parts": "|"})) == {
        "b": 2,
        "a": 1,
    }
    assert window.editor("diagnoses").most_frequent() in (("I10", "*"), ("J45", "*"))


def test_the_form_of_cells_is_there_for_texts_and_lists_alone(window):
    declared.give_role(window.chosen.columns["diagnoses"], "diagnoses", "quasi")
    have = [name for name in window.chosen.columns if has_cells_form(window.chosen, name, window.columns)]
    assert have == ["sex", "diagnoses"]
    window.chosen.columns["sex"]["role"] = "sensitive"
    assert not has_cells_form(window.chosen, "sex", window.columns)


def test_what_is_not_there_for_sets_is_said_in_a_line(window):
    assert lacking(window.chosen.columns, "Trials") == ""
    as_sets(window)
    said = "Trials: not for a table with sets, and diagnoses holds sets."
    assert lacking(window.chosen.columns, "Trials") == said
    window.anonymize(Watched())
    for job in (window.explore, window.assess):
        with pytest.raises(ic.IncrowdError, match="diagnoses' holds sets"):
            job(Watched())


def test_items_are_known_to_the_attacker(window):
    as_sets(window)
    window.anonymize(Watched())
    [attempt] = window.attack(Watched())
    assert attempt.name == "items"
    assert attempt.figures["fewest"] >= 2
    assert len(attempts([attempt])) == 1


def test_a_policy_with_sets_opens_without_loss(tmp_path):
    (tmp_path / "policy.toml").write_text(
        'version = 1\n[columns.sex]\nrole = "quasi"\n[columns.diagnoses]\nrole = "quasi"\nkind = "set"\n'
        'parts = "|"\nknown = 3\nhierarchy = { prefix = true }\n[[models]]\nmodel = "k-anonymity"\nk = 2\n'
    )
    cells = [each.replace(";", "|") for each in CELLS]
    pl.DataFrame({"sex": ["f", "m"] * 4, "diagnoses": cells}).write_csv(tmp_path / "stays.csv")
    window = Work((read_toml(tmp_path / "policy.toml"), tmp_path / "policy.toml"))
    window.open(Source(tmp_path / "stays.csv", "stays.csv"))
    assert window.sets == ["diagnoses"]
    [column] = window.policy().schema.sets
    assert (column.parts, column.known) == ("|", 3)
    window.anonymize(Watched())
    assert window.release.sets is not None
    window.close()
