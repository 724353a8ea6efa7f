"""Python's display of an object has nothing of the table, in any place."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

import incrowd as ic
from incrowd.engines import read_classes

MARK = "planted"
ROWS = 120
TABLE = pl.DataFrame(
    {
        "ssn": [f"{MARK}-ssn-{n}" for n in range(ROWS)],
        "age": [770011 + n // 4 for n in range(ROWS)],
        "town": [f"{MARK}-town-{n // 30}" for n in range(ROWS)],
        "disease": [f"{MARK}-disease-{n % 5}" for n in range(ROWS)],
        "note": [f"{MARK}-note-{n}" for n in range(ROWS)],
    }
)
PLANTED = (MARK, "77001", "77002", "77003")
LONGEST = 300
TREE = ic.Hierarchy.from_nested({"*": {f"{MARK}-north": [f"{MARK}-town-{n}" for n in range(4)]}})


def schema() -> ic.Schema:
    return ic.Schema(
        identifying=["ssn"],
        quasi={"age": "number", "town": TREE},
        sensitive=["disease"],
        insensitive=["note"],
    )


def results(folder):
    """Return the result of every public function, by name."""
    models = [ic.KAnonymity(2), ic.LDiversity(2), ic.AlphaKAnonymity(0.9, 2)]
    policy = ic.Policy(schema(), tuple(models), ic.Mondrian())
    release = ic.anonymize(TABLE, policy)
    released = TABLE.drop("ssn").with_columns(pl.col("age").cast(pl.String))
    yield "policy", policy
    yield "release", release
    yield "full domain", ic.anonymize(TABLE, schema(), models, ic.Optimal())
    yield "clustering", ic.anonymize(TABLE, schema(), models, ic.Clustering())
    yield "explore", ic.explore(TABLE, policy)
    yield "assess", ic.assess(TABLE, schema(), models, population=TABLE)
    yield "by class", ic.assess(TABLE, schema(), models).by_class()
    release.recoding.save(folder / "recoding")
    batch = ic.apply_recoding(
        folder / "recoding", TABLE.head(60), dataclasses.replace(policy, max_suppression=1.0)
    )
    yield "batch", batch
    yield "anatomy", ic.anatomize(TABLE, schema(), [ic.LDiversity(2)])
    yield "compare", ic.compare(TABLE, schema(), [ic.Mondrian(), ic.Datafly()], k=[2])
    evaluation = ic.evaluate(TABLE, release.table, schema())
    yield "evaluation", evaluation
    yield "fidelity", ic.fidelity(evaluation)
    yield "learn", ic.learn(evaluation, TABLE, "disease")
    yield "attack", ic.attack(TABLE, released, schema(), attacks=10)
    yield "ensure privacy", ic.ensure_privacy(TABLE, schema(), t=1.0, k=0)
    yield "score", ic.privacy.P29(0.0).of(read_classes(TABLE, schema()))
    yield "risks", ic.risk.quasi_identifiers(TABLE, ["age", "town"], max_size=2)
    yield "suda", ic.risk.suda2(TABLE, ["age", "town"], max_size=2)
    mechanisms = {
        "age": ic.Laplace(1.0, 0, 10**6),
        "disease": ic.RandomizedResponse(1.0, [f"{MARK}-disease-{n}" for n in range(5)]),
    }
    yield "randomize", (mechanisms, ic.randomize(TABLE, mechanisms))
    file = folder / "people.parquet"
    TABLE.write_parquet(file)
    yield "scan", ic.scan(file)
    yield "stream", ic.anonymize(ic.scan(file), schema(), models)
    yield "schema", schema()


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    return dict(results(tmp_path_factory.mktemp("reprs")))


def inside(value: object, seen: set[int]):
    """Yield every object of the package that can be reached from another."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if type(value).__module__.partition(".")[0] == "incrowd":
        yield value
        names = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
        for name in dict.fromkeys([*names, *getattr(value, "__dict__", ())]):
            yield from inside(getattr(value, name), seen)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from inside(each, seen)


@pytest.mark.slow
def test_a_notebook_shows_every_result_as_tables(every):
    inputs = ("scan", "randomize")
    results = {
        name: objects if isinstance(objects, list | tuple) else [objects] for name, objects in every.items()
    }
    assert not [
        name for name, found in results.items() if name not in inputs
        for each in found if not each._repr_html_().startswith("<")
    ]  # fmt: skip


def test_no_object_shows_what_the_table_holds(every):
    met = set()
    wrong = set()
    for name, result in every.items():
        for value in inside(result, set()):
            kind = type(value)
            met.add(kind.__name__)
            texts = [repr(value), str(value), f"{value}"]
            if hasattr(value, "_repr_html_"):
                texts.append(value._repr_html_())
            if hasattr(value, "write"):
                texts.append(repr(value.write))
            if any(mark in text for text in texts for mark in PLANTED):
                wrong.add(f"{name}: {kind.__name__} shows values")
            if len(texts[0]) > LONGEST and kind.__name__ in dir(ic):
                wrong.add(f"{name}: the repr of {kind.__name__} has {len(texts[0])} characters")
    assert not wrong, "\n".join(sorted(wrong))
    assert {"Release", "Assessment", "Hierarchy", "ModelResult", "EquivalenceClass", "Domain"} <= met
