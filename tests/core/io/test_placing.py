"""Files get names together or not at all, and rights of new files are read, and never set for a moment."""

from __future__ import annotations

import json
import os
import stat

import pytest

from incrowd.core.io import placing
from incrowd.core.io.chain import Chain
from incrowd.core.io.placing import undo_unfinished
from incrowd.core.io.targets import Outputs, writing


def write(place, text):
    with writing(place) as path:
        path.write_text(text)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o027, 0o077, 0o177])
def test_the_rights_are_the_usual_ones_and_nobody_sets_the_umask(tmp_path, monkeypatch, umask):
    before = os.umask(umask)
    try:
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask of all threads was set"))
        with writing(tmp_path / "new", folder=True) as folder:
            (folder / "internal").mkdir()
            (folder / "part").write_text("x")
        write(tmp_path / "new.csv", "x")
    finally:
        monkeypatch.undo()
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    expected = {
        "new": 0o777 & ~umask, "internal": 0o700, "part": 0o666 & ~umask, "new.csv": 0o666 & ~umask
    }  # fmt: skip
    assert {name: modes[name] for name in expected} == expected
    assert set(modes) - set(expected) == {name for name in modes if name.startswith("_incrowd")}


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize("name", ["before", "undone", "lock", "steps.json", "record.json", "1", "rights"])
def test_an_output_may_have_the_name_of_anything_that_is_made_beside_it(
    tmp_path, monkeypatch, name, exchange
):
    if not exchange:
        monkeypatch.setattr(placing, "_rename", lambda *_: False)
    folder = name in ("before", "undone", "lock", "1", "rights")
    for text in ("old", "new"):
        with writing(tmp_path / name, folder=folder, force=True) as file:
            (file / "part" if folder else file).write_text(text)
    assert (tmp_path / name / "part" if folder else tmp_path / name).read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("names", [True, False])
def test_a_file_system_without_links_is_left_clean(tmp_path, monkeypatch, names):
    def refuse(*_, **__):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(placing.os, "link", refuse)
    if not names:
        monkeypatch.setattr(placing, "_rename", lambda *_: False)
    write(tmp_path / "new.csv", "new")
    assert (tmp_path / "new.csv").read_text() == "new"
    with pytest.raises(Exception, match=r"new\.csv: exists already"):
        write(tmp_path / "new.csv", "again")
    if not names:
        monkeypatch.setattr(placing.os, "replace", refuse)
        with pytest.raises(Exception, match="cannot be written"):
            write(tmp_path / "other.csv", "other")
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


@pytest.fixture
def left(tmp_path):
    """Leave the remains of a run that was killed after the record was on disk, before any renaming."""
    chain = Chain.create(tmp_path / "chain.jsonl")
    outputs = Outputs()
    target = outputs.add(tmp_path / "out.csv")
    with writing(target) as path:
        path.write_text("rows")
    step = target.finish()
    folder = path.parent.parent
    mark = placing.Publication([step], [folder]).recorded(chain.path)
    with chain.adding() as (_, append):
        append({"mark": mark})
    yield chain, folder, step
    for each in outputs._folders.values():
        each.remove()


def test_the_record_of_what_nobody_got_is_taken_back(left):
    chain, folder, _ = left
    undo_unfinished(folder)
    assert chain.read().records == []
    undo_unfinished(folder)
    assert chain.read().records == []


def test_the_record_of_what_somebody_may_have_got_stays(left):
    chain, folder, step = left
    step.put()
    undo_unfinished(folder)
    assert len(chain.read().records) == 1
    # Somebody took it away: a name that came and went is seen, too.
    step.target.unlink()
    undo_unfinished(folder)
    assert len(chain.read().records) == 1


def test_the_record_of_another_release_stays(left):
    chain, folder, _ = left
    with chain.adding() as (_, append):
        append({"mark": "another"})
    undo_unfinished(folder)
    assert len(chain.read().records) == 2


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "[1, 2, 3, 4]", '["none", "a", "b", [1]]', "null", "\xff"]
)
def test_notes_that_nobody_can_read_change_nothing(left, content):
    chain, folder, step = left
    for name in ("record.json", "steps.json"):
        (folder / name).write_text(content, encoding="latin-1")
    undo_unfinished(folder)
    assert len(chain.read().records) == 1
    assert step.source.exists()


def test_a_ledger_that_is_gone_keeps_nobody_from_cleaning_up(left):
    chain, folder, _ = left
    chain.path.unlink()
    undo_unfinished(folder)
    assert json.loads((folder / "record.json").read_text())[0] == str(chain.path)
