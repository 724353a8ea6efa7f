"""Count tables, checked a second time: `check` judges, and `recount` counts anew from the raw table."""

from incrowd_verify.count_tables.check import TableVerification, verify_tables
from incrowd_verify.count_tables.published import Cell, PublishedTable, is_tables, read_manifest
from incrowd_verify.count_tables.recount import RawTable

__all__ = [
    "Cell",
    "PublishedTable",
    "RawTable",
    "TableVerification",
    "is_tables",
    "read_manifest",
    "verify_tables",
]
