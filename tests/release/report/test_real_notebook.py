"""A notebook in a real kernel: the bar is shown and goes away, and results are shown as tables and charts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

DRIVER = Path(__file__).parents[2] / "notebook_driver.py"
CELLS = [
    "import incrowd as ic\n"
    "people = ic.samples.hospital(3_000)\n"
    "schema = ic.Schema(quasi=['age', 'sex'], sensitive=['diagnosis'], unlisted='drop')\n"
    "release = ic.anonymize(people, schema, 'k-anonymity:5', unanswered='write')",
    "release",
    "release.plot.classes()",
    "ic.anonymize(people, schema, 'k-anonymity:4000')",
    "class Own:\n    def stage(self, name): pass\n    def advance(self, done, total): pass\n"
    "ic.assess(people, schema, progress=Own())\n"
    "None",
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("nbclient") is None or find_spec("ipykernel") is None, reason="no kernel"),
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The displayed output of each cell, in order."""
    home = tmp_path_factory.mktemp("jupyter")
    places = {
        name: str(home)
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR")
    }
    process = subprocess.run(
        [sys.executable, str(DRIVER)], input=json.dumps(CELLS), capture_output=True, text=True, check=False,
        env=os.environ | places, cwd=home,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def bars(cell):
    """The texts of the bar, which is displayed once, empty, and changed in the same place."""
    assert cell[0] == ["display_data", cell[0][1]]
    assert cell[0][1]["text/html"] == ""
    return [data["text/html"] for message, data in cell if message == "update_display_data"]


def test_a_bar_is_shown_while_a_job_runs_and_goes_away(shown):
    texts = bars(shown[0])
    assert len(shown[0]) == len(texts) + 1
    assert texts[-1] == ""
    assert all(text.startswith("<progress max=100") for text in texts[:-1])
    stages = list(dict.fromkeys(re.sub(r"<.*?>| [0-9]+ %", "", text).strip() for text in texts[:-1]))
    assert {"count", "search", "check"} <= set(stages)
    percents = [int(match[1]) for text in texts if (match := re.search("value=([0-9]+)", text))]
    assert (min(percents), max(percents)) == (0, 100)


def test_a_bar_goes_away_where_the_job_fails(shown):
    assert bars(shown[3])[-1] == ""
    assert shown[3][-1] == ["error", {"text/plain": "ParameterError"}]


def test_no_bar_is_shown_beside_another_progress(shown):
    assert shown[4] == []


def test_a_result_is_shown_as_tables_and_a_chart_as_a_chart(shown):
    [[_, result]] = shown[1]
    assert "<table" in result["text/html"]
    assert result["text/plain"].startswith("Release(3,000 records")
    [[_, chart]] = shown[2]
    assert "vega" in json.dumps(chart)
    assert "records" in json.dumps(chart)
