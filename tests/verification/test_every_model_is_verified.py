"""Every model that a policy can ask for: verify's figures, against a slow reading and against assess."""

from __future__ import annotations

import random
from dataclasses import fields

import polars as pl
import pytest

import incrowd as ic
from incrowd.measures.privacy import MODELS
from incrowd_verify import demands, verify
from model_readings import (
    KINDS,
    WITH_LISTS,
    at_limit,
    limits,
    overall,
    people,
    people_of,
    rows_like,
    rows_of,
    variants,
    write_classes,
)

TABLES = [
    [[2, 1, 0], [1, 1, 3], [0, 2, 2]],
    [[3, 0], [1, 1]],
    [[1, 2, 3, 0, 1], [4, 0, 1, 1, 1], [1, 1, 1, 1, 1]],
    [[2, 2], [2, 2]],
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_verify_reads_every_model_with_every_setting(model):
    assert model.name in demands.MODELS, f"verify has no reading of {model.name}"
    known = demands.MODELS[model.name][0]
    assert [*known] == [*model.parameters()]
    for field in fields(model):
        declared, mine = model.parameters()[field.name], known[field.name]
        assert mine.needed == (field.name in model.needed())
        assert mine.kind == (declared.choices or declared.kind)
        if declared.kind in (int, float):
            assert mine.least == (-float("inf") if declared.low is None else declared.low)
            assert mine.largest == (float("inf") if declared.high is None else declared.high)
        if not mine.needed:
            assert mine.default == field.default


def measured(folder):
    raw = folder / "raw.csv"
    against = {"against": raw} if raw.exists() else {}
    return verify(folder / "t.csv", folder / "policy.toml", population=folder / "p.csv", **against)


def counted_by(model, *, person):
    """Whether a model works without a person column; with such a column each person has a single row here."""
    return person or not isinstance(model, ic.KMAnonymity)


EVERY = [
    pytest.param(kind, number, person, marks=() if (place + number + person) % 2 else pytest.mark.slow)
    for place, kind in enumerate(WITH_LISTS)
    for number in range(len(TABLES))
    for person in (False, True)
]
"""Each kind with each table, in turn by records and by people; the other half is slow."""


@pytest.mark.few(1)
@pytest.mark.parametrize(("kind", "number", "person"), EVERY)
def test_figures_are_those_of_the_slow_reading(tmp_path, kind, number, person):
    table, outside = TABLES[number], number % 2
    models = [model for model in variants(kind) if counted_by(model, person=person)]
    write_classes(
        tmp_path, rows_like(kind, table), people(table, outside), models, kind, len(table[0]), person=person
    )
    findings = iter(measured(tmp_path).findings)
    for model in models:
        for quantity in [part.limit_name for part in model.parts()]:
            finding = next(findings)
            assert (finding.model, finding.quantity) == (model.name, quantity)
            assert finding.unit == ("people" if person else "records")
            expected = overall(model, quantity, kind, table, outside)
            assert finding.reached == pytest.approx(float(expected), rel=1e-12, abs=1e-12), model
    assert next(findings, None) is None


def tampered(rows, how):
    """Return the rows after a change, each change at a place that hurts or does not."""
    rows = list(rows)
    place = how % len(rows)
    key, value = rows[place]
    other = next((at for at, row in enumerate(rows) if row[0] != key), place)
    changes = [
        lambda: rows.__setitem__(place, (f"{key} alone", value)),
        lambda: (
            rows.__setitem__(place, (key, rows[other][1])),
            rows.__setitem__(other, (rows[other][0], value)),
        ),
        lambda: rows.append(rows[place]),
        lambda: rows.pop(place),
    ]
    changes[how % len(changes)]()
    return rows


def counted(rows, values):
    keys = sorted({key for key, _ in rows})
    return keys, [[sum(row == (key, str(v)) for row in rows) for v in range(values)] for key in keys]


@pytest.mark.few(1)
@pytest.mark.parametrize("how", range(8))
def test_what_was_changed_fails_where_the_slow_reading_says_so(tmp_path, how):
    """Limits equal the table's reach and hold with equality, and after a change the reading decides."""
    kind, table, person = KINDS[how % 3], TABLES[how % 3], how % 2 > 0
    models = [
        result
        for model in variants(kind)
        if counted_by(model, person=person)
        for quantity in limits(model)
        if (result := reaching(model, quantity, overall(model, quantity, kind, table))) is not None
    ]
    write_classes(tmp_path, rows_of(table), people(table, 0), models, kind, len(table[0]), person=person)
    assert len(models) > 20
    rows = tampered(rows_of(table), how)
    keys, changed = counted(rows, len(table[0]))
    population = [key for key, row in zip(keys, changed, strict=True) for _ in range(people_of(row))]
    before = measured(tmp_path)
    later = tmp_path / "later"
    later.mkdir()
    write_classes(later, rows, population, models, kind, len(table[0]), person=person)
    after = iter(measured(later).findings)
    assert all(finding.holds for finding in before.findings)
    for model in models:
        for part in model.parts():
            finding = next(after)
            expected = float(overall(model, part.limit_name, kind, changed))
            assert finding.reached == pytest.approx(expected, rel=1e-12, abs=1e-12), model
            slack = 1e-12 * max(1.0, abs(part.limit))
            holds = expected >= part.limit - slack if part.more_is_safer else expected <= part.limit + slack
            assert finding.holds == holds, model


def reaching(model, quantity, value):
    """Return the model with the limit that a table reaches, if such a limit is allowed."""
    declared = model.parameters()[quantity]
    limit = int(value) if declared.kind is int or (quantity == "l" and value == int(value)) else float(value)
    try:
        return at_limit(model, quantity, limit)
    except ic.ParameterError:
        return None


def test_joint_settings_and_several_attributes_agree_with_assess(tmp_path):
    draw = random.Random(3)
    rows = [(draw.choice("ab"), draw.choice("xyz"), draw.choice("123"), draw.choice("ab")) for _ in range(40)]
    pl.DataFrame(rows, schema=["q", "s", "n", "r"], orient="row").write_csv(tmp_path / "t.csv")
    schema = ic.Schema(["q", "r"], ["s", "n"])
    models = [
        type(model).from_settings(model.settings() | {"joint": True})
        for entry in MODELS
        for model in entry.variants()
        if "joint" in entry.parameters()
    ]
    models += [ic.AlphaKAnonymity(1.0, 1, value="x", attribute="s"), ic.LKCPrivacy(1, 1, 1.0), ic.P29(0.0)]
    ic.Policy(schema, tuple(models)).write(tmp_path / "policy.toml")
    findings = verify(tmp_path / "t.csv", tmp_path / "policy.toml").findings
    expected = ic.assess(tmp_path / "t.csv", schema, models).privacy
    assert [(f.model, f.quantity, f.attribute) for f in findings] == [
        (m.model, m.quantity, m.attribute) for m in expected if m.limit is not None
    ]
    for mine, other in zip(findings, (m for m in expected if m.limit is not None), strict=True):
        assert mine.reached == pytest.approx(other.value, rel=1e-12), other
        assert mine.holds == other.holds
