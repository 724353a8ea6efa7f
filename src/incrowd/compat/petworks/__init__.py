"""The functions of PETWorks (Administration for Digital Industries, Taiwan), without a Java machine.

``PETValidation``, ``PETAnonymization``, ``report`` and ``output`` take the names, parameters and files of
PETWorks and give its keys.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incrowd.compat._arguments import check_frame, check_mapping, check_path
from incrowd.compat.petworks import attributetypes
from incrowd.compat.petworks._anonymization import ANONYMIZATIONS
from incrowd.compat.petworks._calls import call, number
from incrowd.compat.petworks._files import StrPath
from incrowd.compat.petworks._page import page
from incrowd.compat.petworks._validation import VALIDATIONS
from incrowd.core.errors import ParameterError, TableError
from incrowd.core.lazy import pd

__all__ = ["PETAnonymization", "PETValidation", "attributetypes", "output", "report"]


def PETValidation(  # noqa: N802
    original: Any,
    anonymized: Any,
    tech: str,
    *args: Any,
    **keywordArgs: Any,  # noqa: N803
) -> dict[str, Any]:
    """Measure a data file by a technique of PETWorks.

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
    args, keywordArgs
        The technique's parameters, and where it needs them ``attributeTypes``, a dict of column names to
        the constants of `attributetypes`, and ``dataHierarchy``, a folder of hierarchy files. What of both
        is not given is read from a file of PETWorks beside the data, ``<data>.yaml``. Without their names
        they are in the order of PETWorks's texts: dataHierarchy, attributeTypes, then the parameters. With
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
    result: dict[str, Any] = call(VALIDATIONS, tech, (original, anonymized), args, keywordArgs, anonymized)
    return result


def PETAnonymization(  # noqa: N802
    originalData: StrPath,  # noqa: N803
    tech: str,
    maxSuppressionRate: float,  # noqa: N803
    *args: Any,
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
    args, keywordArgs
        The technique's parameters, ``attributeTypes`` and ``dataHierarchy``, as in `PETValidation`.

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
    rate = number(maxSuppressionRate, "maxSuppressionRate", low=0, high=1)
    result: pd.DataFrame = call(ANONYMIZATIONS, tech, (originalData, rate), args, keywordArgs, originalData)
    return result


def report(result: Mapping[str, Any], format: str) -> None:
    """Print a result as JSON, or write a page ``output.html`` in the current folder.

    Raises
    ------
    ParameterError
        When the format is neither ``json`` nor ``web``, or the result is none of the two functions.
    """
    check_mapping(result, "result", "what PETValidation returns")
    if format == "json":
        sys.stdout.write(json.dumps(result, indent=4) + "\n")
    elif format == "web":
        Path("output.html").write_text(page(result), encoding="utf-8", newline="\n")
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
