"""Texts that mean a missing answer."""

MISSING_TEXTS = (
    "?", "??", "NA", "N/A", "n/a", "N.A.", "n.a.", "#N/A", "#NULL!", "-", "--", "---", ".", "..", "null",
    "NULL", "Null", "(null)", "<NA>", "nan", "NaN", "NAN", "missing", "Missing", "MISSING", "k.A.", "s/d",
    "n.d.",
)  # fmt: skip
"""Texts of missing answers. `None` and `unknown` may be answers and are not included."""
