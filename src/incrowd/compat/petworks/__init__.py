"""The functions of PETWorks (Administration for Digital Industries, Taiwan), without a Java machine.

``PETValidation``, ``PETAnonymization``, ``report`` and ``output`` take the names, parameters and files of
PETWorks and give its keys.
"""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.compat._arguments import (
    check_frame,
    check_items,
    check_mapping,
    check_number,
    check_path,
    check_whole_number,
)
from incrowd.compat.petworks import attributetypes
from incrowd.compat.petworks._files import (
    StrPath,
    Types,
    check_same_rows,
    columns_of_type,
    for_distances,
    levels_of,
    quasi_of,
    read_data,
    sensitive_of,
)
from incrowd.compat.petworks._levels import Levels, read_folder, shown
from incrowd.compat.petworks._levels import ambiguity as _ambiguity
from incrowd.compat.petworks._levels import non_uniform_entropy as _non_uniform_entropy
from incrowd.compat.petworks._levels import precision as _precision
from incrowd.compat.petworks._page import page
from incrowd.compat.petworks.attributetypes import SENSITIVE_ATTRIBUTE
from incrowd.errors import ParameterError, TableError
from incrowd.io.columns import column_named, columns_named, nameless
from incrowd.schema import require_columns

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from incrowd.assessment import Assessment
    from incrowd.privacy import PrivacyModel
    from incrowd.schema import Attribute, Schema

__all__ = ["PETAnonymization", "PETValidation", "attributetypes", "output", "report"]


def PETValidation(original: Any, anonymized: Any, tech: str, **keywordArgs: Any) -> dict[str, Any]:  # noqa: N802, N803
    """Measure a data file by a technique, as PETWorks names it.

    Parameters
    ----------
    original, anonymized
        Paths of the files before and after; where a technique looks at one of them, the other may be None.
        For the three attack risks the synthetic file comes first and the original second. For
        ``UtilityBias`` anything that `processingFunc` takes.
    tech
        ``k-anonymity`` (k), ``l-diversity`` (l), ``t-closeness`` (tLimit), ``d-presence`` (dMin, dMax),
        ``profitability`` (allowAttack, adversaryCost, adversaryGain, publisherLost, publisherBenefit),
        ``ReidentificationRisk``, ``AECS``, ``Ambiguity``, ``Precision``, ``Non-Uniform Entropy``,
        ``UtilityBias`` (processingFunc, maxBias), ``SinglingOutRisk`` (control, nAttack, n_col),
        ``LinkabilityRisk`` (auxiliaryColumns, control, nAttack) or ``InferenceRisk`` (control, nAttack).
    keywordArgs
        The technique's parameters, and where it needs them ``attributeTypes``, a dict of column names to
        the constants of `attributetypes`, and ``dataHierarchy``, a folder of hierarchy files. With
        ``groups=True`` the first three techniques also give ``groups``: per group its cells, its rows, and l
        or t of each sensitive attribute.

    Returns
    -------
    The keys that PETWorks prints.

    Raises
    ------
    InputError
        When the technique or a parameter is unknown or wrong, or a file cannot be read or does not fit.
    """
    result: dict[str, Any] = _call(_VALIDATIONS, tech, (original, anonymized), keywordArgs)
    return result


def PETAnonymization(  # noqa: N802
    originalData: StrPath,  # noqa: N803
    tech: str,
    maxSuppressionRate: float,  # noqa: N803
    **keywordArgs: Any,  # noqa: N803
) -> pd.DataFrame:
    """Anonymize a data file by the best full-domain recoding under ARX's loss.

    Parameters
    ----------
    originalData
        Path of the file.
    tech
        ``k-anonymity`` (k), ``l-diversity`` (l: distinct, of every sensitive attribute), ``t-closeness`` (t)
        or ``d-presence`` (dMin, dMax, subsetData: path of the rows that are in the subset).
    maxSuppressionRate
        Largest share of records that may be suppressed, 0..1.
    keywordArgs
        The technique's parameters, ``attributeTypes`` and ``dataHierarchy``.

    Returns
    -------
    A pandas frame of text.

    Raises
    ------
    InputError
        When the technique or a parameter is unknown or wrong, or a file cannot be read or does not fit.
    InfeasibleError
        When no recoding satisfies the model.
    """
    rate = _number(maxSuppressionRate, "maxSuppressionRate", low=0, high=1)
    result: pd.DataFrame = _call(_ANONYMIZATIONS, tech, (originalData, rate), keywordArgs)
    return result


def report(result: Mapping[str, Any], format: str) -> None:
    """Print a result as JSON, or write it as a page, ``output.html`` in the current folder.

    Raises
    ------
    ParameterError
        When the format is neither ``json`` nor ``web``, or the result is none of the two functions.
    """
    check_mapping(result, "result", "what PETValidation returns")
    if format == "json":
        sys.stdout.write(json.dumps(result, indent=4) + "\n")
    elif format == "web":
        Path("output.html").write_text(page(result), encoding="utf-8")
        sys.stdout.write("output.html\n")
    else:
        raise ParameterError(f"report: the format is 'json' or 'web', not {format!r}")


def output(data: pd.DataFrame, filePath: StrPath) -> None:  # noqa: N803
    """Write a frame to a CSV file with semicolons.

    Raises
    ------
    InputError
        When `data` is no pandas frame, or the file cannot be written.
    """
    check_frame(data, "data", empty=True)
    try:
        data.to_csv(check_path(filePath, "filePath"), index=False, sep=";")
    except OSError as error:
        raise TableError(f"{filePath}: cannot be written ({error.strerror})") from None


# --- validation ---------------------------------------------------------------------------------------


def _k_anonymity(
    _: Any,
    anonymized: StrPath,
    k: int,
    attributeTypes: Types | None = None,  # noqa: N803
    groups: bool = False,
) -> dict[str, Any]:
    from incrowd.privacy import KAnonymity

    frame = read_data(anonymized, "anonymized")
    found = _assessed(frame, quasi_of(attributeTypes, frame), [], KAnonymity(k))
    return {"k": k, "fulfill k-anonymity": found.holds} | _groups(found, None, groups)


def _l_diversity(
    _: Any,
    anonymized: StrPath,
    l: int,  # noqa: E741
    attributeTypes: Types | None = None,  # noqa: N803
    groups: bool = False,
) -> dict[str, Any]:
    from incrowd.privacy import LDiversity
    from incrowd.schema import Attribute

    frame = read_data(anonymized, "anonymized")
    names = sensitive_of(attributeTypes, frame)
    sensitive = [Attribute(name, "sensitive", kind="category") for name in names]
    quasi = quasi_of(attributeTypes, frame)
    model = LDiversity(l, joint=len(names) > 1)
    found = _assessed(_all_rows(frame, quasi), quasi, sensitive, model)
    return {"l": l, "fulfill l-diversity": found.holds} | _groups(found, model, groups)


def _t_closeness(
    _: Any,
    anonymized: StrPath,
    tLimit: float,  # noqa: N803
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
    groups: bool = False,
) -> dict[str, Any]:
    from incrowd.privacy import TCloseness

    frame = read_data(anonymized, "anonymized")
    names = sensitive_of(attributeTypes, frame)
    quasi = quasi_of(attributeTypes, frame)
    frame, sensitive = for_distances(frame, names, read_folder(dataHierarchy, names))
    model = TCloseness(float(tLimit))
    found = _assessed(_all_rows(frame, quasi), quasi, sensitive, model)
    return {"t": float(tLimit), "fulfill t-closeness": found.holds} | _groups(found, model, groups)


def _assessed(
    frame: pl.DataFrame, quasi: Sequence[str], sensitive: Sequence[Attribute], model: PrivacyModel
) -> Assessment:
    from incrowd.assessment import assess
    from incrowd.schema import Attribute, Schema

    schema = Schema.of([*(Attribute(name, "quasi", kind="category") for name in quasi), *sensitive])
    return assess(frame, schema, [model])


def _groups(found: Assessment, model: PrivacyModel | None, wanted: bool) -> dict[str, Any]:
    """Describe every group by its cells, its rows, and what the model measures of each attribute."""
    if not wanted:
        return {}
    figures = found.by_class()
    groups = []
    for row, cells in enumerate(zip(*figures.cells.values(), strict=True)):
        shown = dict(zip(figures.cells, (str(cell).removeprefix(_STAR) for cell in cells), strict=True))
        group: dict[str, Any] = {"group": shown, "rows": int(figures.records[row])}
        if model is not None:
            values = {name: figures.of(model.name, name)[row].item() for name in found.sensitive}
            group[model.limit_name] = values
        groups.append(group)
    return {"groups": groups}


_STAR = "\0"
"""Stands before a ``*`` that does not mean that the row is left out."""


def _all_rows(frame: pl.DataFrame, quasi: Sequence[str]) -> pl.DataFrame:
    """Mark ``*``, so that rows of it throughout are a group as any other; k-anonymity alone drops them."""
    import polars as pl

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
    from incrowd.privacy import delta_presence

    everybody, frame = read_data(original, "original"), read_data(sample, "sample")
    quasi = quasi_of(attributeTypes, frame)
    levels = levels_of(dataHierarchy, quasi)
    released = _marked(frame, levels)
    least, most = delta_presence(released, {column.name: column.tree() for column in levels}, everybody)
    return {"dMin": dMin, "dMax": dMax, "d-presence": bool(float(dMin) <= least and most <= float(dMax))}


def _marked(frame: pl.DataFrame, levels: Sequence[Levels]) -> pl.DataFrame:
    """Write released labels as the trees have them; rows of ``*`` stay, unless all rows are such."""
    import polars as pl

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
    from incrowd.privacy import Profitability

    frame = read_data(sample, "anonymized")
    quasi = quasi_of(attributeTypes, frame)
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
        "isProfitable": _assessed(_all_rows(frame, quasi), quasi, [], model).holds,
    }


def _reidentification_risk(original: StrPath | None, anonymized: StrPath | None = None) -> dict[str, Any]:
    from incrowd.privacy import k_anonymity

    frame = read_data(original if anonymized is None else anonymized, "data")
    return {"Re-identification Risk": 1 / k_anonymity(frame, frame.columns)}


def _aecs(
    original: StrPath,
    anonymized: StrPath,
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
) -> dict[str, Any]:
    from incrowd.engines import read_classes
    from incrowd.schema import Attribute, Schema

    before, after = read_data(original, "original"), read_data(anonymized, "anonymized")
    check_same_rows(before, after)
    quasi = Schema.of(Attribute(name, "quasi", kind="category") for name in quasi_of(attributeTypes, before))
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
    from incrowd.schema import Schema

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
    from incrowd.schema import Schema

    frame = read_data(original, "original")
    wanted = "two lists of column names"
    sides = [
        check_items(side, "auxiliaryColumns", wanted)
        for side in check_items(auxiliaryColumns, "auxiliaryColumns", wanted)
    ]
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
    from incrowd.schema import Schema

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
    (found,) = attack(
        original, read_data(synthetic, "synthetic"), schema, control=others, kinds=[kind], **settings
    )
    return {
        "Success rate of main attack": found.main.value,
        "Success rate of baseline attack": found.baseline.value,
        "Success rate of control attack": None if found.control is None else found.control.value,
    }


_VALIDATIONS: dict[str, Callable[..., dict[str, Any]]] = {
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


def _call(
    known: Mapping[str, Callable[..., Any]], tech: str, given: tuple[Any, ...], more: Mapping[str, Any]
) -> Any:
    """Call a technique; what it does not look at among hierarchy and types may be given all the same."""
    if not isinstance(tech, str) or tech not in known:
        raise ParameterError(f"tech: there is no technique {tech!r}; there are {', '.join(known)}")
    signature = inspect.signature(known[tech])
    allowed = list(signature.parameters)[len(given) :]
    shared = ("attributeTypes", "dataHierarchy")
    settings = {name: value for name, value in more.items() if name in allowed or name not in shared}
    unknown = [name for name in settings if name not in allowed]
    needed = [
        name
        for name in allowed
        if signature.parameters[name].default is inspect.Parameter.empty and name not in settings
    ]
    if unknown or needed:
        wrong = f"does not take {unknown[0]!r}" if unknown else f"needs {needed[0]!r}"
        raise ParameterError(f"{tech} {wrong}; its parameters are {', '.join(allowed) or 'none'}")
    for name, check in _CHECKS.items():
        if name in settings:
            settings[name] = check(settings[name], name)
    return known[tech](*given, **settings)


def _number(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> Any:
    """Return a number as it came, one written as text read, as PETWorks does."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise ParameterError(f"{name}: give a number, not {value!r}") from None
    check_number(value, name, low=low, high=high)
    return value


def _truth(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(f"{name}: give True or False")
    return value


def _function(value: Any, name: str) -> Any:
    if not callable(value):
        raise ParameterError(f"{name}: give a function that returns a number")
    return value


_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("k", "l", "nAttack", "n_col"), partial(check_whole_number, least=1)),
    **dict.fromkeys(("tLimit", "t", "dMin", "dMax"), partial(_number, low=0, high=1)),
    **dict.fromkeys(
        ("maxBias", "adversaryCost", "adversaryGain", "publisherLost", "publisherBenefit"), _number
    ),
    **dict.fromkeys(("allowAttack", "groups"), _truth),
    "processingFunc": _function,
}


# --- anonymization ------------------------------------------------------------------------------------


def _anonymize(
    path: StrPath,
    rate: float,
    types: Types | None,
    folder: StrPath | None,
    models: Callable[[pl.DataFrame], list[PrivacyModel]],
    subset: StrPath | None = None,
    distances: bool = False,
) -> pd.DataFrame:
    import polars as pl

    from incrowd.algorithms import Optimal
    from incrowd.recoding import FullDomain
    from incrowd.release import anonymize
    from incrowd.schema import Attribute, Schema

    frame = read_data(path, "originalData")
    quasi = quasi_of(types, frame)
    # Of nodes that lose as much, the first by the levels of the last columns is the one that ARX gave.
    levels = levels_of(folder, quasi[::-1])
    names = columns_of_type(types, SENSITIVE_ATTRIBUTE, frame)
    if distances:
        counted, sensitive = for_distances(frame, names, read_folder(folder, names))
    else:
        counted, sensitive = frame, [Attribute(name, "sensitive", kind="category") for name in names]
    schema = Schema.of(
        [
            *(Attribute(column.name, "quasi", "category", column.tree()) for column in levels),
            *sensitive,
        ],
        others="keep",
    )
    sample = counted if subset is None else read_data(subset, "subsetData")
    release = anonymize(
        sample,
        schema,
        models(frame),
        Optimal(aggregate="geometric-mean"),
        max_suppression=float(rate),
        population=None if subset is None else frame,
    )
    hidden = columns_of_type(types, attributetypes.IDENTIFIER, frame)
    result: pl.DataFrame = release.table
    if subset is not None:
        assert isinstance(release.recoding, FullDomain)
        result = _recoded(frame, release.recoding.levels, levels)
    # Rows keep their order, and sensitive values the way they are written.
    result = result.with_columns(frame[name] for name in names)
    cells = [
        column_named(column.name).replace_strict(
            {label: shown(label) for label in nameless(result[column.name]).unique()}, return_dtype=pl.String
        )
        for column in levels
    ]
    result = result.with_columns([*cells, *(pl.lit("*").alias(name) for name in hidden)])
    return result.select(columns_named(frame.columns)).to_pandas()


def _recoded(frame: pl.DataFrame, chosen: Sequence[int], levels: Sequence[Levels]) -> pl.DataFrame:
    """Recode every record as the subset was."""
    import polars as pl

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
    from incrowd.privacy import KAnonymity

    return _anonymize(path, rate, attributeTypes, dataHierarchy, lambda _: [KAnonymity(k)])


def _to_l_diversity(
    path: StrPath,
    rate: float,
    l: int,  # noqa: E741
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
) -> pd.DataFrame:
    from incrowd.privacy import LDiversity

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
    from incrowd.privacy import TCloseness

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
    from incrowd.privacy import DeltaPresence

    def models(_: object) -> list[PrivacyModel]:
        return [DeltaPresence(float(dMax), float(dMin))]

    return _anonymize(path, rate, attributeTypes, dataHierarchy, models, subsetData)


_ANONYMIZATIONS: dict[str, Callable[..., Any]] = {
    "k-anonymity": _to_k_anonymity,
    "l-diversity": _to_l_diversity,
    "t-closeness": _to_t_closeness,
    "d-presence": _to_d_presence,
}
