"""Texts that mean a missing answer."""

MISSING_TEXTS = (
    "?", "??", "NA", "N/A", "n/a", "N.A.", "n.a.", "#N/A", "#NULL!", "-", "--", "---", ".", "..", "null",
    "NULL", "Null", "(null)", "<NA>", "nan", "NaN", "NAN", "missing", "Missing", "MISSING", "k.A.", "s/d",
    "n.d.",
)  # fmt: skip
"""`None` and `unknown` are answers, too, so they are not here."""
