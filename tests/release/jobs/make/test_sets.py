"""Sets as quasi-identifiers: items are recoded, counted anew, and released in order."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import combinations_with_replacement, product

import duckdb
import numpy as np
import polars as pl
import pytest
from rich.console import Console

import incrowd as ic
from incrowd.core.errors import InfeasibleError, ParameterError, SchemaError
from incrowd.faces.cli.tables import show_release
from incrowd.release.jobs.make.sets import counting, search
from incrowd.release.jobs.make.sets.cells import Baskets
from incrowd_gate.profiles import Context
from set_readings import draw, fewest, fewest_people, people_of, policy, two_columns

PAPER = pl.DataFrame({"codes": ["a1;b1;b2", "a2;b1", "a2;b1;b2", "a1;a2;b2"]})
PAPER_TREE = ic.Hierarchy.from_nested({"root": {"A": ["a1", "a2"], "B": ["b1", "b2"]}})
SEEDS = range(12)
PUBLIC = Context.of_settings({"recipient": "public", "threshold": 0.5})


def cells(table: pl.DataFrame) -> list[str | None]:
    return table["codes"].to_list()


@pytest.fixture(params=[search._MOST_CUTS, 0], ids=["every cut", "a path"])
def most_cuts(request, monkeypatch):
    monkeypatch.setattr(search, "_MOST_CUTS", request.param)
    return request.param


def test_the_example_of_the_paper_generalizes_a_and_keeps_b(most_cuts):
    assert fewest(PAPER, "codes", [], 2) == 1
    release = ic.anonymize(PAPER, policy(2, hierarchy=PAPER_TREE))
    assert sorted(cells(release.table)) == ["A;b1", "A;b1;b2", "A;b1;b2", "A;b2"]
    # Five of eleven items become A, which stands for 2 of 4 leaves.
    assert release.sets["codes"].loss == pytest.approx(2.5 / 11)
    assert release.utility["ncp"].per_attribute == {"codes": pytest.approx(2.5 / 11)}
    assert (
        fewest(PAPER.with_columns(codes=pl.col("codes").str.replace_all("b[12]", "B")), "codes", [], 2) == 1
    )


@pytest.mark.few(8)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("known", "share"), [(1, 0), (2, 0), (2, 0.2), (3, 0), (3, 0.3)])
def test_any_known_items_of_a_release_are_those_of_k_people(seed, known, share):
    table = draw(seed)
    try:
        release = ic.anonymize(table, policy(4, known, max_suppression=share))
    except InfeasibleError:
        return
    [result] = release.privacy.results.asked
    assert result.value == fewest(release.table, "codes", [], known)
    assert result.value >= 4
    for cell in cells(release.table):
        items = [] if cell is None else cell.split(";")
        assert items == sorted(set(items))
    assert release.sets["codes"].left_out <= share * release.sets["codes"].occurrences


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_release_has_the_least_loss_of_all_cuts(seed):
    table = draw(seed)
    best = min(
        (loss for loss, released in _every_cut(table) if fewest(released, "codes", [], 2) >= 4), default=None
    )
    if best is None:
        with pytest.raises(InfeasibleError, match="give it a hierarchy with larger groups"):
            ic.anonymize(table, policy(4))
    else:
        assert ic.anonymize(table, policy(4)).sets["codes"].loss == pytest.approx(best)


def _every_cut(table: pl.DataFrame):
    groups = {
        "A": ["a1", "a2"],
        "B": ["b1", "b2"],
        "C": ["c1", "c2", "c3"],
        "R": ["b1", "b2", "c1", "c2", "c3"],
    }
    raw = [set((cell or "").split(";")) - {""} for cell in cells(table)]
    for chosen in product([False, True], repeat=4):
        of = {}
        for name, is_chosen in zip(groups, chosen, strict=True):
            of |= dict.fromkeys(groups[name], name) if is_chosen else {}
        share = {"A": 2 / 7, "B": 2 / 7, "C": 3 / 7, "R": 5 / 7}
        loss = sum(share.get(of.get(item, item), 0) for row in raw for item in row) / sum(map(len, raw))
        yield (
            loss,
            pl.DataFrame({"codes": [";".join(sorted({of.get(item, item) for item in row})) for row in raw]}),
        )


def test_a_path_of_cuts_is_never_better_than_the_best(monkeypatch):
    losses = {}
    for most in (search._MOST_CUTS, 0):
        monkeypatch.setattr(search, "_MOST_CUTS", most)
        losses[most] = [ic.anonymize(draw(seed, 200), policy(4)).sets["codes"].loss for seed in range(4)]
    every, path = losses.values()
    assert all(best <= loss + 1e-12 for best, loss in zip(every, path, strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_sets_are_safe_within_the_classes_of_other_columns(seed):
    table = draw(seed, 300, others=True)
    release = ic.anonymize(table, policy(3, others=True, max_suppression=0.1))
    assert fewest(release.table, "codes", ["age", "sex"], 2) >= 3
    classes, sets = release.privacy.results.asked
    assert classes.value == release.table.group_by("age", "sex").len()["len"].min() >= 3
    assert sets.knows == ("age", "sex", "at most 2 items of codes")
    assert "codes" not in classes.weakest.cells


def test_leaving_rare_items_out_loses_less_than_a_wide_group():
    common = pl.DataFrame({"codes": ["a1", "b1", "c1"] * 30 + ["a2"]})
    strict = ic.anonymize(common, policy(5))
    loose = ic.anonymize(common, policy(5, max_suppression=0.05))
    assert cells(strict.table).count("A") == 31
    assert sorted({*cells(loose.table)}, key=str) == [None, "a1", "b1", "c1"]
    assert loose.sets["codes"].loss == pytest.approx(1 / 91)
    assert loose.sets["codes"].left_out == 1
    assert strict.sets["codes"].loss == pytest.approx(31 * 2 / 7 / 91)


def test_items_of_several_classes_are_counted_apart():
    table = pl.DataFrame({"sex": ["f"] * 6 + ["m"] * 6, "codes": ["a1"] * 6 + ["a1"] * 5 + ["a2"]})
    schema = ic.Schema.of_attributes([ic.Attribute("sex", "quasi", kind="category"), policy().schema.sets[0]])
    release = ic.anonymize(table, ic.Policy(schema, "k-anonymity:2"))
    assert fewest(release.table, "codes", ["sex"], 2) >= 2


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("known", "share", "others"), [(1, 0, False), (2, 0, True), (2, 0.3, False), (3, 0.5, True)]
)
def test_known_items_may_be_of_two_columns(seed, known, share, others):
    table = two_columns(seed, 120, others=others)
    asked = policy(3, known, others=others, max_suppression=share, more=["drugs"])
    try:
        release = ic.anonymize(table, asked)
    except InfeasibleError:
        return
    result = release.privacy.results.asked[-1]
    both = ["codes", "drugs"]
    assert result.value == fewest(release.table, both, ["age", "sex"] if others else [], known)
    assert result.value >= 3
    assert result.attribute == "codes and drugs"
    left_out = sum(each.left_out for each in release.sets.values())
    assert left_out <= share * sum(each.occurrences for each in release.sets.values())
    places = release.row_map()["row"].to_numpy() - 1
    raw = table[places]
    for name in both:
        sets = [len(set((cell or "").split(";")) - {""}) for cell in raw[name]]
        assert release.sets[name].occurrences == sum(sets)
        for before, after in zip(raw[name], release.table[name], strict=True):
            assert after == "*" or stands_for(before) >= set((after or "").split(";")) - {""}


def stands_for(cell: str | None) -> set[str]:
    """Return all labels that may stand for an item of a cell."""
    items = set((cell or "").split(";")) - {""}
    return items | {item[0].upper() for item in items} | {"R" for item in items if item[0] in "bc"}


def test_two_columns_that_are_safe_alone_are_judged_together():
    table = pl.DataFrame({"codes": ["a1", "a1", "b1", "b1"], "drugs": ["c1", "c2", "c1", "c2"]})
    alone = [ic.anonymize(table.select(name), one) for name, one in [("codes", policy(2))]]
    assert alone[0].sets["codes"].loss == 0
    asked = policy(2, hierarchy=None, more=["drugs"])
    with pytest.raises(InfeasibleError, match="of columns 'codes', 'drugs' at least 2 people"):
        ic.anonymize(table, asked)
    release = ic.anonymize(table, policy(2, more=["drugs"]))
    assert sorted(release.table.rows()) == [("a1", "C"), ("a1", "C"), ("b1", "C"), ("b1", "C")]
    assert {name: each.loss for name, each in release.sets.items()} == {"codes": 0, "drugs": 3 / 7}


def test_what_is_known_of_two_columns_is_one_number():
    schema = policy(2, more=["drugs"]).schema
    other = replace(schema.sets[1], known=1)
    asked = ic.Policy(ic.Schema.of_attributes([schema.sets[0], other]), "k-anonymity:2")
    with pytest.raises(SchemaError, match="'codes', 'drugs' hold sets, and known counts what is known"):
        ic.anonymize(two_columns(1), asked)


def test_lists_come_back_as_lists(tmp_path):
    table = draw(1, 100)
    lists = table.with_columns(codes=pl.col("codes").fill_null("").str.split(";"))
    asked = policy(3, parts=None)
    release = ic.anonymize(lists, asked)
    assert release.table["codes"].dtype == pl.List(pl.String)
    texts = release.table["codes"].list.join(";").to_list()
    release.write(tmp_path / "safe.parquet")
    assert pl.read_parquet(tmp_path / "safe.parquet")["codes"].to_list() == texts
    lists.write_parquet(tmp_path / "raw.parquet")
    from_file = ic.anonymize(tmp_path / "raw.parquet", asked)
    assert sorted(map(str, cells(from_file.table))) == sorted(map(str, texts))


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_frames_of_other_kinds_stay_what_they_are(kind):
    table = draw(2, 100)
    frame = table.to_pandas() if kind == "pandas" else table.to_arrow()
    release = ic.anonymize(frame, policy(3))
    assert type(release.table) is type(frame)
    lists = table.with_columns(codes=pl.col("codes").fill_null("").str.split(";"))
    frame = lists.to_pandas() if kind == "pandas" else lists.to_arrow()
    released = pl.DataFrame(ic.anonymize(frame, policy(3, parts=None)).table)["codes"]
    assert released.dtype == pl.List(pl.String)


@pytest.mark.parametrize("as_list", [True, False])
def test_a_relation_of_duckdb_becomes_another_one(tmp_path, as_list):
    raw = draw(2, 100, others=True)
    if as_list:
        raw = raw.with_columns(codes=pl.col("codes").str.split(";"))
    connection = duckdb.connect()
    raw_rows = raw.to_arrow()
    relation = connection.from_arrow(raw_rows)
    asked = policy(3, others=True, parts=None if as_list else ";")
    release = ic.anonymize(relation, asked)
    assert isinstance(release.table, duckdb.DuckDBPyRelation)
    assert release.table.columns == relation.columns
    assert str(release.table.types[-1]) == ("VARCHAR[]" if as_list else "VARCHAR")
    rows = release.table.pl()
    texts = rows.with_columns(codes=pl.col("codes").list.join(";")) if as_list else rows
    assert fewest(texts, "codes", ["age", "sex"], 2) == release.privacy.results.asked[-1].value >= 3
    assert release.table.query("safe", "SELECT count(*) FROM safe").fetchall() == [(100,)]
    release.write(tmp_path / "safe.parquet")
    written = pl.read_parquet(tmp_path / "safe.parquet")
    assert sorted(map(str, written["codes"])) == sorted(map(str, texts["codes"]))
    same = ic.anonymize(raw, asked)
    assert same.sets["codes"].loss == release.sets["codes"].loss


def test_the_account_says_what_the_judge_counts(tmp_path):
    release = ic.anonymize(draw(3, 200), policy(3))
    text = " ".join(release.sentences())
    assert "km-anonymity of codes holds: k is" in text
    assert "against whoever knows at most 2 items of codes, and nothing else" in text
    assert "Nothing is promised against whoever knows more items of codes" in text
    assert "whoever knows codes" not in text
    release.save(tmp_path / "out")
    published = (tmp_path / "out" / "policy.toml").read_text()
    assert 'kind = "set"\nparts = ";"\nknown = 2' in published
    assert "a1" not in published
    assert ic.Policy.read(tmp_path / "out" / "internal" / "policy.toml").schema.attributes == (
        release.policy.schema.attributes
    )
    document = release.document()
    [entry] = document["attributes"]
    assert entry["how"].startswith("sets of")
    facts = dict([*document["board"]["table"], *document["board"]["audience"]])
    assert facts["Quasi-identifiers"] == "codes"
    assert facts["Against whom"] == "Whoever knows at most 2 items of codes, and nothing else"
    assert "Other columns" not in facts
    release.report(tmp_path / "report.html")


def test_a_written_file_is_counted_again():
    release = ic.anonymize(PAPER, policy(2, hierarchy=PAPER_TREE))
    release._judge_rows(release.table, release._assessment(release.table))
    with pytest.raises(InfeasibleError, match="km-anonymity for 'codes' reaches k=1 where 2 was asked"):
        release._judge_rows(PAPER, release._assessment(PAPER))
    nested = pl.DataFrame({"codes": ["A", "A", "a1", "a1"]})
    with pytest.raises(InfeasibleError, match="one that stands for another"):
        release._assessment(nested)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"wildcards": "matches-any"}, ParameterError, "wildcards"),
        ({"keep_order": True}, ParameterError, "keep_order"),
        ({"context": PUBLIC}, ParameterError, "a profile or a context is not defined"),
        ({"models": ["l-diversity:2"]}, ParameterError, "l-diversity is not judged beside known items"),
        ({"models": ["k-anonymity:2", "km-anonymity:k=2"]}, ParameterError, "known items; leave it out"),
        ({"models": [ic.Attacker("Eve", ["codes"], ic.KAnonymity(2))]}, ParameterError, "and Eve knows it"),
    ],
)
def test_what_is_not_defined_for_sets_is_refused(change, error, words):
    schema = ic.Schema.of_attributes([*policy().schema.attributes, ic.Attribute("s", "sensitive")])
    asked = ic.Policy(schema, change.pop("models", ["k-anonymity:2"]), **change)
    with pytest.raises(error, match=words):
        ic.anonymize(draw(1).with_columns(s=pl.lit("x")), asked)


def test_a_model_beside_known_items_is_one_against_an_attacker(tmp_path):
    sensitive = ic.Attribute("s", "sensitive")
    schema = ic.Schema.of_attributes([ic.Attribute("age", "quasi"), policy().schema.sets[0], sensitive])
    raw = pl.DataFrame({"age": [n // 3 for n in range(24)], "codes": ["a1"] * 24, "s": [*"xxxyyy"] * 4})
    with pytest.raises(ParameterError, match="l-diversity is not judged") as refusal:
        ic.anonymize(raw, ic.Policy(schema, ["k-anonymity:2", ic.LDiversity(2)]))
    # The lines are those of a policy that holds: of classes of three ages some would have one value.
    ic.Policy(schema, "k-anonymity:2").write(tmp_path / "policy.toml")
    with open(tmp_path / "policy.toml", "a") as file:
        file.write("\n" + str(refusal.value).partition(":\n")[2] + "\n")
    release = ic.anonymize(raw, ic.Policy.read(tmp_path / "policy.toml"))
    results = {(each.model, each.attacker): each.value for each in release.privacy.results.asked}
    assert results["l-diversity", "neighbour"] == 2
    assert results["km-anonymity", None] >= 2
    assert len(release.table["age"].unique()) > 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"known": None}, "say how many items of a set an attacker knows at most, as known = 2"),
        ({"known": 0}, "1 .. 5"),
        ({"known": True}, "1 .. 5"),
        ({"parts": " "}, "text between the items"),
        ({"role": "sensitive"}, "the kind set is for quasi-identifiers"),
        ({"levels": (0, 1)}, "levels sees a cell as one value"),
        ({"kind": "category"}, "say kind = 'set', too"),
    ],
)
def test_a_column_of_sets_says_all_that_is_needed(settings, words):
    given = {"role": "quasi", "kind": "set", "parts": ";", "known": 2} | settings
    with pytest.raises(SchemaError, match=words):
        ic.Attribute("codes", **given)


def test_stars_and_signs_within_items_are_refused():
    quoted = pl.DataFrame({"codes": [["a;1"], ["a;1"]]})
    with pytest.raises(SchemaError, match="so released sets could not be read"):
        ic.anonymize(quoted, policy(parts=None, hierarchy=None))
    with pytest.raises(SchemaError, match="an item is '\\*'"):
        ic.anonymize(pl.DataFrame({"codes": ["a1;*", "a1"]}), policy())
    tree = ic.Hierarchy.from_nested({"root": {"A;B": ["a1", "a2"]}})
    with pytest.raises(SchemaError, match="has ';' in it, a blank"):
        ic.anonymize(pl.DataFrame({"codes": ["a1", "a2"]}), policy(hierarchy=tree))


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("known", "share", "others", "both"),
    [
        (1, 0, False, False),
        (2, 0, True, False),
        (2, 0.3, True, True),
        (3, 0.6, False, True),
        (3, 0.4, True, False),
    ],
)
def test_people_with_several_rows_are_counted_once(seed, known, share, others, both):
    columns = ["codes", "drugs"][: 1 + both]
    raw = two_columns(seed, 90, others=others).drop({"drugs"} - {*columns})
    whose, person = people_of(seed, 90)
    asked = policy(2, known, others=others, max_suppression=share, more=columns[1:], people=True)
    try:
        release = ic.anonymize(raw.with_columns(whose), asked)
    except InfeasibleError:
        return
    places = release.row_map()["row"].to_numpy() - 1
    shown = ["age", "sex"] if others else []
    least = fewest_people(release.table, columns, shown, known, [person[at] for at in places])
    assert release.privacy.results.asked[-1].value == least
    assert least is None or least >= 2
    assert sum(each.left_out for each in release.sets.values()) <= share * sum(
        each.occurrences for each in release.sets.values()
    )


@pytest.mark.few(4)
@pytest.mark.parametrize("runs", [counting._RUN, 5], ids=["one run", "small runs"])
@pytest.mark.parametrize("seed", range(4))
def test_pairs_lack_people_and_not_rows(seed, runs, monkeypatch):
    monkeypatch.setattr(counting, "_RUN", runs)
    raw, (_, person) = draw(seed, 30), people_of(seed, 30)
    column = policy(hierarchy=None).schema.sets[0]
    baskets = Baskets.of_cells(raw["codes"], column, ())
    of_class = np.random.default_rng(seed).integers(0, 2, 30)
    for view in counting.views_of(baskets, of_class, np.array(person)):
        lack = counting.lacking(view, 3, 2)
        expected = np.zeros_like(lack)
        nodes = [set(view.baskets.node[view.baskets.row == row].tolist()) for row in range(view.baskets.rows)]
        for home in (0, 1):
            for pair in combinations_with_replacement(range(1, len(baskets.items.labels)), 2):
                people = {
                    int(view.person[row])
                    for row, items in enumerate(nodes)
                    if view.of_class[row] == home and {*pair} <= items
                }
                if people:
                    expected[pair] += max(3 - len(people), 0)
        assert (lack == np.maximum(expected, expected.T)).all()


def test_known_items_may_stand_in_several_rows_of_somebody():
    # Each row has company, and Ann alone has both items.
    raw = pl.DataFrame({"id": [1, 1, 2, 3], "codes": ["a1", "b1", "a1", "b1"]})
    with pytest.raises(InfeasibleError):
        ic.anonymize(raw, policy(2, hierarchy=None, people=True))
    # Both rows of an item are Ann's.
    alone = pl.DataFrame({"id": [1, 1, 2, 3], "codes": ["a1", "a1", "b1", "b1"]})
    with pytest.raises(InfeasibleError):
        ic.anonymize(alone, policy(2, 1, hierarchy=None, people=True))
    # Both have both items, but Ann alone has them in one row.
    split = pl.DataFrame({"id": [1, 2, 2], "codes": ["a1;b1", "a1", "b1"]})
    with pytest.raises(InfeasibleError):
        ic.anonymize(split, policy(2, hierarchy=None, people=True))
    whole = pl.DataFrame({"id": [1, 1, 2, 2], "codes": ["a1", "b1", "b1", "a1"]})
    release = ic.anonymize(whole, policy(2, hierarchy=None, people=True))
    assert sorted(cells(release.table)) == ["a1", "a1", "b1", "b1"]
    assert "Known items may be of one row of somebody or of all rows." in " ".join(release.sentences())


def test_people_with_one_row_each_are_rows():
    raw = draw(1, 200)
    asked = policy(2, people=True)
    assert ic.anonymize(raw.with_row_index("id"), asked).sets["codes"].loss == (
        ic.anonymize(raw, policy(2)).sets["codes"].loss
    )


def test_a_policy_of_sets_reads_as_it_was_written(tmp_path):
    asked = policy(hierarchy=ic.Hierarchy.prefix())
    asked.write(tmp_path / "policy.toml")
    assert ic.Policy.read(tmp_path / "policy.toml").schema.attributes == asked.schema.attributes


def test_a_group_called_as_a_suppressed_cell_is_refused():
    tree = ic.Hierarchy.from_nested({"all": {"*": ["a1", "a2"]}})
    with pytest.raises(SchemaError, match="or is \\*, so released sets could not be read"):
        ic.anonymize(pl.DataFrame({"codes": ["a1", "a2"]}), policy(hierarchy=tree))


OTHERS = policy(3, others=True)
KNOWS_NONE = "column 'codes' holds sets, which only anonymize, attack and verify know; leave the column"
DOORS = {
    "assess": lambda table: ic.assess(table, OTHERS.schema),
    "compare": lambda table: ic.compare(table, OTHERS, ["mondrian"]),
    "evaluate": lambda table: ic.evaluate(table, table, OTHERS.schema),
    "explore": lambda table: ic.explore(table, OTHERS),
    "tabulate": lambda table: ic.tabulate(
        table, ic.Policy(OTHERS.schema, "k-anonymity:3", tables=[ic.CountTable("c", rows=["codes"])])
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_job_that_does_not_know_sets_says_so(door):
    with pytest.raises(ParameterError, match=KNOWS_NONE):
        DOORS[door](draw(1, 30, others=True))


def test_the_next_batch_is_refused(tmp_path):
    table = draw(1, 200, others=True)
    ic.anonymize(table, OTHERS).save(tmp_path / "out")
    with pytest.raises(ParameterError, match=KNOWS_NONE):
        ic.apply_recoding(tmp_path / "out" / "internal" / "recoding", table, OTHERS)


def test_rows_that_are_not_in_memory_are_refused():
    with pytest.raises(ParameterError, match="give a frame or one file"):
        ic.anonymize(draw(1, 30).lazy(), policy())


@pytest.mark.parametrize("others", [False, True])
def test_the_command_line_shows_a_release_of_sets(others):
    out = Console(file=io.StringIO(), width=120)
    show_release(out, ic.anonymize(draw(1, 200, others=others), policy(3, others=others)))
    text = out.file.getvalue()
    assert "km-anonymity" in text
    assert ("prosecutor risk" in text) == others


@pytest.mark.gated
@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("column", ["codes", "main", "some"])
def test_maker_and_verifier_ask_the_same_of_items_and_of_columns_that_tell_them(column, kind, tmp_path):
    table = draw(3, 60).filter(pl.col("codes").is_not_null())
    parts, items = ";" if kind == "csv" else None, pl.col("codes").str.split(";")
    attributes = [*policy(2, 1, hierarchy=None, parts=parts).schema.attributes]
    if column == "codes":
        mails = pl.Series([f"anna.{row % 3}@example.org" for row in range(table.height)])
        table = table.with_columns(codes=pl.concat_str("codes", mails, separator=";"))
    else:
        of_row = items.list.last() if column == "main" else items.list.tail(2).list.join(";")
        table = table.with_columns(of_row.alias(column))
        attributes.append(ic.Attribute(column, "insensitive"))
    asked = ic.Policy(ic.Schema.of_attributes(attributes), "k-anonymity:2", max_suppression=0.5)
    if kind == "parquet":
        table = table.with_columns(codes=pl.col("codes").str.split(";"))
    raw, released = tmp_path / f"raw.{kind}", tmp_path / f"safe.{kind}"
    getattr(table, f"write_{kind}")(raw)
    release = ic.anonymize(raw, asked, unanswered="write")
    kinds = {point.name for point in release.points}
    assert ("personal-text" if column == "codes" else "derived-column") in kinds
    assert not release.verdict.holds
    release.write(released)
    asked.write(tmp_path / "policy.toml")
    result = ic.verify(released, tmp_path / "policy.toml", against=raw)
    assert [each for each in result.points if each.name != "suppressed"] == [*release.points]
