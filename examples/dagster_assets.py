"""The nightly job as a Dagster asset with a check: ``dagster dev -f dagster_assets.py``."""

import os

import dagster as dg
from nightly_job import PolicyError, run

FILES = (
    os.environ.get("CLINIC_TABLE", "people.csv"),
    os.environ.get("CLINIC_POLICY", "policy.toml"),
    os.environ.get("CLINIC_RELEASE", "safe.csv"),
)


@dg.asset(retry_policy=dg.RetryPolicy(max_retries=2, delay=300))
def people_safe() -> dg.MaterializeResult:
    """Release the table; a verdict that does not hold is not tried again."""
    try:
        run("plan", *FILES)
        run("release", *FILES)
    except PolicyError as error:
        raise dg.Failure(str(error), allow_retries=False) from None
    return dg.MaterializeResult(metadata={"release": dg.MetadataValue.path(FILES[2])})


@dg.asset_check(asset=people_safe)
def policy_holds() -> dg.AssetCheckResult:
    """Check the released file by the second implementation."""
    try:
        run("verify", *FILES)
    except PolicyError as error:
        return dg.AssetCheckResult(passed=False, metadata={"why": str(error)})
    return dg.AssetCheckResult(passed=True)


defs = dg.Definitions(assets=[people_safe], asset_checks=[policy_holds])
