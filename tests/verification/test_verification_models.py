"""Models that verify measures with separate SQL, against assess on the same file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic

SECOND = [
    ic.KAnonymity(1),
    ic.LDiversity(1.0, "entropy"),
    ic.AlphaKAnonymity(1.0, 1),
    ic.BetaLikeness(50.0),
    ic.MaximumRisk(1.0),
    ic.AverageRisk(1.0),
]


@pytest.mark.slow
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["a", "b", "*"]), st.sampled_from("xyz"), st.integers(0, 3)),
        min_size=1,
        max_size=30,
    ).filter(lambda rows: any(row[0] != "*" for row in rows))
)
def test_more_models_agree_with_assess(rows):
    """Each model that verify learned later, against assess on the same file."""
    schema = ic.Schema(quasi=["q"], sensitive=["s", "n"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        pl.DataFrame(rows, schema=["q", "s", "n"], orient="row").write_csv(path)
        ic.Policy(schema, tuple(SECOND), max_suppression=1.0).write(Path(folder) / "p.toml")
        verification = ic.verify(path, Path(folder) / "p.toml")
        assessed = ic.assess(path, schema, SECOND)
    assert verification.keeps_limits
    measured = [m for m in assessed.privacy if m.limit is not None]
    assert len(verification.findings) == len(measured) == 10
    for finding, expected in zip(verification.findings, measured, strict=True):
        assert (finding.model, finding.attribute) == (expected.model, expected.attribute)
        assert finding.reached == pytest.approx(expected.value, rel=1e-12)
        assert finding.holds == expected.holds


def test_more_models_fail_when_they_should(tmp_path):
    path = tmp_path / "t.csv"
    pl.DataFrame({"q": list("aaab"), "s": list("xxyx")}).write_csv(path)
    schema = ic.Schema(quasi=["q"], sensitive=["s"])
    models = (
        ic.LDiversity(1.01, "entropy"), ic.AlphaKAnonymity(0.9, 2), ic.BetaLikeness(0.3), ic.MaximumRisk(0.9),
        ic.AverageRisk(0.49),
    )  # fmt: skip
    ic.Policy(schema, models).write(tmp_path / "p.toml")
    findings = ic.verify(path, tmp_path / "p.toml").findings
    assert [finding.holds for finding in findings] == [False] * 6
