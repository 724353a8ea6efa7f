"""A release inside DuckDB: ``python duckdb_recipe.py clinic.duckdb people people_safe policy.toml``.

The rows never leave the database. The new table is made in one transaction and judged before it ends.
Then the checks of the policy are run once more, as plain SQL over a Parquet copy: what an auditor would do.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import duckdb

import incrowd as ic
from incrowd.release.verification import checks_as_sql


def main(file: Path, table: str, target: str, policy_file: Path) -> str:
    """Release a table into another of the same database; return the verdict of the script."""
    with ic.Database(f"duckdb:///{file}") as database:
        release = ic.anonymize(database.table(table), ic.Policy.read(policy_file))
        release.into(target, force=True)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(str(file), read_only=True) as con:
        copy = Path(folder, "copy.parquet")
        con.sql(f'SELECT * FROM "{target}"').write_parquet(str(copy))
        row = duckdb.connect().execute(checks_as_sql(copy, policy_file)).fetchone()
    return "" if row is None else str(row[0])


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])))
