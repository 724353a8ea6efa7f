"""The functions of PETWorks (Administration for Digital Industries, Taiwan), without a Java machine.

``PETValidation``, ``PETAnonymization``, ``report`` and ``output`` take the names, parameters and files of
PETWorks and give its keys.
"""

from __future__ import annotations

import html
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.addresses import file_path
from incrowd.compat.petworks import attributetypes
from incrowd.compat.petworks._levels import Levels, read_folder, shown
from incrowd.compat.petworks._levels import ambiguity as _ambiguity
from incrowd.compat.petworks._levels import non_uniform_entropy as _non_uniform_entropy
from incrowd.compat.petworks._levels import precision as _precision
from incrowd.compat.petworks._numbers import ranks_of_numbers
from incrowd.compat.petworks.attributetypes import QUASI_IDENTIFIER, SENSITIVE_ATTRIBUTE
from incrowd.errors import ParameterError, SchemaError, TableError
from incrowd.schema import require_columns

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from incrowd.privacy import PrivacyModel
    from incrowd.schema import Attribute, Schema

__all__ = ["PETAnonymization", "PETValidation", "attributetypes", "output", "report"]

StrPath = str | os.PathLike[str]
Types = Mapping[str, str]


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
        the constants of `attributetypes`, and ``dataHierarchy``, a folder of hierarchy files.

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
    result: pd.DataFrame = _call(_ANONYMIZATIONS, tech, (originalData, maxSuppressionRate), keywordArgs)
    return result


def report(result: Mapping[str, Any], format: str) -> None:
    """Print a result as JSON, or write it as a page, ``output.html`` in the current folder.

    Raises
    ------
    ParameterError
        When the format is neither ``json`` nor ``web``.
    """
    if format == "json":
        sys.stdout.write(json.dumps(result, indent=4) + "\n")
    elif format == "web":
        Path("output.html").write_text(_page(result), encoding="utf-8")
        sys.stdout.write("output.html\n")
    else:
        raise ParameterError(f"report: the format is 'json' or 'web', not {format!r}")


def output(data: pd.DataFrame, filePath: StrPath) -> None:  # noqa: N803
    """Write a frame to a CSV file with semicolons."""
    data.to_csv(file_path(filePath), index=False, sep=";")


# --- files and columns --------------------------------------------------------------------------------


def _read(path: StrPath | None, what: str) -> pl.DataFrame:
    """Read a file of text cells; the header tells whether semicolons or commas part them."""
    import polars as pl

    from incrowd.io.files import CsvFormat, read_table

    if path is None:
        raise TableError(f"{what}: give the path of a file")
    path = file_path(path)
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        if packed:
            import gzip

            with gzip.open(path, "rt", encoding="utf-8-sig") as text:
                header = text.readline()
        else:
            with open(path, encoding="utf-8-sig") as text:
                header = text.readline()
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{path}: cannot be read ({type(error).__name__})") from None
    frame, _ = read_table(path, CsvFormat(delimiter=";" if ";" in header else ","))
    frame = frame.select(pl.all().cast(pl.String).fill_null("").str.strip_chars())
    return frame.rename({name: name.strip() for name in frame.columns})


def _of_type(types: Types | None, wanted: str, frame: pl.DataFrame) -> list[str]:
    known = {value for name, value in vars(attributetypes).items() if name.isupper()}
    for name, kind in (types or {}).items():
        if kind not in known:
            raise SchemaError(f"attributeTypes: {name!r} has no type of PETWorks; see attributetypes")
    require_columns(types or (), frame.columns, "attributeTypes: ")
    return [name for name, kind in (types or {}).items() if kind == wanted]


def _quasi(types: Types | None, frame: pl.DataFrame) -> list[str]:
    names = _of_type(types, QUASI_IDENTIFIER, frame)
    if not names:
        raise SchemaError("attributeTypes: name the quasi-identifiers, e.g. {'age': QUASI_IDENTIFIER}")
    return names


def _sensitive(types: Types | None, frame: pl.DataFrame) -> list[str]:
    names = _of_type(types, SENSITIVE_ATTRIBUTE, frame)
    if not names:
        raise SchemaError("attributeTypes: name a sensitive attribute, e.g. {'disease': SENSITIVE_ATTRIBUTE}")
    return names


def _levels(folder: StrPath | None, names: Sequence[str]) -> list[Levels]:
    found = read_folder(folder, names)
    missing = [name for name in names if name not in found]
    if missing:
        raise SchemaError(
            f"dataHierarchy: no file for the quasi-identifier {missing[0]!r}; PETWorks would leave it out"
        )
    return [found[name] for name in names]


def _same_rows(original: pl.DataFrame, anonymized: pl.DataFrame) -> None:
    if len(original) != len(anonymized):
        raise TableError(f"the files have {len(original)} and {len(anonymized)} rows; row N is one record")


def _for_distances(
    frame: pl.DataFrame, names: Sequence[str], levels: Mapping[str, Levels]
) -> tuple[pl.DataFrame, list[Attribute]]:
    """Make sensitive attributes whose values have distances.

    A column whose first value is a number holds numbers and is replaced by their ranks; others have distances
    by a hierarchy where there is one, else equal ones.
    """
    from incrowd.schema import Attribute

    attributes = []
    for name in names:
        ranks = ranks_of_numbers(frame[name])
        if ranks is not None:
            frame = frame.with_columns(ranks)
            attributes.append(Attribute(name, "sensitive", kind="number"))
        else:
            tree = levels[name].tree() if name in levels else None
            attributes.append(Attribute(name, "sensitive", kind="category", hierarchy=tree))
    return frame, attributes


# --- validation ---------------------------------------------------------------------------------------


def _k_anonymity(_: Any, anonymized: StrPath, k: int, attributeTypes: Types | None = None) -> dict[str, Any]:  # noqa: N803
    from incrowd.privacy import KAnonymity

    frame = _read(anonymized, "anonymized")
    holds = _holds(frame, _quasi(attributeTypes, frame), [], KAnonymity(k))
    return {"k": k, "fulfill k-anonymity": holds}


def _l_diversity(_: Any, anonymized: StrPath, l: int, attributeTypes: Types | None = None) -> dict[str, Any]:  # noqa: E741, N803
    from incrowd.privacy import LDiversity
    from incrowd.schema import Attribute

    frame = _read(anonymized, "anonymized")
    names = _sensitive(attributeTypes, frame)
    sensitive = [Attribute(name, "sensitive", kind="category") for name in names]
    model = LDiversity(l, joint=len(names) > 1)
    quasi = _quasi(attributeTypes, frame)
    return {"l": l, "fulfill l-diversity": _holds(_all_rows(frame, quasi), quasi, sensitive, model)}


def _t_closeness(
    _: Any,
    anonymized: StrPath,
    tLimit: float,  # noqa: N803
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
) -> dict[str, Any]:
    from incrowd.privacy import TCloseness

    frame = _read(anonymized, "anonymized")
    names = _sensitive(attributeTypes, frame)
    quasi = _quasi(attributeTypes, frame)
    frame, sensitive = _for_distances(frame, names, read_folder(dataHierarchy, names))
    holds = _holds(_all_rows(frame, quasi), quasi, sensitive, TCloseness(float(tLimit)))
    return {"t": float(tLimit), "fulfill t-closeness": holds}


def _holds(
    frame: pl.DataFrame, quasi: Sequence[str], sensitive: Sequence[Attribute], model: PrivacyModel
) -> bool:
    from incrowd.assessment import assess
    from incrowd.schema import Attribute, Schema

    schema = Schema.of([*(Attribute(name, "quasi", kind="category") for name in quasi), *sensitive])
    return bool(assess(frame, schema, [model]).holds)


def _all_rows(frame: pl.DataFrame, quasi: Sequence[str]) -> pl.DataFrame:
    """Mark ``*``, so that rows of it throughout are a group as any other; k-anonymity alone drops them."""
    import polars as pl

    marked = (pl.when(pl.col(name) == "*").then(pl.lit("\0*")).otherwise(pl.col(name)) for name in quasi)
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

    everybody, frame = _read(original, "original"), _read(sample, "sample")
    quasi = _quasi(attributeTypes, frame)
    levels = _levels(dataHierarchy, quasi)
    released = _marked(frame, levels)
    least, most = delta_presence(released, {column.name: column.tree() for column in levels}, everybody)
    return {"dMin": dMin, "dMax": dMax, "d-presence": bool(float(dMin) <= least and most <= float(dMax))}


def _marked(frame: pl.DataFrame, levels: Sequence[Levels]) -> pl.DataFrame:
    """Write released labels as the trees have them; ``*`` stays."""
    import polars as pl

    marked = []
    for column in levels:
        tree = set(column.tree().labels)
        names = {}
        for label in frame[column.name].unique():
            level = column.level_of.get(label)
            if level is None:
                raise TableError(f"column {column.name!r} has values that its hierarchy file does not name")
            name = f"\0{level}\0{label}"
            names[label] = name if name in tree else label
        marked.append(pl.col(column.name).replace_strict(names, return_dtype=pl.String))
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

    frame = _read(sample, "anonymized")
    quasi = _quasi(attributeTypes, frame)
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
        "isProfitable": _holds(_all_rows(frame, quasi), quasi, [], model),
    }


def _reidentification_risk(original: StrPath | None, anonymized: StrPath | None = None) -> dict[str, Any]:
    from incrowd.privacy import k_anonymity

    frame = _read(original if anonymized is None else anonymized, "data")
    return {"Re-identification Risk": 1 / k_anonymity(frame, frame.columns)}


def _aecs(
    original: StrPath,
    anonymized: StrPath,
    attributeTypes: Types | None = None,  # noqa: N803
    dataHierarchy: StrPath | None = None,  # noqa: N803
) -> dict[str, Any]:
    from incrowd.engines import read_classes
    from incrowd.schema import Attribute, Schema

    before, after = _read(original, "original"), _read(anonymized, "anonymized")
    _same_rows(before, after)
    quasi = Schema.of(Attribute(name, "quasi", kind="category") for name in _quasi(attributeTypes, before))
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
        before, after = _read(original, "original"), _read(anonymized, "anonymized")
        _same_rows(before, after)
        return {key: measure(before, after, _levels(dataHierarchy, _quasi(attributeTypes, after)))}

    return validate


def _utility_bias(
    original: Any,
    anonymized: Any,
    processingFunc: Callable[[Any], float],  # noqa: N803
    maxBias: float,  # noqa: N803
) -> dict[str, Any]:
    return {"UtilityBias": bool(abs(processingFunc(anonymized) - processingFunc(original)) <= maxBias)}


def _singling_out(
    synthetic: StrPath,
    original: StrPath,
    control: StrPath | None = None,
    nAttack: int = 100,  # noqa: N803
    n_col: int = 3,
) -> dict[str, Any]:
    from incrowd.schema import Schema

    frame = _read(original, "original")
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

    frame = _read(original, "original")
    if len(auxiliaryColumns) != 2 or any(isinstance(side, str) for side in auxiliaryColumns):
        raise ParameterError("auxiliaryColumns: give two lists of column names")
    one, other = auxiliaryColumns
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

    frame = _read(original, "original")
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

    others = None if control is None else _read(control, "control")
    (found,) = attack(
        original, _read(synthetic, "synthetic"), schema, control=others, kinds=[kind], **settings
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
    if tech not in known:
        raise ParameterError(f"there is no technique {tech!r}; there are {', '.join(known)}")
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
    return known[tech](*given, **settings)


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

    frame = _read(path, "originalData")
    quasi = _quasi(types, frame)
    # Of nodes that lose as much, the first by the levels of the last columns is the one that ARX gave.
    levels = _levels(folder, quasi[::-1])
    names = _of_type(types, SENSITIVE_ATTRIBUTE, frame)
    if distances:
        counted, sensitive = _for_distances(frame, names, read_folder(folder, names))
    else:
        counted, sensitive = frame, [Attribute(name, "sensitive", kind="category") for name in names]
    schema = Schema.of(
        [
            *(Attribute(column.name, "quasi", "category", column.tree()) for column in levels),
            *sensitive,
        ],
        others="keep",
    )
    sample = counted if subset is None else _read(subset, "subsetData")
    release = anonymize(
        sample,
        schema,
        models(frame),
        Optimal(aggregate="geometric-mean"),
        max_suppression=float(rate),
        population=None if subset is None else frame,
    )
    hidden = _of_type(types, attributetypes.IDENTIFIER, frame)
    result: pl.DataFrame = release.table
    if subset is not None:
        assert isinstance(release.recoding, FullDomain)
        result = _recoded(frame, release.recoding.levels, levels)
    # Rows keep their order, and sensitive values the way they are written.
    result = result.with_columns(frame[name] for name in names)
    cells = [
        pl.col(column.name).replace_strict(
            {label: shown(label) for label in result[column.name].unique()}, return_dtype=pl.String
        )
        for column in levels
    ]
    result = result.with_columns([*cells, *(pl.lit("*").alias(name) for name in hidden)])
    return result.select(frame.columns).to_pandas()


def _recoded(frame: pl.DataFrame, chosen: Sequence[int], levels: Sequence[Levels]) -> pl.DataFrame:
    """Recode every record as the subset was."""
    import polars as pl

    return frame.with_columns(
        pl.col(column.name).replace_strict(column.at(level), return_dtype=pl.String)
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
        return [LDiversity(l, attribute=name) for name in _sensitive(attributeTypes, frame)]

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
        return [TCloseness(float(t), attribute=name) for name in _sensitive(attributeTypes, frame)]

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


# --- the page -----------------------------------------------------------------------------------------

_STYLE = """
:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
body { max-width: 42rem; margin: 3rem auto; padding: 0 1rem; line-height: 1.5; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 0.5rem 0.75rem; border-bottom: 1px solid #8886; }
td { font-variant-numeric: tabular-nums; }
"""


def _page(result: Mapping[str, Any]) -> str:
    parts = {name: value for name, value in result.items() if isinstance(value, Mapping)}
    single = {name: value for name, value in result.items() if name not in parts}
    body = _table(single) if single else ""
    body += "".join(f"<h2>{html.escape(name)}</h2>{_table(part)}" for name, part in parts.items())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Privacy report</title><style>{_STYLE}</style></head>"
        f"<body><h1>Privacy report</h1>{body}</body></html>\n"
    )


def _table(figures: Mapping[str, Any]) -> str:
    words = {True: "yes", False: "no", None: "not measured"}

    def said(value: Any) -> str:
        return words[value] if value is None or isinstance(value, bool) else str(value)

    rows = (
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(said(value))}</td></tr>'
        for name, value in figures.items()
    )
    return f"<table>{''.join(rows)}</table>"
