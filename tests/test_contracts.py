"""Promises of every registered entry, tried on each entry."""

from __future__ import annotations

import ast
import inspect
import math
import sys
from collections import Counter
from dataclasses import MISSING, fields, replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from math import prod
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from hypothesis import assume, given
from hypothesis import strategies as st

import incrowd as ic
from crossed import crossed
from engine_tables import ENGINE_OF, MAKERS
from examples import examples
from incrowd.attacks.kind import AttackKind
from incrowd.attacks.kinds import ATTACKS
from incrowd.core.parameters import Configured, Parameter, Registry
from incrowd.core.recoding import FullDomain
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import FrequencyTable
from incrowd.core.table.schema import STYLES
from incrowd.core.table.survey import Households, Sampling, Survey
from incrowd.core.treatments import TREATMENTS
from incrowd.engines import ENGINES, engine_for
from incrowd.faces.cli import app
from incrowd.measures.privacy import MODELS
from incrowd.measures.risk import RISKS
from incrowd.measures.utility import METRICS, STEERING, CellMetric, ClassMetric
from incrowd.search import ALGORITHMS, Algorithm
from model_readings import classes_of, counts, distance

REGISTRIES: dict[str, Registry] = {
    "measures.privacy": MODELS, "search": ALGORITHMS, "measures.utility": METRICS, "measures.risk": RISKS,
    "core.treatments": TREATMENTS,
}  # fmt: skip
ENTRIES = [(package, entry) for package, registry in REGISTRIES.items() for entry in registry]
each_entry = pytest.mark.parametrize(
    ("package", "entry"), ENTRIES, ids=lambda value: getattr(value, "name", value)
)

# A good setting of parameters whose declaration does not say enough to find one; see `example`.
EXAMPLES = {
    "k": 3, "l": 2, "t": 0.3, "beta": 2, "delta": 1.5, "h": 0.4, "alpha": 0.6, "L": 1, "K": 2, "C": 0.7,
    "delta_max": 0.9, "score": 0.3, "risk": 0.4, "share": 0.2, "threshold": 0.3, "value": "v0", "attribute": "s",
    "target": "disease", "characters": 2, "pattern": "[0-9]", "text": "-", "base": 5, "top": 90, "bottom": 10,
    "key": "env:KEY", "days": 30, "event": "2020-01-01", "stay": 0.8,
}  # fmt: skip


def example(entry: type[Configured]) -> Configured:
    needed = {
        name: EXAMPLES[name]
        for name, declared in entry.parameters().items()
        if name in EXAMPLES and not (name == "target" and declared.optional)
    }
    for name in entry.needed():
        needed.setdefault(name, allowed_value(entry.parameters()[name]))
    return entry.from_settings(needed)


def allowed_value(declared: Parameter) -> object:
    """Choose a value that a parameter allows: near the lowest if there is a lowest value."""
    if declared.choices:
        return declared.choices[0]
    if declared.kind in (int, float):
        least = declared.low if declared.above is None else declared.above
        most = math.inf if declared.high is None else declared.high
        return declared.kind(min((0 if least is None else least) + (1 if most > 1 else most / 2), most))
    return declared.kind()


# --- every entry ----------------------------------------------------------------------------------


@each_entry
def test_entry_introduces_itself(package, entry):
    assert entry.name
    assert entry.name == entry.name.lower()
    assert entry.summary
    assert not entry.summary.endswith(".")
    assert entry.paper
    assert "References" in inspect.getdoc(entry)
    home = import_module(f"incrowd.{package}")
    assert getattr(home, entry.__name__) is entry


@each_entry
def test_settings_come_back(package, entry):
    result = example(entry)
    assert entry.from_settings(result.settings()) == result
    text = ",".join(f"{name}={value}" for name, value in result.settings().items())
    assert REGISTRIES[package].parse(f"{entry.name}:{text}") == result


@each_entry
def test_bad_parameters_are_named(package, entry):
    good = example(entry).settings()
    for name, declared in entry.parameters().items():
        bad: list[object] = [object(), float("nan")]
        if declared.kind is not bool:
            bad.append(True)
        if declared.kind is int:
            bad += [1.5, "3"]
        if declared.low is not None:
            bad.append(declared.kind(declared.low - 1))
        if declared.high is not None:
            bad.append(declared.kind(declared.high + 1))
        if declared.choices:
            bad.append("none of them")
        for value in bad:
            with pytest.raises(ic.ParameterError, match=rf"^{entry.name}: {name} must be "):
                entry.from_settings(good | {name: value})
    with pytest.raises(ic.ParameterError, match="unknown parameter 'nonsense'"):
        entry.from_settings(good | {"nonsense": 1})


@pytest.mark.parametrize("entry", TREATMENTS, ids=lambda entry: entry.name)
def test_the_verifier_reads_every_treatment(entry):
    from incrowd_verify.policy import read_treatment

    result = example(entry)
    read = read_treatment(result.spec(), "column 'c'")
    assert read is not None
    assert read.name == entry.name
    # It is a reader of its own, and has to know every parameter.
    first, *others = [*entry.parameters()] or [""]
    whole = {entry.name: True} | dict.fromkeys(others, 1)
    assert read_treatment(whole, "column 'c'") is not None
    assert read.perturbs == result.perturbs
    with pytest.raises(ic.PolicyError, match="does not know"):
        read_treatment(whole | {"nonsense": 1}, "column 'c'")
    assert first == "" or first not in others


BASES = (
    "__init__.py",
    "_coding.py",
    "_linked.py",
    "_perturbing.py",
    "attacker.py",
    "base.py",
    "full_domain.py",
    "local.py",
)
"""Files that hold what entries have in common, or are made of."""


@pytest.mark.parametrize("package", REGISTRIES)
def test_no_entry_is_forgotten(package):
    home = import_module(f"incrowd.{package}")
    listed = {entry.__name__ for entry in REGISTRIES[package]}
    for path in Path(home.__file__).parent.glob("*.py"):
        if path.name in BASES:
            continue
        module = import_module(f"incrowd.{package}.{path.stem}")
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                result = getattr(module, node.name)
                if issubclass(result, Configured):
                    assert node.name in listed, f"{path.name}: {node.name} is not in the registry"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_function_of_a_model_has_its_defaults(model):
    """A signature must stand in the text for type checkers and pages, and this test compares the two."""
    function = getattr(ic.privacy, model.name.replace("-", "_"))
    declared = {field.name: field.default for field in fields(model) if field.default is not MISSING}
    for name, taken in inspect.signature(function).parameters.items():
        if name in declared:
            assert taken.default == declared[name], name
            assert taken.annotation == model.__annotations__[name]


def test_the_command_line_has_every_shorthand():
    command = typer.main.get_command(app).commands["anonymize"]
    options = {name for parameter in command.params for name in parameter.opts}
    assert {f"-{model.shorthand}" for model in MODELS if model.shorthand} <= options


@pytest.mark.parametrize("kind", ATTACKS.values(), ids=lambda kind: kind.name)
def test_attack_introduces_itself(kind):
    assert kind.name == kind.name.lower()
    assert kind.needs
    assert not kind.needs.endswith(".")
    page = Path(__file__).parents[1] / "docs" / "definitions.md"
    assert f"`{kind.name}`" in page.read_text(encoding="utf-8"), (
        f"say in docs/definitions.md what {kind.name} does"
    )


def test_no_attack_is_forgotten():
    for path in Path(import_module("incrowd.attacks").__file__).parent.glob("*.py"):
        module = import_module(f"incrowd.attacks.{path.stem}")
        for each in vars(module).values():
            assert not isinstance(each, AttackKind) or ATTACKS.get(each.name) is each, path.name


# --- metrics and risks --------------------------------------------------------------------------------


def mixed(seed: int = 0, rows: int = 60) -> FrequencyTable:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "n": rng.integers(0, 9, rows),
            "t": rng.choice(["a1", "a2", "b1", "b2"], rows),
            "c": rng.choice(["x", "y", "z"], rows),
            "s": rng.choice(["flu", "cold"], rows),
        }
    )
    tree = ic.Hierarchy.from_nested({"*": {"A": ["a1", "a2"], "B": ["b1", "b2"]}})
    return (
        engine_for(frame).count(ic.Schema(quasi={"n": None, "t": tree, "c": None}, sensitive=["s"])).frequency
    )


def least_and_most(frequency: FrequencyTable) -> dict[str, tuple[float, float, float]]:
    """Values of metrics outside 0 to 1 for the raw table, the top, and full suppression."""
    combinations = prod(domain.size for domain in frequency.domains)
    heights = 60 * sum(domain.tree.height for domain in frequency.domains)
    squares = int((frequency.weights**2).sum())
    alike = np.stack([counts_per_key(frequency, key) for key in range(frequency.keys)])
    differ = (60 - alike.max(axis=1).sum()) / 60
    whole = (60 - alike.sum(axis=0).max()) / 60
    shares = frequency.weights / 60
    bits = math.log2(combinations) + float((shares * np.log2(shares)).sum())
    distinct = [np.count_nonzero(frequency.totals(j)) for j in range(3)]
    alone = sum(1 / distinct[j] for j in (1, 2)) / 3
    by_label = sum(map(information, alike)) / 60
    told = information(alike.sum(axis=0)) / 60 - by_label
    modes = sum(60 - frequency.totals(j).max() for j in (1, 2)) / 60
    pooled = sum(map(information, map(frequency.totals, range(3))))
    return {
        "ambiguity": (1, combinations, combinations),
        "discernibility": (squares, 3600, 3600),
        "discernibility-star": (squares, 3600, 3600),
        "average-class-size": (60 / frequency.keys, 60, 0),
        "distortion": (0, heights, heights),
        "classification": (differ, whole, 1),
        "kl-divergence": (0, bits, bits),
        "information-gain": (0, told, told),
        "pooled-entropy": (0, pooled, pooled),
        "pooled-entropy-arx": (0, pooled, pooled),
        "ncp-summarization": (alone, 1, 1),
        "ncp-mean-mode": (0, (1 + modes) / 3, 1),
        # At the top the column without hierarchy is a range, and `*` only where it is suppressed.
        "suppression": (0, 1, 1),
    }


def information(totals: np.ndarray) -> float:
    met = totals[totals > 0]
    return float((met * np.log2(met.sum() / met)).sum())


def counts_per_key(frequency: FrequencyTable, key: int) -> np.ndarray:
    counts = frequency.sensitive[0].keys
    result = np.zeros(frequency.sensitive[0].domain.size, int)
    here = slice(counts.indptr[key], counts.indptr[key + 1])
    result[counts.codes[here]] = counts.counts[here]
    return result


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_metrics_grow_with_generalization(metric):
    frequency = mixed()
    top = [domain.tree.height for domain in frequency.domains]
    nothing = metric().measure(frequency, FullDomain.build(frequency, [0, 0, 0]))
    all_lost = metric().measure(frequency, FullDomain.build(frequency, top))
    best, worst, _ = least_and_most(frequency).get(metric.name, (0, 1, 1))
    assert nothing.value == pytest.approx(best, abs=1e-12)
    assert all_lost.value == pytest.approx(worst, abs=1e-12)
    if metric.name not in ("classification", "ncp-summarization"):
        assert metric().normalized(nothing, frequency) == pytest.approx(0, abs=1e-12)
    for levels in np.ndindex(*(height + 1 for height in top)):
        lost = metric().measure(frequency, FullDomain.build(frequency, levels))
        here = lost.value
        assert math.isfinite(here)
        assert 0 <= metric().normalized(lost, frequency) <= 1 + 1e-12
        for j, height in enumerate(top):
            if levels[j] < height:
                up = [level + (i == j) for i, level in enumerate(levels)]
                assert metric().measure(frequency, FullDomain.build(frequency, up)).value >= here - 1e-12


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_suppressing_everything_is_the_worst(metric):
    frequency = mixed()
    gone = FullDomain.build(frequency, [0, 0, 0], np.ones(frequency.keys, np.bool_))
    lost = metric().measure(frequency, gone)
    _, _, worst = least_and_most(frequency).get(metric.name, (0, 1, 1))
    assert lost.value == pytest.approx(worst, abs=1e-12)
    if metric.name != "average-class-size":
        assert metric().normalized(lost, frequency) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_records_add_up_to_the_table(metric):
    frequency = mixed()
    recoding = FullDomain.build(frequency, [1, 1, 0], frequency.weights < 2)
    each = metric().per_record(frequency, recoding)
    if each is None:
        return
    assert each[recoding.suppressed] == pytest.approx(1)
    lost = metric().measure(frequency, recoding)
    assert each @ frequency.weights / 60 == pytest.approx(metric().normalized(lost, frequency))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_looks_at_cells_or_at_classes_alone(metric):
    assert issubclass(metric, CellMetric) != issubclass(metric, ClassMetric)
    if issubclass(metric, ClassMetric):
        # Classes that no recoding made are measured as those of the recoding that keeps all values.
        frequency = mixed()
        value = metric().of_classes(EquivalenceClasses.of_keys(frequency)).value
        as_it_is = FullDomain.build(frequency, [0, 0, 0])
        assert value == pytest.approx(metric().measure(frequency, as_it_is).value, abs=1e-12)


def test_searches_minimize_these_metrics():
    assert STEERING == (
        "loss", "distortion", "ncp", "precision", "non-uniform-entropy", "pooled-entropy", "discernibility",
        "average-class-size", "ambiguity",
    )  # fmt: skip


def test_loss_by_hand():
    frame = pl.DataFrame({"n": [0, 10, 20, 100], "t": ["a1", "a2", "b1", "b2"]})
    tree = ic.Hierarchy.from_nested({"*": {"A": ["a1", "a2"], "B": ["b1", "b2", "b3"]}})
    release = ic.anonymize(frame, ic.Schema(quasi={"n": None, "t": tree}), [ic.KAnonymity(2)], ends="exact")
    assert release.table.rows() == [("[0-10]", "A"), ("[0-10]", "A"), ("[20-100]", "B"), ("[20-100]", "B")]
    loss, ncp = release.utility["loss"], release.utility["ncp"]
    assert loss.per_attribute == {
        "n": pytest.approx((0.1 + 0.8) / 2),
        "t": pytest.approx((1 / 4 + 2 / 4) / 2),
    }
    assert ncp.per_attribute == {"n": pytest.approx((0.1 + 0.8) / 2), "t": pytest.approx((2 / 5 + 3 / 5) / 2)}
    assert release.utility["discernibility"].value == 8


def surveyed(classes):
    """The same classes of rows that have sampling weights and live in twos."""
    table = classes.frequency
    rows = np.repeat(np.arange(table.keys), table.weights)
    one = np.ones(len(rows), np.int64)
    weights = Sampling.of_weights("w", rows, 2_500_000 * one, table.keys)
    homes = Households.of_rows(("home",), rows, np.arange(len(rows)) // 2, one)
    result = EquivalenceClasses(
        replace(table, survey=Survey(weights, homes)), classes.indptr, classes.members
    )
    result.codes, result.code_sizes = classes.codes, classes.code_sizes
    return result


@pytest.mark.parametrize("risk", RISKS, ids=lambda risk: risk.name)
@given(table=counts())
def test_risks_are_probabilities(risk, table):
    classes = surveyed(classes_of(table, "category"))
    result = risk(fraction=0.5) if "fraction" in risk.parameters() else risk()
    assert result.applies(classes)
    figures = result.measure(classes)
    assert all(0 <= value <= 1 for value in figures.values())
    empty = result.measure(classes.only(np.zeros(len(classes), np.bool_)))
    assert set(empty) == set(figures)
    assert not any(empty.values())


# --- algorithms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", list(ALGORITHMS), ids=lambda algorithm: algorithm.name)
def test_a_search_is_given_its_problem_and_nothing_else(algorithm):
    asked = {"search": "SearchProblem", "assign": "SearchProblem", "choose": "Explorer"}
    for name, what in asked.items():
        if callable(getattr(algorithm, name, None)):
            given = list(inspect.signature(getattr(algorithm, name)).parameters.values())[1:]
            assert [one.annotation for one in given] == [what], name


def people(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(rows)],
            "age": rng.integers(18, 90, rows),
            "zip": pl.Series(rng.choice(["02139", "02138", "10001", "94107", "94110"], rows)),
            "born": pl.Series(
                np.datetime64("1980-01-01") + rng.integers(0, 9000, rows).astype("timedelta64[D]")
            ),
            "job": pl.Series(rng.choice(["cook", "nurse", "clerk", None], rows).tolist(), dtype=pl.String),
            "disease": pl.Series(rng.choice(["flu", "cold", "gout"], rows)),
        }
    )


def allowed(algorithm: type[Algorithm], limit: float) -> float:
    """Suppression that an algorithm can combine with t-closeness."""
    return 0.0 if algorithm.full_domain and algorithm.tags else limit


QUASI = {"age": None, "zip": ic.Hierarchy.prefix(), "born": ic.Hierarchy.dates(), "job": None}
PEOPLE = ic.Schema(quasi=QUASI, sensitive=["disease"], identifying=["name"])


def schema_for(algorithm: type[Algorithm], sensitive: tuple[str, ...] = ("disease",)) -> ic.Schema:
    """All quasi-identifiers, or the single number of univariate microaggregation."""
    quasi = {"age": None} if algorithm is ic.Microaggregation else QUASI
    rest = [name for name in QUASI if name not in quasi]
    return ic.Schema(quasi=quasi, sensitive=sensitive, identifying=["name", *rest])


def may_give_up(algorithm: type[Algorithm], style: str = "auto") -> bool:
    """Whether records may end as ``*`` everywhere, so that a table can be too small for the models."""
    coarse = (ic.CellSuppression, ic.TopDownSpecialization, ic.BottomUpGeneralization)
    return algorithm.full_domain or algorithm in coarse or style == "suppress"


@pytest.mark.parametrize(
    ("algorithm", "style"), crossed(ALGORITHMS, STYLES), ids=lambda each: getattr(each, "name", each)
)
@examples(5)  # of each of the hundred pairs
@given(rows=st.integers(10, 80), seed=st.integers(0, 10**6), k=st.integers(1, 10))
def test_algorithms_keep_their_word(algorithm, style, rows, seed, k):
    frame = people(rows, seed)
    untouched = frame.clone()
    models = [ic.KAnonymity(k), ic.LDiversity(1), ic.TCloseness(0.9)]
    limit = allowed(algorithm, 0.5)
    schema, result = schema_for(algorithm), example(algorithm)
    quasi = [attribute.name for attribute in schema.quasi]
    anonymize = partial(
        ic.anonymize,
        frame,
        schema,
        models,
        result,
        output=style,
        max_suppression=limit,
        seed=seed % 1000,
        set_limit=80,
        ends="exact",
        suppressed="keep",
    )
    try:
        release = anonymize()
    except ic.InfeasibleError:
        # There may be nothing short of `*` everywhere.
        assert may_give_up(algorithm, style)
        assert rows < 15 * k or limit == 0 or not algorithm.full_domain
        return
    assert frame.equals(untouched)
    assert release.table.columns == [*quasi, "disease"]
    assert release.table["disease"].to_list() == frame["disease"].to_list()
    cells = release.table.drop("disease").rows()
    sizes = Counter(cell for cell in cells if set(cell) != {"*"})
    assert min(sizes.values()) >= k
    assert sum(1 for cell in cells if set(cell) == {"*"}) <= rows / 2
    again = anonymize()
    assert again.table.equals(release.table)
    if isinstance(release.recoding, ic.Local):
        assert_lowest_cells(frame, release, quasi)
    if style in ("auto", "ancestor", "range"):
        for old, new in zip(frame.iter_rows(named=True), release.table.iter_rows(named=True), strict=True):
            assert covers(new["age"], str(old["age"]))
            if len(quasi) == 1:
                continue
            assert all(
                new_char in ("*", old_char)
                for new_char, old_char in zip(new["zip"], old["zip"], strict=False)
            )
            assert new["job"] in ("*", old["job"]) or (old["job"] or "<missing>") in new["job"].strip(
                "{}"
            ).split(", ")


def assert_lowest_cells(frame: pl.DataFrame, release: ic.Release, quasi: list[str]) -> None:
    """Every class's cell is the least that covers the records, read once more from rows and trees."""
    recoding = release.recoding
    style = release.policy.output
    number = recoding.class_of_key
    rows_of: dict[int, list[int]] = {}
    frequency = engine_for(frame).count(release.policy.schema).frequency
    keys = frequency.row_keys if len(number) == frequency.keys else np.arange(len(frame))
    for row, key in enumerate(keys):
        rows_of.setdefault(int(number[key]), []).append(row)
    assert set(rows_of) - {-1} == set(range(recoding.count))
    blanked = isinstance(release.policy.algorithm, ic.CellSuppression) and style == "auto"
    for j, name in enumerate(quasi):
        domain, cells = recoding.domains[j], release.table[name].to_list()
        for held, rows in rows_of.items():
            met = sorted({frame[name][row] for row in rows}, key=str)
            cell = cells[rows[0]]
            assert {cells[row] for row in rows} == {cell}
            if held < 0 or style == "mean":
                continue
            if len(met) == 1:
                assert cell == (None if met[0] is None else str(met[0]))
            elif blanked or style == "suppress":
                assert cell == "*"
            elif name == "age" and style != "set":
                assert cell == f"[{min(met)}-{max(met)}]"
            elif domain.hierarchy is not None and style in ("auto", "ancestor"):
                paths = [domain.tree.path(domain.values.index(str(value))) for value in met]
                shared = [
                    labels[0]
                    for labels in zip(*(path[::-1] for path in paths), strict=False)
                    if len(set(labels)) == 1
                ]
                assert cell == shared[-1]
            elif style == "set":
                assert set(cell.strip("{}").split(", ")) == {
                    "<missing>" if value is None else str(value) for value in met
                }


def covers(cell: str, value: str) -> bool:
    if cell in ("*", value):
        return True
    low, high = cell.strip("[]").split("-")
    return int(low) <= int(value) <= int(high)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.name)
def test_infeasible_is_said_with_what_failed(algorithm):
    if algorithm.full_domain and algorithm.tags:
        pytest.skip("it takes t-closeness without suppression only, and this table has suppressed records")
    frame = pl.DataFrame({"q": ["a", "b", "*", "*"], "s": ["x", "x", "y", "y"]})
    with pytest.raises(ic.InfeasibleError, match="t-closeness"):
        ic.anonymize(
            frame,
            ic.Schema(quasi=["q"], sensitive=["s"]),
            [ic.TCloseness(0.1)],
            algorithm(target="s") if example(algorithm).predicts else algorithm(),
            max_suppression=1.0,
            suppressed="keep",
        )


@pytest.mark.few(4)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.name)
@examples(10)  # of each of the twenty
@given(
    rows=st.integers(20, 80),
    seed=st.integers(0, 10**6),
    k=st.integers(1, 8),
    l=st.integers(2, 3),
    t=st.sampled_from([0.1, 0.25, 0.4]),
)
def test_algorithms_protect_sensitive_values(algorithm, rows, seed, k, l, t):  # noqa: E741
    """Distinct l and t are counted once more here, from the released cells alone."""
    frame = people(rows, seed).with_columns(
        pl.Series("stay", np.random.default_rng(seed).integers(1, 6, rows))
    )
    schema = schema_for(algorithm, ("disease", "stay"))
    quasi = [attribute.name for attribute in schema.quasi]
    assume(frame["disease"].n_unique() >= l and frame["stay"].n_unique() >= l)
    models = [ic.KAnonymity(k), ic.LDiversity(l), ic.TCloseness(t)]
    try:
        table = ic.anonymize(
            frame,
            schema,
            models,
            example(algorithm),
            max_suppression=allowed(algorithm, 0.5),
            ends="exact",
            suppressed="keep",
        ).table
    except ic.InfeasibleError:
        assert may_give_up(algorithm)
        return
    for name, ground in (("disease", "equal"), ("stay", "ordered")):
        classes: dict[tuple[str, ...], Counter] = {}
        for record in table.iter_rows(named=True):
            key = tuple(str(record[column]) for column in quasi)
            classes.setdefault(key, Counter())[record[name]] += 1
        whole = Counter(table[name].to_list())
        assert whole == Counter(frame[name].to_list())
        classes.pop(("*",) * len(quasi), None)
        for held in classes.values():
            assert held.total() >= k
            assert len(held) >= l
            gap = [
                Fraction(held[value], held.total()) - Fraction(whole[value], rows) for value in sorted(whole)
            ]
            assert distance(ic.TCloseness(t, ground), "", list(whole.values()), gap) <= t + 1e-12


@pytest.mark.few(1)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.name)
def test_algorithms_give_the_same_on_any_number_of_threads(algorithm, monkeypatch, tmp_path):
    from incrowd.core.kernels import jit

    monkeypatch.setattr(jit, "PARALLEL_FROM", 1)
    frame = people(500, 7)
    written = []
    for threads in ("1", "2"):
        monkeypatch.setenv("INCROWD_THREADS", threads)
        models = [ic.KAnonymity(4), ic.LDiversity(2), ic.TCloseness(0.3)]
        limit = allowed(algorithm, 0.1)
        result = example(algorithm)
        release = ic.anonymize(
            frame, schema_for(algorithm), models, result, max_suppression=limit, suppressed="keep"
        )
        release.write(tmp_path / f"{threads}.csv")
        release.write(tmp_path / f"{threads}.parquet")
        release.recoding.save(tmp_path / threads)
        files = [
            f"{threads}.csv",
            f"{threads}.parquet",
            f"{threads}/recoding.json",
            f"{threads}/keys.parquet",
        ]
        written.append([(tmp_path / name).read_bytes() for name in files])
    assert written[0] == written[1]


def test_a_forgotten_entry_would_be_named(tmp_path, monkeypatch):
    """The search for forgotten entries finds a planted entry, so that silence means something."""
    import incrowd.measures.risk as home

    for path in Path(home.__file__).parent.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "snoop.py").write_text(
        "from incrowd.measures.risk.base import RiskModel\n\n\nclass Snoop(RiskModel):\n    name = 'snoop'\n"
    )
    monkeypatch.setattr(home, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setattr(home, "__path__", [str(tmp_path)])
    try:
        with pytest.raises(AssertionError, match=r"snoop\.py: Snoop is not in the registry"):
            test_no_entry_is_forgotten("measures.risk")
    finally:
        sys.modules.pop("incrowd.measures.risk.snoop", None)
        vars(home).pop("snoop", None)


# --- engines ------------------------------------------------------------------------------------------


def test_engines_are_asked_in_turn():
    import pandas as pd
    import pyarrow as pa

    frame = people(30, 1)
    for table in (frame, frame.to_pandas(), frame.to_arrow()):
        assert any(engine.takes(table) for engine in ENGINES)
    assert isinstance(frame.to_pandas(), pd.DataFrame)
    assert isinstance(frame.to_arrow(), pa.Table)
    with pytest.raises(ic.TableError, match="no table that incrowd works on"):
        engine_for([1, 2, 3])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("engines")


def test_every_engine_has_tables_to_be_tried_with():
    lacking = {engine.__name__ for engine in ENGINES} - set(MAKERS)
    assert lacking == set(), "say in MAKERS of tests/engine_tables.py how a frame gets there"


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", MAKERS)
def test_engines_count_every_row_once(kind, folder):
    # A job of Spark takes a second.
    @examples(2 if kind == "SparkEngine" else 20)
    @given(rows=st.integers(1, 40), seed=st.integers(0, 10**6))
    def check(rows, seed):
        count_every_row_once(kind, folder, people(rows, seed))

    check()


def count_every_row_once(kind, folder, frame):
    engine = engine_for(MAKERS[kind](frame, folder))
    assert type(engine).__name__ == ENGINE_OF.get(kind, kind)
    frequency = engine.count(PEOPLE).frequency
    counted = Counter()
    for record in frequency.to_records():
        counted[tuple(value for name, value in record.items() if name != "records")] += record["records"]
    expected = Counter(
        (str(age), zip_, born.isoformat(), job)
        for age, zip_, born, job in frame.select("age", "zip", "born", "job").rows()
    )
    assert counted == expected
    totals = frequency.sensitive[0]
    assert dict(zip(totals.domain.values, totals.totals.tolist(), strict=True)) == Counter(
        frame["disease"].to_list()
    )
