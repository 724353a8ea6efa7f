"""The techniques of PETValidation by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.compat._arguments import check_items, check_number
from incrowd.compat.petworks._files import (
    StrPath,
    Types,
    check_same_rows,
    for_distances,
    levels_of,
    one_spelling,
    quasi_of,
    read_data,
    sensitive_of,
)
from incrowd.compat.petworks._levels import Levels, read_folder
from incrowd.compat.petworks._levels import ambiguity as _ambiguity
from incrowd.compat.petworks._levels import non_uniform_entropy as _non_uniform_entropy
from incrowd.compat.petworks._levels import precision as _precision
from incrowd.core.errors import ParameterError, TableError
from incrowd.core.io.columns import column_named, columns_named, nameless
from incrowd.core.lazy import pl
from incrowd.core.table.schema import require_columns

if TYPE_CHECKING:
    from incrowd.core.table.schema import Attribute, Schema
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.release.jobs.measure.assess import Assessment

__all__ = ["VALIDATIONS"]


def _k_anonymity(
    _: Any,
    anonymized: StrPath,
    k: int,
    attributeTypes: Types | None = None,  # noqa: N803
    groups: bool = False,
) -> dict[str, Any]:
    from incrowd.measures.privacy import KAnonymity

    frame = read_data(anonymized, "anonymized")
    quasi = quasi_of(attributeTypes, frame)
    result = _assess(one_spelling(frame, quasi), quasi, [], KAnonymity(k))
    return {"k": k, "fulfill k-anonymity": result.holds} | _groups(result, groups)


def _l_diversity(
    _: Any,
    anonymized: StrPath,
    l: int,  # noqa: E741
    attributeTypes: Types | None = None,  # noqa: N803
    groups: bool = False,
) -> dict[str, Any]:
    from incrowd.measures.privacy import KAnonymity

    frame = read_data(anonymized, "anonymized")
    names, quasi = sensitive_of(attributeTypes, frame), quasi_of(attributeTypes, frame)
    frame = _all_rows(one_spelling(frame, [*quasi, *names]), quasi)
    values = {name: _filled_values(frame, quasi, names, name) for name in names}
    holds = all(min(of_group.values()) >= l for of_group in values.values())
    result = _assess(frame, quasi, [], KAnonymity(1))
    return {"l": l, "fulfill l-diversity": holds} | _groups(result, groups, "l", values)


def _filled_values(
    frame: pl.DataFrame, quasi: Sequence[str], sensitive: Sequence[str], name: str
) -> dict[tuple[str, ...], int]:
    """Count the distinct non-empty values of each group by cells, the fewest over the other attributes."""
    value = column_named(name)
    count = value.filter(value != "").n_unique().alias("\0count")
    others = [*quasi, *(other for other in sensitive if other != name)]
    parts = frame.group_by(columns_named(others)).agg(count)
    fewest = parts.group_by(columns_named(quasi)).agg(pl.col("\0count").min())
    return {row[:-1]: row[-1] for row in fewest.iter_rows()}


def _t_closeness(
    _: Any,
    anonymized: StrPath,
    tLimit: float,  # noqa: N803
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
    groups: bool = False,
) -> dict[str, Any]:
    from incrowd.measures.privacy import TCloseness

    frame = read_data(anonymized, "anonymized")
    names = sensitive_of(attributeTypes, frame)
    quasi = quasi_of(attributeTypes, frame)
    frame, sensitive = for_distances(frame, names, read_folder(dataHierarchy, names))
    model = TCloseness(float(tLimit))
    result = _assess(_all_rows(one_spelling(frame, quasi), quasi), quasi, sensitive, model)
    return {"t": float(tLimit), "fulfill t-closeness": result.holds} | _groups(result, groups, "t")


def _assess(
    frame: pl.DataFrame, quasi: Sequence[str], sensitive: Sequence[Attribute], model: PrivacyModel
) -> Assessment:
    from incrowd.core.table.schema import Attribute, Schema
    from incrowd.release.jobs.measure.assess import assess

    schema = Schema.of_attributes(
        [*(Attribute(name, "quasi", kind="category") for name in quasi), *sensitive]
    )
    return assess(frame, schema, [model])


def _groups(
    result: Assessment, wanted: bool, limit: str = "", values: Mapping[str, Mapping[Any, Any]] | None = None
) -> dict[str, Any]:
    """Describe every group by cells, rows, and values of cells (by default those of t)."""
    if not wanted:
        return {}
    figures = result.by_class()
    groups = list(zip(*figures.cells.values(), strict=True))
    if values is None:
        values = {
            name: dict(zip(groups, figures.of("t-closeness", name).tolist(), strict=True))
            for name in result.sensitive
        }
    listed = []
    for cells, rows in zip(groups, figures.records.tolist(), strict=True):
        plain = dict(zip(figures.cells, (str(cell).removeprefix(_STAR) for cell in cells), strict=True))
        group: dict[str, Any] = {"group": plain, "rows": rows}
        if values:
            group[limit] = {name: of_group[cells] for name, of_group in values.items()}
        listed.append(group)
    return {"groups": listed}


_STAR = "\0"
"""Stands before a ``*`` that does not mean that the row is left out."""


def _all_rows(frame: pl.DataFrame, quasi: Sequence[str]) -> pl.DataFrame:
    """Mark cells ``*`` so that suppressed rows form a group, as only k-anonymity drops suppressed rows."""
    columns = columns_named(quasi)
    marked = (pl.when(column == "*").then(pl.lit(_STAR + "*")).otherwise(column) for column in columns)
    return frame.with_columns(column.alias(name) for column, name in zip(marked, quasi, strict=True))


def _d_presence(
    original: StrPath,
    sample: StrPath,
    dMin: float,  # noqa: N803
    dMax: float,  # noqa: N803
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
) -> dict[str, Any]:
    from incrowd.measures.privacy import delta_presence

    everybody, frame = read_data(original, "original"), read_data(sample, "sample")
    quasi = quasi_of(attributeTypes, frame)
    levels = levels_of(dataHierarchy, quasi)
    released = _mark(frame, levels)
    least, most = delta_presence(released, {column.name: column.tree() for column in levels}, everybody)
    return {"dMin": dMin, "dMax": dMax, "d-presence": bool(float(dMin) <= least and most <= float(dMax))}


def _mark(frame: pl.DataFrame, levels: Sequence[Levels]) -> pl.DataFrame:
    """Write released labels as in the trees, except in rows of ``*`` (unless all rows are such)."""
    suppressed = pl.all_horizontal(column_named(column.name) == "*" for column in levels)
    # Where all rows are of it, it is the roots that they were generalized to.
    suppressed &= ~suppressed.all()
    marked = []
    for column in levels:
        tree = set(column.tree().labels)
        names = {}
        for label in nameless(frame[column.name]).unique():
            level = column.level_of.get(label)
            if level is None:
                raise TableError(f"column {column.name!r} has values that its hierarchy file does not name")
            name = f"\0{level}\0{label}"
            names[label] = name if name in tree else label
        label = column_named(column.name).replace_strict(names, return_dtype=pl.String)
        marked.append(pl.when(suppressed).then(pl.lit("*")).otherwise(label).alias(column.name))
    return frame.with_columns(marked)


def _profitability(
    _: Any,
    sample: StrPath,
    allowAttack: bool,  # noqa: N803
    adversaryCost: float,  # noqa: N803
    adversaryGain: float,  # noqa: N803
    publisherLost: float,  # noqa: N803
    publisherBenefit: float,  # noqa: N803
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
) -> dict[str, Any]:
    from incrowd.measures.privacy import Profitability

    frame = read_data(sample, "anonymized")
    quasi = quasi_of(attributeTypes, frame)
    frame = one_spelling(frame, quasi)
    model = Profitability(
        "allowed" if allowAttack else "none",
        "table",
        adversary_cost=float(adversaryCost),
        adversary_gain=float(adversaryGain),
        publisher_loss=float(publisherLost),
        publisher_benefit=float(publisherBenefit),
    )
    return {
        "allow attack": allowAttack,
        "adversary's cost": adversaryCost,
        "adversary's gain": adversaryGain,
        "publisher's loss": publisherLost,
        "publisher's benefit": publisherBenefit,
        "isProfitable": _assess(_all_rows(frame, quasi), quasi, [], model).holds,
    }


def _reidentification_risk(original: StrPath | None, anonymized: StrPath | None = None) -> dict[str, Any]:
    from incrowd.measures.privacy import k_anonymity

    frame = read_data(anonymized if original is None else original, "data")
    return {"Re-identification Risk": 1 / k_anonymity(frame, frame.columns)}


def _aecs(
    original: StrPath,
    anonymized: StrPath,
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
) -> dict[str, Any]:
    from incrowd.core.table.schema import Attribute, Schema
    from incrowd.engines import read_classes

    before, after = read_data(original, "original"), read_data(anonymized, "anonymized")
    check_same_rows(before, after)
    quasi = Schema.of_attributes(
        Attribute(name, "quasi", kind="category") for name in quasi_of(attributeTypes, before)
    )
    raw, released = read_classes(before, quasi), read_classes(after, quasi)
    if not len(released):
        return {"AECS": 0.0}
    least, mean = raw.records / len(raw), released.records / len(released)
    lost = (mean - least) / (len(before) - least) if len(before) > least else 0.0
    return {"AECS": 1 - min(max(lost, 0.0), 1.0)}


def _with_levels(
    key: str, measure: Callable[[pl.DataFrame, pl.DataFrame, list[Levels]], float]
) -> Callable[..., dict[str, Any]]:
    def validate(
        original: StrPath,
        anonymized: StrPath,
        dataHierarchy: StrPath | None = None,  # noqa: N803
        attributeTypes: Types | None = None,  # noqa: N803
    ) -> dict[str, Any]:
        before, after = read_data(original, "original"), read_data(anonymized, "anonymized")
        check_same_rows(before, after)
        return {key: measure(before, after, levels_of(dataHierarchy, quasi_of(attributeTypes, after)))}

    return validate


def _utility_bias(
    original: Any,
    anonymized: Any,
    processingFunc: Callable[[Any], float],  # noqa: N803
    maxBias: float,  # noqa: N803
) -> dict[str, Any]:
    figures = [
        check_number(processingFunc(data), f"processingFunc of {name}")
        for name, data in (("original", original), ("anonymized", anonymized))
    ]
    return {"UtilityBias": abs(figures[1] - figures[0]) <= maxBias}


def _singling_out(
    synthetic: StrPath,
    original: StrPath,
    control: StrPath | None = None,
    nAttack: int = 100,  # noqa: N803
    n_col: int = 3,
) -> dict[str, Any]:
    from incrowd.core.table.schema import Schema

    frame = read_data(original, "original")
    schema = Schema(quasi=frame.columns)
    if not 1 < n_col <= len(frame.columns):
        raise ParameterError(f"n_col must be 2 to {len(frame.columns)}, the number of columns, got {n_col!r}")
    kind = "singling-out-multivariate"
    return _attack(synthetic, frame, control, schema, kind, attacks=nAttack, columns=n_col)


def _linkability(
    synthetic: StrPath,
    original: StrPath,
    auxiliaryColumns: Sequence[Sequence[str]],  # noqa: N803
    control: StrPath | None = None,
    nAttack: int = 2000,  # noqa: N803
) -> dict[str, Any]:
    from incrowd.core.table.schema import Schema

    frame = read_data(original, "original")
    what = ("auxiliaryColumns", "two lists of column names")
    sides = [check_items(side, *what) for side in check_items(auxiliaryColumns, *what)]
    if len(sides) != 2 or not all(sides):
        raise ParameterError("auxiliaryColumns: give two lists of column names")
    one, other = sides
    require_columns([*one, *other], frame.columns, "auxiliaryColumns: ")
    schema = Schema(quasi=dict.fromkeys([*one, *other]))
    return _attack(
        synthetic, frame, control, schema, "linkability", attacks=nAttack, neighbours=10, parts=(one, other)
    )


def _inference(
    synthetic: StrPath,
    original: StrPath,
    control: StrPath | None = None,
    nAttack: int = 1000,  # noqa: N803
) -> dict[str, Any]:
    from incrowd.core.table.schema import Schema

    frame = read_data(original, "original")
    if len(frame.columns) < 2:
        raise TableError("original: inference needs two columns or more")
    result = {}
    for secret in frame.columns:
        schema = Schema(quasi=[name for name in frame.columns if name != secret], sensitive=[secret])
        result[secret] = _attack(synthetic, frame, control, schema, "inference", attacks=nAttack)
    return result


def _attack(
    synthetic: StrPath,
    original: pl.DataFrame,
    control: StrPath | None,
    schema: Schema,
    kind: str,
    **settings: Any,
) -> dict[str, Any]:
    from incrowd.attacks import attack

    others = None if control is None else read_data(control, "control")
    (result,) = attack(
        original, read_data(synthetic, "synthetic"), schema, control=others, kinds=[kind], **settings
    )
    return {
        "Success rate of main attack": result.main.value,
        "Success rate of baseline attack": result.baseline.value,
        "Success rate of control attack": None if result.control is None else result.control.value,
    }


VALIDATIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "k-anonymity": _k_anonymity,
    "l-diversity": _l_diversity,
    "t-closeness": _t_closeness,
    "d-presence": _d_presence,
    "profitability": _profitability,
    "ReidentificationRisk": _reidentification_risk,
    "AECS": _aecs,
    "Ambiguity": _with_levels("ambiguity", lambda _, after, levels: _ambiguity(after, levels)),
    "Precision": _with_levels("precision", lambda _, after, levels: _precision(after, levels)),
    "Non-Uniform Entropy": _with_levels("Non-Uniform Entropy", _non_uniform_entropy),
    "UtilityBias": _utility_bias,
    "SinglingOutRisk": _singling_out,
    "LinkabilityRisk": _linkability,
    "InferenceRisk": _inference,
}
