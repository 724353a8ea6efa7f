"""An Airflow DAG of the nightly job: put it beside `nightly_job.py` into the folder of DAGs."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException
from nightly_job import PolicyError, run

FILES = (
    os.environ.get("CLINIC_TABLE", "people.csv"),
    os.environ.get("CLINIC_POLICY", "policy.toml"),
    os.environ.get("CLINIC_RELEASE", "safe.csv"),
)


@task(retries=2, retry_delay=timedelta(minutes=5))
def step(name: str) -> None:
    """Run a step; a verdict that does not hold fails at once, anything else is tried again."""
    try:
        run(name, *FILES)
    except PolicyError as error:
        raise AirflowFailException(str(error)) from None


@dag(schedule="30 2 * * *", start_date=datetime(2026, 1, 1, tzinfo=UTC), catchup=False)
def release_people() -> None:
    """Plan, release, verify, one after the other."""
    plan, release, verify = (step.override(task_id=name)(name) for name in ("plan", "release", "verify"))
    plan >> release >> verify


release_people()
