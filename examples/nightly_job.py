"""What a scheduler runs every night: plan, release, verify; Airflow's and Dagster's files call it.

``python nightly_job.py people.csv policy.toml safe.csv`` ends with the status of the step that failed: 1
where the data cannot satisfy the policy or a point waits for an answer (tell somebody), 2 where the call or
the input is wrong (mend it).
Logs are JSON records on standard error.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

STEPS = ("plan", "release", "verify")


class PolicyError(Exception):
    """The verdict does not hold; to try again would not help."""


def command(step: str, table: str, policy: str, release: str) -> list[str]:
    """Return the command of a step."""
    quiet = ["--quiet", "--log-format", "json", "--log-level", "info"]
    calls = {
        "plan": ["anonymize", table, "--policy", policy, "--dry-run", "--json"],
        "release": ["anonymize", table, "--policy", policy, "-o", release, "--force"],
        "verify": ["verify", release, "--policy", policy],
    }
    return [sys.executable, "-m", "incrowd", *calls[step], *quiet]


def run(step: str, table: str, policy: str, release: str) -> None:
    """Run one step; what another try cannot mend is a `PolicyError`."""
    status = subprocess.run(command(step, table, policy, release), check=False).returncode
    if status == 1:
        raise PolicyError(f"{step}: the policy is not satisfied, or does not answer a point; read the log")
    if status:
        raise RuntimeError(f"{step}: exit status {status}")


def main(arguments: Sequence[str]) -> int:
    """Run every step."""
    for step in STEPS:
        try:
            run(step, *arguments)
        except PolicyError as error:
            print(error, file=sys.stderr)
            return 1
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
