"""Blocks are recoded by the driver's Python, and an error without that Python shows the way out."""

from __future__ import annotations

import sys

import pytest

import incrowd as ic
from incrowd.engines.spark.errors import translated
from incrowd.samples import hospital

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


@pytest.fixture
def other(tmp_path, spark, monkeypatch) -> str:
    """A Python without any package, which the session's workers are to run."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    return str(python)


def in_blocks(spark) -> None:
    table = spark.createDataFrame(hospital(300).select("age", "sex").to_arrow())
    ic.anonymize(table, ic.Schema(quasi=["age", "sex"]), [ic.KAnonymity(3)], blocks=2).unpersist()


def test_local_workers_run_the_drivers_python(spark, other, monkeypatch):
    monkeypatch.delenv("PYSPARK_PYTHON")
    in_blocks(spark)
    # The user's own functions run as before.
    assert spark.sparkContext.pythonExec == other


def test_an_error_says_how_workers_get_the_drivers_python(spark, other, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", other)
    with pytest.raises(ic.TableError, match=r"lacks incrowd .*spark.archives.* PYSPARK_PYTHON") as caught:
        in_blocks(spark)
    assert "lazy_loader" not in str(caught.value)


@pytest.mark.parametrize(
    "said", ["[PYTHON_VERSION_MISMATCH] 3.9", 'java.io.IOException: Cannot run program "python3": error=2']
)
def test_other_ways_in_which_a_python_is_another(said):
    from pyspark.errors import PySparkException

    assert "has another version" in str(translated(PySparkException(said)))
