"""Which spellings of numbers and dates are recognized, and which texts do not tell."""

from __future__ import annotations

import datetime as dt

import pytest

from incrowd.core.reading.recognition import recognize, recognize_digits

DAYS = [dt.datetime(2020, 1, 1) + dt.timedelta(days=17 * n, seconds=3_607 * n) for n in range(40)]

DATES = {
    ("05.03.2020", "17.03.2020"): ["%d.%m.%Y"],
    ("03/25/2020", "01/02/2020"): ["%m/%d/%Y"],
    ("03/05/2020",): ["%d/%m/%Y", "%m/%d/%Y"],
    ("05.03.2020",): ["%d.%m.%Y", "%m.%d.%Y"],
    ("2020-03-05 00:05:00",): ["%Y-%m-%d %H:%M:%S"],
    ("2017-01-01T06:00:42Z",): ["%Y-%m-%dT%H:%M:%SZ"],
    ("2020-03-05T00:05:00.25",): ["%Y-%m-%dT%H:%M:%S.%f"],
    ("1/31/71 1:30 PM",): ["%m/%d/%y %I:%M %p"],
    ("Mar-2018", "May-2018"): ["%b-%Y"],
    ("November 16 2018", "May 2 2018"): ["%B %d %Y"],
    ("12-MAR-2020",): ["%d-%b-%Y"],
    ("05/2020",): ["%m/%Y"],
    ("2020-W10", "2020-W53"): ["%G-W%V"],
    ("2020W10",): ["%GW%V"],
    ("2020-W10-7", "2021-W01-1"): ["%G-W%V-%u"],
}


@pytest.mark.parametrize(("texts", "patterns"), DATES.items(), ids=str)
def test_dates(texts, patterns):
    seen = recognize(texts)
    assert seen is not None
    assert (seen.kind, [way.format for way in seen.ways]) == ("date", patterns)


@pytest.mark.parametrize(
    "pattern",
    ["%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y-%m-%d %H:%M:%S", "%d %b %Y", "%B %d, %Y", "%m/%d/%Y %I:%M %p"],
)
def test_many_days_tell_their_pattern(pattern):
    seen = recognize([day.strftime(pattern) for day in DAYS])
    assert seen is not None
    assert [way.format for way in seen.ways] == [pattern]


NUMBERS = {
    ("1.234,5", "17"): [(",", ".")],
    ("1,234.5", "2"): [(".", ",")],
    ("$1,000", "$17"): [(".", ",")],
    ("1,234", "2,345"): [(",", None), (".", ",")],
    ("1,234,567",): [(".", ",")],
    ("1,2", "3,44"): [(",", None)],
    ("12 %", "5 %"): [(".", None)],
    ("1 234,5", "12"): [(",", " ")],
    ("1'234",): [(".", "'")],
}


@pytest.mark.parametrize(("texts", "marks"), NUMBERS.items(), ids=str)
def test_numbers(texts, marks):
    seen = recognize(texts)
    assert seen is not None
    assert (seen.kind, [(way.decimal, way.thousands) for way in seen.ways]) == ("number", marks)


@pytest.mark.parametrize(
    "texts",
    [
        ["[0-10)", "[10-20)"], ["18-25"], ["01234", "02345"], ["a", "b"], ["2015-2016"], ["1.2.3"], ["<40"],
        ["60 months"], ["555-1234"], ["13:45"], ["1,2,3", "1,2"], ["05.03.2020", "unknown"], ["?", "NA"], [],
        ["31.02.2020"], ["$1", "2 €"], ["5", "6 %"],
    ],
    ids=str,
)  # fmt: skip
def test_what_is_neither(texts):
    assert recognize(texts) is None


def test_fillers_are_passed_over_and_told():
    seen = recognize(["05.03.2020", "17.03.2020", "?", "*"])
    assert seen is not None
    assert seen.fillers == ("?",)
    plain = recognize(["1", "2.5", "N/A"])
    assert plain is not None
    assert (plain.kind, plain.ways, plain.fillers) == ("number", (), ("N/A",))


def test_eight_digits_may_be_days():
    days = [day.strftime("%Y%m%d") for day in DAYS]
    way = recognize_digits(days)
    assert way is not None
    assert way.format == "%Y%m%d"
    assert recognize_digits([*days, "20201399"]) is None
    assert recognize_digits(["20200101"]) is None, "one number may be anything"
