"""The verifier against a brute-force reading of the definitions."""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from examples import examples
from incrowd.release.verification import verify
from policy_texts import K2, SIMPLE, entry, policy_text, t

# --- against a brute-force reading of the definitions --------------------------------------------------

TREE = {"r": {"A": ["a", "b"], "B": {"C": ["c", "d"], "e": None}, "f": None}}
PATHS = {
    "a": ("A", "r"),
    "b": ("A", "r"),
    "c": ("C", "B", "r"),
    "d": ("C", "B", "r"),
    "e": ("B", "r"),
    "f": ("r",),
    "": ("r",),
}
HEIGHT = {"A": 1, "C": 1, "B": 2, "r": 3}


def shares(values: Sequence[str]) -> dict[str, Fraction]:
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


def equal_reference(inside: Sequence[str], whole: Sequence[str]) -> Fraction:
    p, q = shares(inside), shares(whole)
    return sum((abs(p.get(v, Fraction(0)) - q[v]) for v in q), Fraction(0)) / 2


def ordered_reference(inside: Sequence[str], whole: Sequence[str]) -> Fraction:
    values = sorted(set(whole), key=lambda v: (v == "", Fraction(v or 0)))
    if len(values) == 1:
        return Fraction(0)
    p, q = shares(inside), shares(whole)
    carried, total = Fraction(0), Fraction(0)
    for value in values:
        carried += p.get(value, Fraction(0)) - q[value]
        total += abs(carried)
    return total / (len(values) - 1)


def hierarchical_reference(inside: Sequence[str], whole: Sequence[str]) -> Fraction:
    """Section 5.1.2 of the t-closeness paper: the mass evened out at each inner node, times the height."""
    p, q = shares(inside), shares(whole)
    extra: dict[str, list[Fraction]] = defaultdict(list)  # of each inner node's children
    for value in q:
        extra[PATHS[value][0]].append(p.get(value, Fraction(0)) - q[value])
    cost = Fraction(0)
    for node, above in (("A", "r"), ("C", "B"), ("B", "r"), ("r", None)):
        ahead = sum((x for x in extra[node] if x > 0), Fraction(0))
        behind = -sum((x for x in extra[node] if x < 0), Fraction(0))
        cost += Fraction(HEIGHT[node], 3) * min(ahead, behind)
        if above is not None:
            extra[above].append(ahead - behind)
    return cost


keys = st.sampled_from(["*", "1", "2", "3", ""])
rows = st.tuples(
    keys, keys, st.sampled_from(["-2", "0", "1", "5.5", "30", "100", ""]), st.sampled_from([*PATHS])
)


@pytest.mark.slow
@examples(30)
@given(table=st.lists(rows, min_size=1, max_size=40))
@example(table=[("1", "1", "5.5", "a"), ("2", "1", "1", "c")])
@example(table=[("1", "1", "", ""), ("*", "*", "-2", "f"), ("2", "2", "100", "d")])
def test_agrees_with_brute_force(table):
    suppressed = [row for row in table if row[:2] == ("*", "*")]
    classes: dict[tuple[str, str], list[tuple[str, ...]]] = defaultdict(list)
    for row in table:
        if row not in suppressed:
            classes[row[:2]].append(row)
    columns = [
        entry("p", "quasi"),
        entry("q", "quasi"),
        entry("n", "sensitive", "kind = 'number'"),
        entry("c", "sensitive", "hierarchy = 'tree.json'"),
    ]
    models = [
        K2,
        'model = "l-diversity"\nl = 2',
        t(attribute="n"),
        t(attribute="n", distance="equal"),
        t(attribute="c"),
        t(attribute="c", distance="equal"),
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tree.json").write_text(json.dumps(TREE))
        (folder / "p.toml").write_text(policy_text(columns, models, "max_suppression = 1"))
        (folder / "out.csv").write_text("p,q,n,c\n" + "".join(",".join(row) + "\n" for row in table))
        result = verify(folder / "out.csv", folder / "p.toml")
    assert (result.records, result.suppressed, result.classes) == (len(table), len(suppressed), len(classes))
    reached = [finding.reached for finding in result.findings]
    if not classes:
        assert reached == [None] * 7
        return
    assert reached[0] == min(map(len, classes.values()))
    for place, at in ((1, 2), (2, 3)):
        assert reached[place] == min(len({row[at] for row in rows_}) for rows_ in classes.values())
    for place, at, reference in (
        (3, 2, ordered_reference),
        (4, 2, equal_reference),
        (5, 3, hierarchical_reference),
        (6, 3, equal_reference),
    ):
        whole = [row[at] for row in table]
        farthest = max(reference([row[at] for row in rows_], whole) for rows_ in classes.values())
        assert reached[place] == pytest.approx(float(farthest), abs=1e-13)


@pytest.mark.slow
def test_many_classes_and_many_values_stay_small(check):
    # 5,000 classes and 2,000 values: classes times values would be ten million cells
    lines = [f"{i % 5000},{i * 7919 % 2000}" for i in range(20_000)]
    result = check("zip,x\n" + "\n".join(lines) + "\n", SIMPLE, [t(), t(distance="equal")])
    whole = [line.split(",")[1] for line in lines]
    inside = defaultdict(list)
    for line in lines:
        key, value = line.split(",")
        inside[key].append(int(value))
    counts = Counter(map(int, whole))
    running, cumulative = 0, []
    for value in sorted(counts):
        running += counts[value]
        cumulative.append(running)
    farthest = 0.0
    for values in list(inside.values())[:200]:
        apart = sum(
            abs(sum(v <= i for v in values) * len(whole) - w * len(values)) for i, w in enumerate(cumulative)
        )
        farthest = max(farthest, apart / (1999 * len(whole) * len(values)))
    assert result.classes == 5000
    assert result.findings[0].reached is not None
    assert result.findings[0].reached >= farthest - 1e-15
    assert result.findings[1].reached is not None
