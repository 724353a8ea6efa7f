"""anonymize_sets(): the recoding of a table with columns of sets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.documents import loss_in_words, rounded
from incrowd.core.errors import InfeasibleError, ParameterError, SchemaError, named, setting
from incrowd.core.io.columns import columns_named, first_value
from incrowd.core.io.frames import column_like, with_columns, without_traces
from incrowd.core.lazy import NDArray, np, nw, pl
from incrowd.core.progress import Clock
from incrowd.core.recoding import SUPPRESSED
from incrowd.core.table.attribute import Attribute
from incrowd.engines import MemoryEngine, engine_for, open_table
from incrowd.engines.dialects.duckdb import KEYS, RelationTable
from incrowd.measures.privacy.attacker import Attacker
from incrowd.measures.privacy.k_anonymity import KAnonymity
from incrowd.measures.privacy.results import EquivalenceClass, ModelResult
from incrowd.measures.utility.base import MetricResult, mean_of
from incrowd.release.accounts.board import audience_facts, table_facts
from incrowd.release.accounts.results import Results
from incrowd.release.jobs.make.release import Release
from incrowd.release.jobs.make.sets.cells import Baskets, separator_of
from incrowd.release.jobs.make.sets.judged import ANY, classes_of, judge_sets, masked, names_of
from incrowd.release.jobs.make.sets.points import points_of_cells
from incrowd.release.jobs.make.sets.search import Limit, SetRecoding, recode_sets
from incrowd.release.jobs.measure.assess import Assessment, assess_table
from incrowd.release.policy.toml_lines import attacker_lines
from incrowd_gate.points import answered
from incrowd_gate.wording import at_most, percent

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.engines import Engine
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.release.policy.policy import Policy

_LARGER = 4
"""How many times larger the classes are that are tried next."""
_METRICS = ("loss", "ncp")
"""The metrics that are means of columns, so that sets have a place in them."""


class Steps(NamedTuple):
    """The steps that make a release: count a table, recode it, and look for points."""

    start: Callable[..., Any]
    recode: Callable[..., Any]
    release: Callable[..., Any]


@dataclass(frozen=True, kw_only=True, repr=False)
class SetRelease(Release):
    """A release with columns of sets.

    Attributes
    ----------
    sets
        What became of the items, by the column.
    """

    sets: Mapping[str, SetRecoding]
    _inner: Release
    _person: NDArray[np.int64] | None

    def sentences(self, *, conditions: bool = True) -> list[str]:
        """Describe the release as `Release` does, then the items."""
        return [*super().sentences(conditions=conditions), *self._of_sets()]

    def _of_sets(self) -> Iterator[str]:
        for name, sets in self.sets.items():
            yield (
                f"{name} has sets of {sets.items:,} different items, in order, and "
                f"{percent(sets.share_left_out)} of all items are left out. Its sets lose "
                f"{loss_in_words(sets.loss)} (NCP)."
            )
        names = names_of(self.policy.schema.sets)
        yield (
            f"{'' if self._person is None else 'Known items may be of one row of somebody or of all rows. '}"
            f"Nothing is promised against whoever knows more items of {names}, an item that somebody has "
            "not, or how many somebody has."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data as `Release` does, with the figures of the items."""
        known = self.policy.schema.sets[0].known
        sets = [
            {"column": name, "known": known, "items": each.items, "left_out": rounded(each.share_left_out)}
            for name, each in self.sets.items()
        ]
        return {**super().to_dict(), "sets": sets}

    def document(self, **settings: Any) -> dict[str, Any]:
        """Return the report of the release, with the items of the sets in place of single values."""
        document = super().document(**settings)
        for entry in document["attributes"]:
            if sets := self.sets.get(entry["name"]):
                labels, counts = np.unique(sets.released.node, return_counts=True)
                often = sorted(zip((-counts).tolist(), labels.tolist(), strict=True))
                # Both distributions are of released items: how often a raw one occurs is nobody's business.
                entry["how"] = f"sets of {sets.items:,} different items"
                entry["cells"] = sets.items
                entry["bins"] = [
                    {"label": sets.released.items.labels[node], "before": -count, "after": -count}
                    for count, node in often[:20]
                ]
        board, after, schema = document["board"], self.privacy, self.policy.schema
        whole = replace(after, quasi=tuple(each.name for each in schema.quasi))
        roles = table_facts(whole, schema, [each["name"] for each in document["columns"]["released"]])[1:]
        # Risks are of the other columns alone; the roles and the attackers are not.
        others = {"Quasi-identifiers", *(role for role, _ in roles), "Other columns"}
        board["table"] = [*(fact for fact in board["table"] if fact[0] not in others), *roles]
        told = replace(after, quasi=after.results.asked[-1].knows)
        if (least := after.results.asked[-1].value) is not None:
            least = min(least, after.smallest)
            risk = ["Largest risk", at_most(1 / least), f"knowing {schema.sets[0].known} items"]
            board["cards"] = [risk, *(card for card in board["cards"] if card[0] != risk[0])]
        about = (settings.get(name, "") for name in ("recipient", "purpose", "owner"))
        board["audience"] = audience_facts(self.policy, told, *about)
        return document

    def class_table(self, sensitive: str | None = None) -> pl.DataFrame:
        """Summarize the classes of the other columns (see `Decision.class_table`)."""
        table = super().class_table(sensitive)
        return table.select(columns_named(each for each in table.columns if each not in self.sets))

    def _assessment(self, written: Any, *, judged_alone: bool = False) -> Assessment:
        """Measure a written table: the classes of the other columns, then the sets within each."""
        frame = _in_memory(written)
        hidden = masked(frame, self.policy.schema.sets)
        measured = self._inner._assessment(hidden, judged_alone=judged_alone)
        return _with_sets(measured, frame, self.policy, self.sets, self._person)

    def _judge_rows(self, written: Any, measured: Assessment) -> None:
        self._inner._judge_rows(masked(_in_memory(written), self.policy.schema.sets), measured)


def anonymize_sets(
    table: Any,
    policy: Policy,
    population: Any,
    csv_format: CsvFormat | None,
    clock: Clock,
    steps: Steps,
    *,
    blocks: int | None = None,
) -> SetRelease:
    """Recode a table with columns of sets, so that k^m-anonymity holds of the sets within each class.

    Example: an attacker knows the age of Ann and two of her diagnoses, E11 and I10. The release has at least
    k people in the class of her age whose sets have both, or nobody. Whoever knows fewer items finds no fewer
    people. Known items may be of one column, or of several.

    The other quasi-identifiers are recoded first, for classes of k people and for larger ones. For each, a
    cut through the tree of items is searched. What loses least by the mean of NCP is released.

    NCP of a set: each item of a raw cell costs the share of all leaves of the hierarchy that stand below what
    is released in its place: 0 for itself, 1 where nothing is. The loss is the mean over all items of all
    cells.

    Parameters
    ----------
    table, policy, population, csv_format, blocks
        As in `incrowd.anonymize`.
    steps
        What makes a release of the other columns.

    Raises
    ------
    ParameterError
        When the policy asks for something that is not defined for sets, or rows are not in memory.
    InfeasibleError
        When no cut is safe.

    References
    ----------
    Terrovitis, Mamoulis and Kalnis, Privacy-preserving anonymization of set-valued data, PVLDB 1(1), 2008,
    definition 1 and section 3.
    """
    attributes = policy.schema.sets
    where = _refused(policy, population, blocks)
    paths = (table,) if isinstance(table, str | os.PathLike) else ()
    with clock.stage("read"):
        table, csv_format = open_table(table, csv_format, progress=clock.progress)
        engine = engine_for(table, progress=clock.progress)
        if relation := _relation_of(engine):
            engine = engine_for(relation.fetch(f"SELECT * FROM {relation.source}"), progress=clock.progress)
        if not isinstance(engine, MemoryEngine):
            raise ParameterError(
                f"{where} sets, which are recoded in memory, and these rows are in a database, on Spark, or "
                "read in parts; give a frame or one file, or leave out that the kind is set"
            )
        policy.schema.check_columns(engine.columns)
        cells = engine.some_rows([each.name for each in attributes], 1.0)
        baskets = [
            Baskets.of_cells(cells[each.name], each, policy.schema.nulls(each.name)) for each in attributes
        ]
        for each, part in zip(attributes, baskets, strict=True):
            _refuse_signs(part, each)
        room = engine.frame.with_columns(nw.lit("").alias(each.name) for each in attributes)
        hidden = with_columns(room, {each.name: pl.Series([ANY] * len(cells)) for each in attributes})
    plain = _without_sets(policy)
    start = steps.start(hidden, plain, None, csv_format, clock)
    person = _person_of_row(start)
    recoded, sets = _best(start, plain, baskets, person, policy, clock, steps)
    inner = steps.release(recoded, clock)
    places = inner.row_map()["row"].to_numpy() - 1
    whose = None if person is None else person[places]
    suppressed = _classes(recoded) < 0
    released = {
        each.name: sets[each.name].released.cells(
            suppressed, None if _has_lists(engine, each.name) else separator_of(each)
        )
        for each in attributes
    }
    tables = {
        key: _with_cells(each, places, released)
        for key in ("table", "_texts")
        if (each := getattr(inner, key)) is not None
    }
    own = {each.name: getattr(inner, each.name) for each in fields(Release)}
    texts = _in_memory(tables.get("_texts", tables["table"]))
    of_items = points_of_cells(engine, policy.schema, texts)
    if relation:
        tables = {"_texts": tables["table"], **tables}
        tables["table"] = relation.joined(tables["table"], f"SELECT * FROM {KEYS}")
    release = SetRelease(
        **own
        | tables
        | {
            "policy": policy,
            "sources": (*paths, *engine.sources),
            "privacy": _with_sets(inner.privacy, texts, policy, sets, whose),
            "_measure_before": lambda: _before(inner, policy),
            "utility": _losses(inner, sets),
            "points": answered((*inner.points, *of_items), policy.accepted),
            "sets": sets,
            "_inner": inner,
            "_person": whose,
        }
    )
    release._judge_rows(texts, release.privacy)
    return release


def _relation_of(engine: Engine) -> RelationTable | None:
    """Return the relation of DuckDB that an engine reads, None for other tables."""
    table = getattr(getattr(engine, "rows", None), "table", None)
    return table if isinstance(table, RelationTable) else None


def _with_cells(table: Any, places: NDArray[np.int64], cells: Mapping[str, pl.Series]) -> Any:
    """Return a released table with the sets of its rows."""
    frame = nw.from_native(table, eager_only=True)
    columns = {each: frame[each] for each in frame.columns}
    sets = {name: column_like(frame, name, places, each) for name, each in cells.items()}
    return without_traces(frame, columns | sets)


def _refused(policy: Policy, population: Any, blocks: int | None) -> str:
    """Return where sets stand, for errors, or raise for a policy with settings that sets do not know."""
    sets = policy.schema.sets
    names = [each.name for each in sets]
    where = f"column {names[0]!r} holds" if len(sets) == 1 else f"columns {named(names)} hold"
    if len({each.known for each in sets}) > 1:
        raise SchemaError(
            f"{where} sets, and known counts what is known of all of them together; say the same "
            "known of each"
        )
    for model in policy.models:
        if isinstance(model, Attacker) and not {*names}.isdisjoint(model.knows):
            raise ParameterError(
                f"{where} sets, and {model.attacker} knows it; let attackers know other columns"
            )
        if not isinstance(model, KAnonymity | Attacker):
            others = [each.name for each in policy.schema.quasi if each.kind != "set"]
            raise ParameterError(
                f"{where} sets, and {model.name} is not judged beside known items; {_way_out(model, others)}"
            )
    if not any(isinstance(model, KAnonymity) for model in policy.models):
        raise ParameterError(
            f"{where} sets, so k-anonymity says how many people share known items; add it (k-anonymity:5)"
        )
    refused = {
        "output, ends or weight of the column": any(
            (each.output, each.ends, each.weight) != (None, None, 1) for each in sets
        ),
        setting("population", "--population"): population is not None,
        setting("blocks", "--blocks"): blocks is not None,
        setting("keep_order", "--keep-order or keep_order = true"): policy.keep_order,
        setting("linked", "--linked"): policy.schema.linked,
        setting("wildcards", "--wildcards"): policy.wildcards != "value",
        "analyses": bool(policy.analyses),
        "a profile or a context": policy.profile is not None or policy.context is not None,
    }
    for name, given in refused.items():
        if given:
            raise ParameterError(f"{where} sets, for which {name} is not defined; leave it out")
    return where


def _way_out(model: PrivacyModel, others: Sequence[str]) -> str:
    """Say in lines of a policy that a model holds against somebody who knows the other columns alone."""
    try:
        attacker = Attacker("neighbour", others, model)
    except ParameterError:
        return "leave it out"
    lines = "\n".join(attacker_lines(attacker)[1:])
    return (
        f"ask for it against somebody who knows the other columns alone, in place of its [[models]]:\n{lines}"
    )


def _refuse_signs(baskets: Baskets, attribute: Attribute) -> None:
    """Refuse items that released cells could not hold: a text of a list has such in quotes."""
    signs = (separator_of(attribute), *(() if attribute.parts else ('"',)))
    if any(
        label == SUPPRESSED or label != label.strip() or any(map(label.__contains__, signs))
        for label in baskets.items.labels[1:]
    ):
        raise SchemaError(
            f"column {attribute.name!r}: an item or a group of its hierarchy has {named(signs)} in it, a "
            "blank at an end, or is *, so released sets could not be read; rename it, or say what else parts "
            "items (parts = '|')"
        )


def _has_lists(engine: MemoryEngine, name: str) -> bool:
    kind = engine.frame.schema[name]
    is_object = kind == nw.Object and isinstance(
        first_value(engine.frame, name), list | tuple | set | np.ndarray
    )
    return isinstance(kind, nw.List | nw.Array) or is_object


def _without_sets(policy: Policy) -> Policy:
    """Return the policy as the core sees it: a column of sets has one value."""
    attributes = [
        Attribute(each.name, "quasi", kind="category") if each.kind == "set" else each
        for each in policy.schema.attributes
    ]
    return replace(policy, schema=policy.schema.with_attributes(attributes))


def _best(
    start: Any,
    plain: Policy,
    baskets: Sequence[Baskets],
    person: NDArray[np.int64] | None,
    policy: Policy,
    clock: Clock,
    steps: Steps,
) -> tuple[Any, dict[str, SetRecoding]]:
    """Return the recoding of the other columns, for classes of some size, that loses least with its sets."""
    attributes, k = policy.schema.sets, policy.k
    names = [each.name for each in attributes]
    sizes = [k]
    if len(plain.schema.quasi) > len(names):
        while sizes[-1] * _LARGER <= start.frequency.records:
            sizes.append(sizes[-1] * _LARGER)
    limit = Limit(
        f"column{'s'[len(names) == 1 :]} {named(names)}", k, attributes[0].known or 0, policy.max_suppression
    )
    best: tuple[float, Any, dict[str, SetRecoding]] | None = None
    problem: InfeasibleError | None = None
    for size in reversed(sizes):
        try:
            recoded = steps.recode(start, plain.with_models([KAnonymity(size)]), clock)
            with clock.stage("search"):
                each = recode_sets(baskets, _classes(recoded), person, limit)
            sets = dict(zip(names, each, strict=True))
        except InfeasibleError as error:
            problem = error
            if best is not None:
                break
            continue
        losses = _loss_of(recoded, sets)
        if best is not None and losses >= best[0]:
            break
        best = losses, recoded, sets
    if best is None:
        assert problem is not None
        raise problem
    _, recoded, sets = best
    result = recoded.result
    after = assess_table(
        result.released.table,
        plain.written,
        plain.models,
        made_from=recoded.recoding.leaving(start.frequency),
    )
    return recoded._replace(policy=plain, after=after), sets


def _person_of_row(start: Any) -> NDArray[np.int64] | None:
    """Return the number of each row's person, None where nobody has a second row: int64[rows]."""
    people = start.frequency.people
    if people.table is None:
        return None
    person = people.of_row.astype(np.int64)
    return np.asarray(np.where(person < 0, person.max() + 1 + np.arange(len(person)), person))


def _classes(recoded: Any) -> NDArray[np.int64]:
    """Return the released class of each raw row, -1 for a suppressed one: int64[rows]."""
    recoding, frequency = recoded.result.recoding, recoded.start.frequency
    labels = []
    for cells in recoding.cells:
        positions, _ = cells.released
        labels.append(pl.Series(positions[cells.codes]))
    of_key = np.append(np.where(recoding.starred, -1, classes_of(labels, frequency.keys)), -1)
    return np.asarray(of_key[frequency.key_of_row("recoding sets")])


def _loss_of(recoded: Any, sets: Mapping[str, SetRecoding]) -> float:
    from incrowd.measures.utility import measure_all

    measured = measure_all(recoded.start.frequency, recoded.recoding)["ncp"]
    return mean_of({**(measured.per_attribute or {}), **{name: each.loss for name, each in sets.items()}})


def _losses(inner: Release, sets: Mapping[str, SetRecoding]) -> dict[str, MetricResult]:
    """Return the losses that are means of columns, with that of the sets."""
    losses = {}
    for metric in _METRICS:
        of_others = inner.utility[metric].per_attribute or {}
        per_attribute = {**of_others, **{name: each.loss for name, each in sets.items()}}
        mean = mean_of(per_attribute)
        losses[metric] = MetricResult(metric, mean, per_attribute, mean)
    return losses


def _with_sets(
    measured: Assessment,
    frame: pl.DataFrame,
    policy: Policy,
    sets: Mapping[str, SetRecoding],
    person: NDArray[np.int64] | None,
) -> Assessment:
    """Add the count of a table's sets to the measures of its classes."""
    others = [each.name for each in policy.schema.quasi if each.kind != "set"]
    trees = [each.released.items for each in sets.values()]
    result = judge_sets(frame, policy.schema.sets, others, policy.k, trees, person)
    measured = _of_others(measured, policy)
    return replace(measured, results=Results((*measured.results.asked, result)))


def _before(inner: Release, policy: Policy) -> Assessment:
    """Return the measures of the raw classes, without a count of sets."""
    measured, sets = _of_others(inner.before, policy), policy.schema.sets
    unknown = ModelResult("km-anonymity", "k", {"power": sets[0].known}, names_of(sets), None)
    return replace(measured, results=Results((*measured.results.asked, unknown)))


def _of_others(measured: Assessment, policy: Policy) -> Assessment:
    """Return the measures of classes of the other quasi-identifiers; none without any."""
    others = tuple(each.name for each in policy.schema.quasi if each.kind != "set")
    if not others:
        return replace(measured, results=Results(()), risk={})
    results = Results(_with_cells_of(result, others) for result in measured.results.asked)
    return replace(measured, quasi=others, results=results)


def _with_cells_of(result: ModelResult, others: Sequence[str]) -> ModelResult:
    """Return a result whose classes do not show the one value that stands for every set."""

    def shown(each: EquivalenceClass) -> EquivalenceClass:
        return replace(each, cells={name: cell for name, cell in each.cells.items() if name in others})

    weakest = None if result.weakest is None else shown(result.weakest)
    return replace(result, weakest=weakest, examples=tuple(map(shown, result.examples)))


def _in_memory(table: Any) -> pl.DataFrame:
    engine = engine_for(table)
    return engine.some_rows(engine.columns, 1.0)
