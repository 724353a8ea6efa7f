"""The techniques of PETAnonymization by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.compat.petworks import attributetypes
from incrowd.compat.petworks._files import (
    StrPath,
    Types,
    columns_of_type,
    for_distances,
    levels_of,
    quasi_of,
    read_data,
    sensitive_of,
)
from incrowd.compat.petworks._levels import Levels, read_folder, shown
from incrowd.compat.petworks.attributetypes import SENSITIVE_ATTRIBUTE
from incrowd.core.io.columns import column_named, columns_named, nameless
from incrowd.core.lazy import pd, pl

if TYPE_CHECKING:
    from incrowd.measures.privacy import PrivacyModel

__all__ = ["ANONYMIZATIONS"]


def _anonymize(
    path: StrPath,
    rate: float,
    types: Types | None,
    folder: StrPath | None,
    models: Callable[[pl.DataFrame], list[PrivacyModel]],
    subset: StrPath | None = None,
    distances: bool = False,
) -> pd.DataFrame:
    from incrowd.core.recoding import FullDomain
    from incrowd.core.table.schema import Attribute, Schema
    from incrowd.release.jobs.make.anonymize import anonymize
    from incrowd.search import Optimal

    frame = read_data(path, "originalData")
    quasi = quasi_of(types, frame)
    # Of nodes that lose as much, the first by the levels of the last columns is the one that ARX gave.
    levels = levels_of(folder, quasi[::-1])
    coarser = [Attribute(column.name, "quasi", "category", column.tree()) for column in levels]
    names = columns_of_type(types, SENSITIVE_ATTRIBUTE, frame)
    if distances:
        counted, sensitive = for_distances(frame, names, read_folder(folder, names))
    else:
        counted, sensitive = frame, [Attribute(name, "sensitive", kind="category") for name in names]
    sample = counted if subset is None else read_data(subset, "subsetData")
    release = anonymize(
        sample,
        Schema.of_attributes([*coarser, *sensitive], unlisted="keep"),
        models(frame),
        Optimal(aggregate="geometric-mean"),
        max_suppression=float(rate),
        population=None if subset is None else frame,
        keep_order=True,
        ends="exact",
        suppressed="keep",
        force=True,
        unanswered="write",
    )
    result: pl.DataFrame = release.texts
    if subset is not None:
        assert isinstance(release.recoding, FullDomain)
        result = _recode(frame, release.recoding.levels, levels)
    # Rows keep their order, and sensitive values the way they are written.
    result = result.with_columns(frame[name] for name in names)
    hidden = columns_of_type(types, attributetypes.IDENTIFIER, frame)
    return _with_labels(result, levels, hidden).select(columns_named(frame.columns)).to_pandas()


def _with_labels(result: pl.DataFrame, levels: Sequence[Levels], hidden: Sequence[str]) -> pl.DataFrame:
    """Write the cells of quasi-identifiers as ARX does, and `*` in identifying columns."""
    cells = [
        column_named(column.name).replace_strict(
            {label: shown(label) for label in nameless(result[column.name]).unique()}, return_dtype=pl.String
        )
        for column in levels
    ]
    return result.with_columns([*cells, *(pl.lit("*").alias(name) for name in hidden)])


def _recode(frame: pl.DataFrame, chosen: Sequence[int], levels: Sequence[Levels]) -> pl.DataFrame:
    """Recode every record as the subset was."""
    return frame.with_columns(
        column_named(column.name).replace_strict(column.at(level), return_dtype=pl.String)
        for column, level in zip(levels, chosen, strict=True)
    )


def _to_k_anonymity(
    path: StrPath,
    rate: float,
    k: int,
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
) -> pd.DataFrame:
    from incrowd.measures.privacy import KAnonymity

    return _anonymize(path, rate, attributeTypes, dataHierarchy, lambda _: [KAnonymity(k)])


def _to_l_diversity(
    path: StrPath,
    rate: float,
    l: int,  # noqa: E741
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
) -> pd.DataFrame:
    from incrowd.measures.privacy import LDiversity

    def models(frame: pl.DataFrame) -> list[PrivacyModel]:
        return [LDiversity(l, attribute=name) for name in sensitive_of(attributeTypes, frame)]

    return _anonymize(path, rate, attributeTypes, dataHierarchy, models)


def _to_t_closeness(
    path: StrPath,
    rate: float,
    t: float,
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
) -> pd.DataFrame:
    from incrowd.measures.privacy import TCloseness

    def models(frame: pl.DataFrame) -> list[PrivacyModel]:
        return [TCloseness(float(t), attribute=name) for name in sensitive_of(attributeTypes, frame)]

    return _anonymize(path, rate, attributeTypes, dataHierarchy, models, distances=True)


def _to_d_presence(
    path: StrPath,
    rate: float,
    dMin: float,  # noqa: N803
    dMax: float,  # noqa: N803
    subsetData: StrPath,  # noqa: N803
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
) -> pd.DataFrame:
    from incrowd.measures.privacy import DeltaPresence

    def models(_: object) -> list[PrivacyModel]:
        return [DeltaPresence(float(dMax), float(dMin))]

    return _anonymize(path, rate, attributeTypes, dataHierarchy, models, subsetData)


ANONYMIZATIONS: dict[str, Callable[..., Any]] = {
    "k-anonymity": _to_k_anonymity,
    "l-diversity": _to_l_diversity,
    "t-closeness": _to_t_closeness,
    "d-presence": _to_d_presence,
}
