"""A course of three hours: lessons as notebooks, tables, and a check of answers.

For example, ``check("k-of-a-table", 3)`` prints that 3 is right, or raises an error that names the mistake.
"""

from __future__ import annotations

from incrowd.course.checking import NotYetError, check, fallback
from incrowd.course.pictures import bars, partitions
from incrowd.course.tables import table

__all__ = ["NotYetError", "bars", "check", "fallback", "partitions", "table"]
