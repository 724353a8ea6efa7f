"""Private folders of dead processes go, unless something stops what has to be done before."""

from __future__ import annotations

import pytest

from incrowd.io.scratch import remove_dead


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
    """It holds what a killed run replaced, and the next run gives it back."""
    folder = left_by_a_dead_process(tmp_path)

    def stopped(_):
        raise error

    if error is OSError:
        remove_dead(tmp_path, stopped)
    else:
        with pytest.raises(error):
            remove_dead(tmp_path, stopped)
    assert (folder / "before").read_text() == "what the user had"
