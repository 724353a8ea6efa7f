"""The last line of a command sounds like a verdict only if the verdict holds."""

from __future__ import annotations

import pytest

from incrowd.faces.cli.summary import last_line
from incrowd_gate.points import Point
from incrowd_gate.verdict import Verdict

pytestmark = pytest.mark.gated

POINT = Point("much-suppressed", (), 0.3, "30% are suppressed.", "Ask for less.")


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,number\n" + "".join(f"{20 + row % 20},{1000 + 7 * row}\n" for row in range(60)))
    return path


def test_a_release_with_open_points_is_written_although_they_are_open(run, people, tmp_path):
    arguments = ("anonymize", str(people), "--qi", "age", "--insensitive", "number", "-k", "3")
    result = run(*arguments, "-o", str(tmp_path / "out.csv"), "--unanswered", "write")
    assert result.status == 0, result.err
    assert result.out.splitlines()[-1].startswith("written although 1 point is open: ")
    assert "every model holds" not in result.out
    answer = ("--accept", "unique-column:number=a number that we made up")
    result = run(*arguments, "-o", str(tmp_path / "other.csv"), *answer)
    assert result.status == 0, result.err
    last = result.out.splitlines()[-1]
    assert last.startswith("written: ")
    assert "every model holds" in last


def test_several_points_are_counted():
    assert last_line(Verdict((POINT, POINT)), "a.csv", "x") == "written although 2 points are open: a.csv"
    assert last_line(Verdict(()), "a.csv", "every model holds") == "written: a.csv, every model holds"
