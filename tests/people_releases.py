"""Releases of tables with several rows per person, and every model that counts people."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.measures.privacy import MODELS
from people_readings import Reading

TREE = ic.Hierarchy.from_nested({"*": {"mild": ["flu", "gout"], "grave": ["hiv"]}})
AGES = ic.Hierarchy.intervals(2, 4, 8, 16)
TOWNS = ic.Hierarchy.from_nested({"*": {"ab": ["a", "b"], "cd": ["c", "d"]}})
SENSITIVE = {"ill": TREE, "cost": "number"}
ALGORITHMS = ["mondrian", "optimal", "clustering", "cell-suppression", "mdav", "datafly"]


def schema(**more):
    settings = {"sensitive": SENSITIVE, "person": "person", "unlisted": "drop"} | more
    return ic.Schema(quasi={"age": AGES, "town": TOWNS}, **settings)


def saved(folder, table, models, algorithm="mondrian", *, form="csv", **more):
    """Save a release, and return the release with the arguments of verify."""
    raw = folder / f"raw.{form}"
    (table.write_csv if form == "csv" else table.write_parquet)(raw)
    once(table).write_parquet(folder / "population.parquet")
    release = ic.anonymize(
        raw,
        schema(**more),
        models,
        algorithm,
        max_suppression=0.3,
        # Policies are changed below: their limits are about the classes.
        suppressed="keep",
        force=True,
        population=folder / "population.parquet",
        unanswered="write",
    )
    release.save(folder / "out")
    return release, {
        "path": folder / "out/release.csv",
        "policy_path": folder / "out/internal/policy.toml",
        "population": folder / "population.parquet",
        "against": raw,
        "row_map": folder / "out/internal/rows.parquet",
    }


def once(table):
    named = table.filter(pl.col("person").is_not_null())
    return named.unique("person", keep="first", maintain_order=True)


def read(table, given):
    """Read a saved release as sets of people."""
    whose = table[pl.read_parquet(given["row_map"])["row"].to_numpy() - 1]
    frame = pl.read_csv(given["path"], infer_schema=False)
    return Reading(
        whose["person"].to_list(),
        [frame[name].to_list() for name in ("age", "town")],
        {name: whose[name].to_list() for name in SENSITIVE},
    )


def near(value):
    return value if isinstance(value, int) else pytest.approx(value, rel=1e-12, abs=1e-12)


def models_of_people():
    """Return models with limits that are met, each with the figures of people as sets."""
    result = [
        (ic.KAnonymity(3), [lambda r: r.k()]),
        (ic.TCloseness(1.0, "ordered", attribute="cost"), [lambda r: r.ordered_distance("cost")]),
        (
            ic.LKCPrivacy(1, 1, 1.0, attribute="ill"),
            [lambda r: r.lkc("ill", 1, 2)[1], lambda r: r.lkc("ill", 1, 2)[0]],
        ),
        (ic.MaximumRisk(1.0), [lambda r: 1 / r.k()]),
        (ic.AverageRisk(1.0), [lambda r: r.average_risk()]),
        (ic.RecordsAtRisk(1.0, 0.2), [lambda r: r.at_risk(0.2)]),
    ]
    for name in SENSITIVE:
        result += [
            (ic.LDiversity(1, attribute=name), [lambda r, n=name: r.distinct(n)]),
            (ic.LDiversity(1, "entropy", attribute=name), [lambda r, n=name: r.entropy(n)]),
            (ic.LDiversity(1, "recursive", 9, attribute=name), [lambda r, n=name: r.recursive(n, 9)]),
            (ic.LDiversity(1, joint=True, attribute=name), [lambda r, n=name: r.joint_distinct(n)]),
            (ic.NormalizedEntropy(0.0, attribute=name), [lambda r, n=name: r.normalized(n)]),
            (ic.TCloseness(1.0, "equal", attribute=name), [lambda r, n=name: r.equal_distance(n)]),
            (ic.AlphaKAnonymity(1.0, 1, attribute=name), [lambda r, n=name: r.alpha(n), lambda r: r.k()]),
            (
                ic.AlphaKAnonymity(1.0, 1, attribute=name, joint=True),
                [lambda r, n=name: r.joint_alpha(n), lambda r: r.k()],
            ),
            (ic.BetaLikeness(9e9, attribute=name), [lambda r, n=name: r.gain(n)]),
        ]
    known = {type(model) for model, _ in result}
    assert known < set(MODELS)
    return result


def other_models(algorithm):
    """Return every other model and setting that an algorithm enforces, with limits that are met."""
    population, every_class = algorithm not in ("clustering", "mdav"), algorithm in ("optimal", "datafly")
    models = [
        ic.TCloseness(1.0, "hierarchical", attribute="ill"),
        ic.DeltaDisclosure(99.0, "skip", joint=True),
        ic.Profitability("none", "table", adversary_cost=1e3),
        ic.Profitability("none", "record", adversary_cost=1e3),
    ]
    for model in (model for entry in MODELS for model in entry.variants()):
        models.append(model)
        if "joint" in model.settings():
            models.append(type(model).from_settings(model.settings() | {"joint": True}))
    return [
        model
        for model in models
        if (population or not model.needs_population)
        and (every_class or not model.needs_every_class)
        and not fails_as_a_rule(model.settings(), model)
    ]


def fails_as_a_rule(settings, model):
    """Whether a class lacks a value, an attack pays, or a class has people outside the population."""
    return (
        settings.get("absent") == "infinite"
        or (settings.get("attack") == "none" and settings["adversary_cost"] < 1e3)
        or model.name == "delta-presence"
    )
