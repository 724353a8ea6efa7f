"""Private folders of dead processes go, unless an earlier step is stopped."""

from __future__ import annotations

import itertools
import os
import tempfile

import pytest

from incrowd.core.io import scratch
from incrowd.core.io.scratch import remove_dead
from incrowd_gate import scratch as verification


def left_by_a_dead_process(parent):
    folder = parent / ".incrowd-0123456789ab.tmp"
    folder.mkdir(0o700)
    (folder / "lock").touch(0o600)
    (folder / "before").write_text("what the user had")
    return folder


def test_the_folder_of_a_dead_process_goes(tmp_path):
    folder = left_by_a_dead_process(tmp_path)
    seen = []
    remove_dead(tmp_path, seen.append)
    assert seen == [folder]
    assert not folder.exists()


@pytest.mark.parametrize("error", [OSError, SystemExit, KeyboardInterrupt])
def test_a_folder_stays_where_what_comes_before_is_stopped(tmp_path, error):
    """The folder holds the files that a killed run replaced, and the next run gives the files back."""
    folder = left_by_a_dead_process(tmp_path)

    def stopped(_):
        raise error

    if error is OSError:
        remove_dead(tmp_path, stopped)
    else:
        with pytest.raises(error):
            remove_dead(tmp_path, stopped)
    assert (folder / "before").read_text() == "what the user had"


def _dies_at(folder, number, remove):
    """Remove a private folder, and die before the system removes the file or folder of that number."""
    count = itertools.count()

    def counted(real):
        def call(*arguments, **settings):
            if next(count) == number:
                os._exit(9)
            return real(*arguments, **settings)

        return call

    for name in ("unlink", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))
    remove(folder)
    os._exit(0)


def _fill(folder):
    (folder / "1").mkdir()
    (folder / "1" / "rows.parquet").write_text("raw")
    (folder / "waiting.parquet").write_text("raw")


KINDS = {
    "io": (
        scratch.PrivateFolder,
        lambda found: found.path,
        lambda found: found.remove(),
        scratch.remove_dead,
    ),
    "verification": (
        verification.PrivateFolder,
        lambda found: found._path,
        lambda found: found.__exit__(),
        verification._remove_dead,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_whose_removal_was_killed_goes_later(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make, place, remove, remove_dead = KINDS[kind]
    for number in itertools.count():
        child = os.fork()
        if not child:
            result = make()
            _fill(place(result))
            _dies_at(result, number, remove)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, 9)
        remove_dead(tmp_path)
        assert list(tmp_path.iterdir()) == [], number
        if not status:
            break
    assert number > 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_lost_its_lock_goes_and_one_in_use_stays(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make, place, remove, remove_dead = KINDS[kind]
    dead = left_by_a_dead_process(tmp_path).rename(tmp_path / "incrowd-0123456789ab.tmp")
    (dead / "lock").unlink()
    living = make()
    _fill(place(living))
    remove_dead(tmp_path)
    assert list(tmp_path.iterdir()) == [place(living)]
    assert (place(living) / "waiting.parquet").exists()
    remove(living)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_locked_leaves_nothing(tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scratch.os, "open", fails)
    with pytest.raises(OSError, match="No space"):
        scratch.PrivateFolder(tmp_path)
    assert list(tmp_path.iterdir()) == []
