"""How documents and figures are written."""

from __future__ import annotations

import json
import math

import pytest

from incrowd.core.documents import envelope, figure, plain, range_text, to_json
from incrowd_gate.ranges import bounds_of
from incrowd_verify import recipes
from incrowd_verify.cells import ends_of


def test_every_document_says_its_format_and_version():
    assert envelope("release") == {"format": "incrowd release", "version": 1}
    assert envelope("policy", 2)["version"] == 2


def test_json_has_no_infinity():
    document = {"a": [1.0, (math.inf, -math.inf)], "b": {"c": math.nan, "d": None, "e": "x", "f": True}}
    assert json.loads(to_json(document), parse_constant=pytest.fail) == {
        "a": [1.0, ["infinity", "-infinity"]],
        "b": {"c": None, "d": None, "e": "x", "f": True},
    }
    assert plain(math.inf) == "infinity"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (None, 4, "nothing"),
        (3, 4, "3"),
        (3.0, 6, "3"),
        (1234567.0, 6, "1,234,567"),
        (1234.5678, 4, "1,235"),
        (1234.5678, 6, "1234.57"),
        (0.000123456789, 6, "0.000123457"),
        (1e300, 4, "1e+300"),
        (10**14, 4, "100,000,000,000,000"),
        (math.inf, 4, "infinity"),
        (-math.inf, 6, "-infinity"),
        (math.nan, 6, "nothing"),
    ],
)
def test_figures(value, digits, text):
    assert figure(value, digits) == text


@pytest.mark.parametrize(
    ("ends", "kind"),
    [(("20", "29"), "number"), (("-1.5", "2e+30"), "number"), (("2026-01-01", "2026-01-31"), "date")],
)
def test_a_range_has_one_spelling_in_the_program_and_one_in_the_verifier(ends, kind):
    text = range_text(*ends, dated=kind == "date")
    assert text == recipes.range_text(*ends, dated=kind == "date")
    bounds = bounds_of(text, kind)
    assert bounds is not None
    assert bounds.texts == ends
    assert ends_of(text, None) == ends
