"""Progress in words, and the stages of a release."""

from __future__ import annotations

import ast

import pytest

from incrowd.core.progress import RELEASE, STAGES
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.job import in_words
from incrowd.faces.studio.work import Source, Work
from incrowd.samples import hospital
from package_sources import nodes, place, sources


@pytest.mark.parametrize(
    ("state", "steps", "text"),
    [
        (("count", 3.0, None), RELEASE, "Counting records, step 1 of 8"),
        (("search", 10.0, 0.5), RELEASE,
         "Searching for a recoding, step 3 of 8, 50%, about 10 s left in this step"),
        (("search", 10.0, 0.01), RELEASE, "Searching for a recoding, step 3 of 8, 1%"),
        (("search", 0.5, 0.5), RELEASE, "Searching for a recoding, step 3 of 8, 50%"),
        (("compare", 60.0, 0.25), (), "Comparing settings, 25%, about 3 min left"),
        (("compare", 60.0, 1.0), (), "Comparing settings, 100%, about 5 s left"),
        (("treat", 1.0, None), RELEASE, "Treating columns"),
        (("t-closeness: t = 0.4 in place of 0.1: search", 9.0, 0.5), (),
         "Trying: t-closeness: t = 0.4 in place of 0.1"),
        (("linkage", 9.0, None), (), "linkage"),
    ],
)  # fmt: skip
def test_progress_is_described_in_words(state, steps, text):
    assert in_words(*state, steps) == text


class Stages(Watched):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def stage(self, name: str) -> None:
        self.names.append(name)
        super().stage(name)


@pytest.mark.slow
def test_the_steps_of_a_release_are_its_stages(tmp_path):
    hospital(200).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    work = Work()
    work.open(Source(tmp_path / "people.csv", "people.csv"))
    watched = Stages()
    work.anonymize(watched)
    work.close()
    assert tuple(watched.names) == RELEASE


@pytest.mark.slow
def test_every_stage_of_a_job_has_words():
    named = {
        node.args[0].value
        for path in sources()
        if {"jobs", "studio"} & {*place(path).parts}
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") == "stage"
        and isinstance(node.args[0], ast.Constant)
    }
    assert set(RELEASE) <= named
    assert named <= set(STAGES)
