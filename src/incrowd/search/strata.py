"""Cell suppression within strata: each value of a column is searched on its own, and its cells stay."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from incrowd.core.errors import InfeasibleError, ParameterError, setting, those_are
from incrowd.core.lazy import np
from incrowd.core.recoding import Local

if TYPE_CHECKING:
    from incrowd.search.base import Algorithm, SearchProblem


def within_strata(problem: SearchProblem, strata: str, algorithm: Algorithm) -> Local:
    """Suppress cells so that each stratum satisfies the models by itself.

    In a stratum of its own, no record is compared with those of others. So the models hold against somebody
    who knows the stratum, whose cell is never suppressed, except with the whole record.

    Parameters
    ----------
    strata
        The quasi-identifier whose values are the strata.
    algorithm
        What suppresses cells in a stratum.

    Raises
    ------
    ParameterError
        When that is no quasi-identifier, the only one, or cells are to be written in another style.
    InfeasibleError
        When a stratum does not satisfy the models as a whole, and may not be suppressed.

    References
    ----------
    `kAnon` of R's package sdcMicro with ``strataVars``: Templ, Kowarik and Meindl, JSS 67(4), 2015, 4.1.
    """
    frequency, where = problem.frequency, f"{algorithm.name}: strata"
    names = [domain.name for domain in frequency.domains]
    if strata not in names or len(names) < 2:
        raise ParameterError(
            f"{where} is one of several quasi-identifiers; {those_are(names, strata)}; give the column "
            "this role, so that somebody may know it"
        )
    if any(each.output not in (None, "auto", "suppress") for each in problem.attributes):
        raise ParameterError(f"{where} leaves cells as they are or writes *; leave output out")
    place = names.index(strata)
    # Within a stratum its cells are all alike, so other cells are suppressed before them.
    price = 1 + math.fsum(each.weight for each in problem.attributes)
    attributes = [replace(each, weight=price) if each.name == strata else each for each in problem.attributes]
    stars = np.zeros((len(names), frequency.keys), np.bool_)
    small = np.zeros(frequency.keys, np.bool_)
    for stratum in np.unique(frequency.codes[place]):
        inside = frequency.codes[place] == stratum
        part = replace(problem, frequency=frequency.only(inside), attributes=attributes)
        try:
            recoding = algorithm.search(part).recoding
        except InfeasibleError:
            small[inside] = True
            continue
        stars[:, inside] = [cells.starred for cells in recoding.cells]
        small[inside] = recoding.in_no_class
    stars[:, small] = True
    suppressed = int(frequency.weights[small].sum()) + frequency.suppressed
    if suppressed > problem.max_suppression * frequency.rows:
        raise InfeasibleError(
            f"{where}: {suppressed:,} of {frequency.rows:,} records are in strata of {strata!r} that do not "
            "satisfy the models by themselves; join such strata in the data, or raise "
            + setting("max_suppression", "--max-suppression")
        )
    return Local.of_stars(frequency, stars, algorithm.name)
