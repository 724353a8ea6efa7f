"""The sentences of points, with a function for each kind.

The code that makes a release and the code that verifies it count by themselves. They share these words, so
that the same figures have the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal

from incrowd_gate.errors import listed, named, null_values_setting, setting
from incrowd_gate.points import Point

NAMED_COLUMNS = 6
"""Columns that a sentence names."""
_BEYOND = 7
"""Records beyond a limit that is the mean of ten around it, so that the last record is none of these."""


def percent(share: float) -> str:
    """Write a share in percent."""
    return f"{share:.1%}" if share >= 0.001 or share == 0 else "below 0.1%"


def at_most(share: float) -> str:
    """Write an upper bound of a share in percent, rounded up.

    Examples
    --------
    >>> at_most(1 / 5), at_most(1 / 40), at_most(1 / 3), at_most(1 / 1400)
    ('20%', '2.5%', '33.4%', '0.08%')
    """
    exact = Decimal(repr(float(share))) * 100
    step = Decimal("0.1") if exact >= Decimal("0.1") or not exact else Decimal(1).scaleb(exact.adjusted())
    return f"{(exact / step).to_integral_value(ROUND_CEILING) * step:f}".removesuffix(".0") + "%"


def in_words(columns: Sequence[str]) -> str:
    """Name columns within a sentence, of many only the first six.

    Examples
    --------
    >>> in_words(["age", "sex", "zip"])
    'age, sex and zip'
    >>> in_words(list("abcdefghi"))
    'a, b, c, d, e, f and 3 more'
    """
    if len(columns) > NAMED_COLUMNS:
        return listed(columns, NAMED_COLUMNS)
    *first, last = columns
    return f"{', '.join(first)} and {last}" if first else last


def who_knows(columns: Sequence[str]) -> str:
    """Describe the attacker against whom a figure holds.

    Examples
    --------
    >>> who_knows(["age", "zip"])
    'whoever knows age and zip, and nothing else'
    """
    return f"whoever knows {in_words(columns)}, and nothing else"


def limit(
    model: str, attribute: str | None, attacker: str | None, quantity: str, value: float | None, asked: float
) -> Point:
    """Return the point of a limit that is not met.

    - `attribute`, `attacker`: the sensitive attribute and the attacker that it is about; None where it is
      about none.
    - `quantity`, `value`, `asked`: what is limited, as ``k``; its value (None where it is not defined); and
      the limit.
    """
    reached = "not defined" if value is None else f"{value:.4g}"
    return Point(
        "limit", () if attribute is None else (attribute,), None,
        f"{_model(model, attribute, attacker)} fails: {quantity} is {reached}, asked is {asked:.4g}.",
        "Generalize more, suppress more, or ask for less.",
    )  # fmt: skip


def not_checked(
    model: str, attribute: str | None, attacker: str | None, quantity: str, asked: float
) -> Point:
    """Return the point of an unchecked limit, with the parameters of `limit`."""
    return Point(
        "not-checked", () if attribute is None else (attribute,), None,
        f"{_model(model, attribute, attacker)} could not be checked: asked is {quantity} = {asked:.4g}, and "
        "what is there does not tell.",
        "Verify it with the tables that tell.",
    )  # fmt: skip


def unanswered(kind: str, column: str | None, why: str) -> Point:
    """Return the point of a kind of points that nobody could look for, in a column or in any.

    `why`: the end of a sentence.
    """
    of = "" if column is None else f" of {column}"
    return Point(
        "not-checked", () if column is None else (column,), None,
        f"Whether there is a point {kind}{of} could not be checked: {why}.",
        "Give the rows where they can be read, or leave the column out of the table.",
    )  # fmt: skip


def linked_tables(columns: Sequence[str]) -> Point:
    """Return the point of count tables that tie some columns together in a ring."""
    return Point(
        "linked-tables", tuple(columns), None,
        f"Tables tie {named(columns)} to one another in a ring with too many combinations: the sums of the "
        "tables were computed together, but not whether a whole table of people fits them.",
        "Use coarser codes, leave one of the tables out, or accept it with a reason.",
    )  # fmt: skip


def linked_columns(column: str, why: str) -> Point:
    """Return the point of count tables of two quantities that tell each other.

    `why`: what tells what, in a sentence without a full stop.
    """
    return Point(
        "linked-columns", (column,), None,
        f"Two quantities are protected apart and tell each other: {why}.",
        "Leave one of the tables out, or accept it with a reason.",
    )  # fmt: skip


def _model(model: str, attribute: str | None, attacker: str | None) -> str:
    about = f" of {attribute}" if attribute else ""
    return f"{model}{about}" + (f" against {attacker}" if attacker else "")


def conformity(problem: str) -> Point:
    """Return the point of a released file that contradicts the policy.

    `problem`: what is wrong, in a sentence without a full stop.
    """
    return Point(
        "conformity", (), None,
        f"{problem[:1].upper()}{problem[1:]}.",
        "Make the release anew, and hand out what was written.",
    )  # fmt: skip


def unique_column(name: str, share: float, *, base: float | None) -> Point:
    """Return the point of a column in which many records have a unique value.

    `base`: as for `way_out_of_values`.
    """
    return Point(
        "unique-column", (name,), share,
        f"{percent(share)} of the records have a value of {name} that no other record has. Whoever knows the "
        "value finds the record.",
        way_out_of_values(name, base),
    )  # fmt: skip


def way_out_of_values(name: str, base: float | None) -> str:
    """Name the changes after which values of a column no longer single out records.

    `base`: a number by rounding to whose multiples they do not; None where they are no numbers, or none does.
    """
    first = "Give it a treatment" if base is None else f"Round it ({_treat(name, 'round', f'{base}')})"
    return f"{first}, make it a quasi-identifier, or leave it out."


def unique_together(pairs: Mapping[tuple[str, str], float]) -> Iterator[Point]:
    """Return the points of pairs of columns that single out many records together.

    There is one for each column that, with others, covers all pairs; the column of most pairs comes first:

        street-height, street-weight, height-weight   ->   street (height, weight), height (weight)

    Parameters
    ----------
    pairs
        Share of the records that each pair singles out, 0..1.
    """
    remaining = dict(pairs)
    while remaining:
        number = Counter(name for pair in remaining for name in pair)
        first = max(number, key=lambda name: number[name])
        with_first = dict(
            sorted(((p, s) for p, s in remaining.items() if first in p), key=lambda item: -item[1])
        )
        others = [one if other == first else other for one, other in with_first]
        share = next(iter(with_first.values()))
        with_others = f", and so it is with {listed(others[1:], 6)}" if len(others) > 1 else ""
        yield Point(
            "unique-together",
            (first, *others),
            share,
            f"{percent(share)} of the records have values of {first} and {others[0]} that no other record "
            f"has together{with_others}. Whoever knows both finds the record.",
            f"Make {first} a quasi-identifier, give it a treatment, or leave it out.",
        )
        remaining = {pair: share for pair, share in remaining.items() if first not in pair}


def outlying_value(
    name: str, share: float, records: int, *, largest: bool, dates: bool, rounded: bool
) -> Point:
    """Return the point of a column in which a record is far beyond all others.

    - `records`: records of which the number or date is known.
    - `largest`: whether it is the largest value or the smallest.
    - `dates`, `rounded`: whether the values are dates, and whether a treatment rounds them.
    """
    ends = ("earliest", "latest") if dates else ("smallest", "largest")
    limit = None if dates else _limit_beside(records, largest=largest)
    way_out = "Make it a quasi-identifier, or leave it out."
    if limit is not None:
        word, quantile = limit
        addition = f"add {word} = {quantile:g} to its rounding"
        cut = addition if rounded else _treat(name, word, f"{quantile:g}")
        way_out = f"Cut off its {ends[largest]} values ({cut}), make it a quasi-identifier, or leave it out."
    return Point(
        "outlying-value", (name,), share,
        f"The {ends[largest]} {'date' if dates else 'number'} of {name} belongs to one record, and is "
        "farther from the next than all others are from each other. Whoever has heard of it finds the "
        "record.",
        f"{way_out} If it stands for a missing value, say so with {null_values_setting()}, or in the policy "
        "with missing of the column.",
        limit=limit,
    )  # fmt: skip


def _limit_beside(records: int, *, largest: bool) -> tuple[str, float]:
    """Return the treatment and the quantile that cut off a single value."""
    part = next((part for part in (0.01, 0.05, 0.1, 0.25) if part * records >= _BEYOND), 0.5)
    return ("top", 1 - part) if largest else ("bottom", part)


def _treat(name: str, treatment: str, value: str) -> str:
    return setting(
        f"treatments={{{name!r}: '{treatment}:{value}'}}",
        f"--treat {name}={treatment}:{value}",
        f"treat = {{ {treatment} = {value} }}",
    )


def personal_text(name: str, shares: Mapping[str, tuple[int, float]], share: float) -> Point:
    """Return the point of a column with texts that name or reach people.

    - `shares`: records, and their share, by what was recognized, as ``telephone numbers``.
    - `share`: share of the records with any of these, 0..1.
    """
    counts = listed(
        f"{what} ({percent(part)}, {records:,} records)" for what, (records, part) in shares.items()
    )
    return Point(
        "personal-text", (name,), share,
        f"{name} has texts that look like {counts}.",
        f"Leave the column out, or redact its texts ({_redaction(name)}).",
    )  # fmt: skip


def named_identifier(name: str, why: str) -> Point:
    """Return the point of a column with values that each name or reach a person, in any role.

    `why`: how that is known, as the end of a sentence.
    """
    return Point(
        "named-identifier", (name,), None,
        f"{name} seems to name or reach one person each: {why}.",
        "Leave the column out, or give it a treatment that hides its values, such as a pseudonym.",
    )  # fmt: skip


def free_text(name: str, share: float) -> Point:
    """Return the point of a column of sentences."""
    return Point(
        "free-text", (name,), share,
        f"{name} holds sentences that people wrote, in {percent(share)} of the records. No program finds all "
        f"that they tell about people.{_not_looked_for()}",
        f"Leave the column out, or redact its texts ({_redaction(name)}).",
    )  # fmt: skip


def _not_looked_for() -> str:
    """Name the signs of people that were not searched because a library is missing."""
    from incrowd_gate.texts import SIGNS

    absent = [sign for sign in SIGNS if not sign.available()]
    return "".join(f" Not looked for: {sign.text} ({sign.install})." for sign in absent)


def _redaction(name: str) -> str:
    return setting(f"treatments={{{name!r}: 'presidio'}}", f"--treat {name}=presidio", 'treat = "presidio"')


def unread_column(name: str, why: str) -> Point:
    """Return the point of a column with unsearched texts."""
    return Point(
        "unread-column", (name,), None,
        f"{name} was not searched for texts about people: {why}.",
        "Leave the column out, or look at it yourself.",
    )  # fmt: skip


def list_cells(name: str, share: float) -> Point:
    """Return the point of a sensitive column with cells that list several values."""
    return Point(
        "list-cells", (name,), share,
        f"{name} lists several values in a cell, in {percent(share)} of the records. The models compare "
        "whole cells, so all records of a class may share one of the values.",
        "Split the column, or say what parts its values (parts = in the policy).",
    )  # fmt: skip


def unprotected(name: str, share: float, *, lists: bool = False) -> Point:
    """Return the point of a sensitive column that no model looks at.

    `lists`: whether its cells are lists of parts.
    """
    common = "share a part" if lists else "have one value"
    return Point(
        "unprotected-sensitive", (name,), share,
        f"{name} is sensitive, and no model protects it: {percent(share)} of the records are in classes in "
        f"which all {common} of it.",
        "Add a model of sensitive values, such as l-diversity or t-closeness.",
    )  # fmt: skip


def derived(other: str, one: str, *, follows: bool) -> Point:
    """Return the point of a column that determines, or is determined by, a generalized column."""
    text = (
        f"{other} is released as it is, and it follows from {one}, which is not."
        if follows
        else f"{other} is released as it is, and {one}, which is not, follows from it."
    )
    return Point(
        "derived-column", (other, one), 1.0,
        f"{text} So it tells more of {one} than the released cells do.",
        f"Make {other} a quasi-identifier, or leave it out.",
    )  # fmt: skip


def repeated_id(name: str, ids: int, people: Sequence[int] | None = None, whose: str = "person") -> Point:
    """Return the point of a column that looks like the id of people, or of households, with several rows.

    - `ids`: how many ids occur more than once.
    - `people`: the class size that is asked for, the classes with fewer people, all classes, and the fewest
      people of a class; None where nobody counted.
    """
    occur = f"1 value of {name} occurs" if ids == 1 else f"{ids:,} values of {name} occur"
    then = ""
    if people is not None:
        k, small, classes, least = people
        held = "people" if whose == "person" else f"{whose}s"
        then = f" If so, {small:,} of {classes:,} classes hold fewer than {k:,} {held}, the least {least:,}."
    way_out = f"Name the id of people with {setting('person=', '--person')}"
    if whose != "person":
        way_out = f"Name it with {setting('household=', '--household')} in place of a quasi-identifier"
    return Point(
        "repeated-id", (name,), None,
        f"{occur} more than once: is this a {whose}? Every figure counts rows, and a "
        f"class may have fewer people than it seems.{then}",
        f"{way_out}, or accept it if these are namesakes or things.",
    )  # fmt: skip


def untrue_label(name: str, labels: int) -> Point:
    """Return the point of a hierarchy with values outside the interval above."""
    stand = "1 value or interval stands" if labels == 1 else f"{labels:,} values or intervals stand"
    return Point(
        "untrue-label", (name,), None,
        f"In the hierarchy of {name}, {stand} under an interval that does not hold them: cells of the "
        "release may be untrue.",
        "Mend the hierarchy (`incrowd hierarchy check` names the first), or rename labels that are no "
        "intervals.",
    )  # fmt: skip


def blanked(name: str, share: float, *, local: bool, has_level: bool) -> Point:
    """Return the point of a quasi-identifier with cells that mostly stand for every value.

    - `local`: whether the algorithm recodes locally.
    - `has_level`: whether the lowest level that it may have is above 0.
    """
    amount = "Nothing" if share == 1 else "Little"
    if local:
        way_out = "Name fewer quasi-identifiers, or ask for less."
    elif has_level:
        way_out = f"Take a lower level of {name}."
    else:
        # A published policy does not tell whether there is a hierarchy: its leaves are raw values.
        way_out = (
            f"Give {name} a hierarchy (intervals, prefix, ...) if it has none, allow suppression "
            f"({setting('max_suppression', '--max-suppression')}), or use an algorithm of local recoding "
            "such as mondrian."
        )
    return Point(
        "blanked-column", (name,), share,
        f"{amount} is left of {name}: its cells stand for every value in {percent(share)} of the records.",
        way_out,
    )  # fmt: skip


def much_suppressed(share: float) -> Point:
    """Return the point of a release that suppresses many records."""
    return Point(
        "much-suppressed", (), share,
        f"{percent(share)} of the records are suppressed, so figures of the release are biased to what is "
        "frequent.",
        "Name fewer quasi-identifiers, give them hierarchies, or ask for less.",
    )  # fmt: skip


def many_hidden(table: str, share: float, trials: str = "") -> Point:
    """Return the point of a count table of which many cells are not shown.

    - `share`: the hidden cells among those with people.
    - `trials`: what other codes would hide, in sentences.
    """
    return Point(
        "much-suppressed", (), share,
        f"Table {table}: {percent(share)} of the cells with people are not shown.",
        f"{trials or 'Use coarser codes, or a column less.'} Or accept it with a reason.", subject=table,
    )  # fmt: skip


def nothing_left() -> Point:
    """Return the point of a release in which every quasi-identifier of every record is suppressed."""
    return Point(
        "nothing-left", (), 1.0,
        "Every cell of every quasi-identifier stands for every value, so the release tells nothing by them.",
        "Name fewer quasi-identifiers, give them hierarchies, or ask for less.",
    )  # fmt: skip


def left_out(records: int) -> str:
    """Say that raw records are not in a release, and that nobody checked which."""
    subject = "1 raw record is" if records == 1 else f"{records:,} raw records are"
    return f"{subject} not in the release, and which rows are missing was not checked."


def suppressed_records(records: int, share: float, models: Sequence[str]) -> Point:
    """Return the point of released suppressed records that fail models as a class."""
    judged = setting("suppressed='judged'", "--suppressed judged")
    subject = "1 suppressed record leaves" if records == 1 else f"{records:,} suppressed records leave"
    return Point(
        "suppressed-records", (), share,
        f"{subject}, and of them nothing is promised: as a class of their own they fail {listed(models)}. "
        "Whoever fits no class is among them.",
        f"Leave them out where they fail ({judged}).",
    )  # fmt: skip


def few_matches(records: int, share: float, least: int) -> Point:
    """Return the point of people with suppressed cells and too few matching released records."""
    value = setting("wildcards='value'", "--wildcards value", 'wildcards = "value"')
    subject = "1 record of the table has" if records == 1 else f"{records:,} records of the table have"
    return Point(
        "few-matches", (), share,
        f"{subject} values that fit fewer than {least} released records, since a * counts as any value "
        "there. Whoever knows all values of such a person finds the record with a probability above "
        f"1/{least}.",
        f"Let a * count as a value ({value}), so that everybody fits {least} records.",
    )  # fmt: skip


def clause(
    name: str,
    text: str,
    detail: str,
    columns: Sequence[str] = (),
    least: int | None = None,
    *,
    unanswered: bool,
) -> Point:
    """Return the point of a clause of a profile that is not met or lacks an answer.

    - `columns`: the columns of which something was counted that must not be, or that nobody could check.
    - `least`: the class size that the clause asks for; None where it asks for none.
    """
    answer = "Answer it in [profile] of the policy."
    return Point(
        "unanswered-clause" if unanswered else "clause", tuple(columns), None,
        f"{name}: {text} {detail[:1].upper()}{detail[1:]}" + ("" if detail.endswith("?") else "."),
        setting(answer, answer) if unanswered else "Change what is released.",
        limit=None if least is None else ("k", least), subject=name,
    )  # fmt: skip


_OF_WILDCARDS: dict[str, str] = {
    "value": "A * or a missing cell counts as a value.",
    "matches-any": "A * or a missing cell matches any: a class counts every record that could be in it. "
    "Somebody who knows a suppressed value may find that one record alone fits.",
    "conservative": "A * or a missing cell matches nothing: a record that has one counts alone.",
}


def wildcard_sentence(wildcards: str) -> str:
    """Describe the meaning of a `*` or a missing cell, `value`, `matches-any` or `conservative`."""
    return _OF_WILDCARDS[wildcards]
