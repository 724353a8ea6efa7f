"""Scripts of sdcMicro, imported as a policy.

The script is read and never run. `createSdcObj` gives the roles, and the calls behind it models, treatments
and hierarchies. What has no counterpart is listed with its line. So is what only R could tell, as the names
of columns that a script computes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeGuard

from incrowd.core.errors import InputError, TableError, named, quoted
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.hierarchy.builders import Bands, Intervals, Prefix
from incrowd.core.io.addresses import file_path
from incrowd.core.table.schema import Attribute, Role, Schema
from incrowd.core.treatments import Bottom, Microaggregate, Noise, Pram, RankSwap, Top
from incrowd.importers.imported import Imported, read_text
from incrowd.importers.r_calls import Call, Column, calls_of
from incrowd.measures.privacy import KAnonymity, SubsetKAnonymity
from incrowd.release.policy.policy import Policy
from incrowd.search import CellSuppression, Optimal

if TYPE_CHECKING:
    import os

    from incrowd.core.hierarchy import Builder
    from incrowd.core.treatments import Treatment

__all__ = ["read_project"]

_CREATE = (
    "dat", "keyVars", "numVars", "pramVars", "ghostVars", "weightVar", "hhId", "strataVar", "sensibleVar",
    "excludeVars", "options", "seed", "randomizeRecords", "alpha",
)  # fmt: skip
_AGGREGATE = (
    "obj", "variables", "aggr", "strata_variables", "method", "weights", "nc", "clustermethod", "measure",
)  # fmt: skip
_ROLES: dict[str, Role] = {
    "keyVars": "quasi",
    "sensibleVar": "sensitive",
    "weightVar": "weight",
    "hhId": "household",
    "excludeVars": "identifying",
}
_MEASURES = {
    "measure_risk": "incrowd risk", "freqCalc": "incrowd assess", "suda2": "incrowd risk",
    "indivRisk": "incrowd risk", "dRisk": "incrowd perturbation", "dUtility": "incrowd perturbation",
    "report": "the report of a release", "extractManipData": "incrowd anonymize",
    "writeSafeFile": "incrowd anonymize",
}  # fmt: skip
"""Calls that change nothing, and what does the same here."""
_ELSEWHERE = {"modRisk": "log-linear models", "dRiskRMD": "robust Mahalanobis distances"}
"""Calls that change nothing, and measure a risk in a way that is not here."""
_CUT = re.compile(r"((?:\.|\\[dw]|\[(?:[0-9A-Za-z-]|\[:(?:digit|alnum|alpha):\])+\])(?:\{[0-9]{1,2}\})?)+\$")
"""A pattern of single characters at the end of a text."""
_CUT_PART = re.compile(r"(?:\.|\\[dw]|\[(?:\[:\w+:\]|[^\]])+\])(?:\{([0-9]+)\})?")
_SILENT = frozenset(
    {
        "library", "require", "print", "summary", "plot", "head", "str", "cat", "data", "set.seed", "names",
        "read.csv", "read.table", "read_dta", "readMicrodata", "install.packages", "as.factor", "factor",
        "as.numeric", "as.character", "write.csv", "paste", "colnames", "options", "suppressMessages",
        "suppressWarnings",
    }
)  # fmt: skip
"""Calls around the job, which say nothing of it."""


def read_project(path: str | os.PathLike[str]) -> Imported:
    """Read a script of sdcMicro in R without running any line.

    Raises
    ------
    TableError
        It cannot be read, or has no `createSdcObj` whose key variables are written out.
    InputError
        What it asks for contradicts itself.

    Examples
    --------
    >>> read_project("study.R").policy  # doctest: +SKIP
    Policy(6 columns; k-anonymity; cell-suppression)
    """
    file = file_path(path)
    script = _Script(f"{file}")
    for call in calls_of(read_text(file), str(file)):
        script.take(call)
    return script.imported()


@dataclass
class _Script:
    """The settings of the calls so far."""

    source: str
    roles: dict[str, Role] = field(default_factory=dict)
    numeric: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    within: str | None = None
    k: int | None = None
    sets: list[SubsetKAnonymity] = field(default_factory=list)
    importance: list[Any] = field(default_factory=list)
    hierarchies: dict[str, Hierarchy | Builder] = field(default_factory=dict)
    cuts: dict[str, tuple[int, Call]] = field(default_factory=dict)
    groups: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    treatments: dict[str, Treatment] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    def take(self, call: Call) -> None:
        """Take the settings of a call."""
        read = _READERS.get(call.name)
        if read is not None:
            try:
                read(self, call)
            except InputError as error:
                self.leave(call, str(error))
        elif call.name in _MEASURES:
            self.leave(call, f"measures or writes, and changes no policy; see {_MEASURES[call.name]}")
        elif call.name in _ELSEWHERE:
            self.leave(call, f"measures the risk by {_ELSEWHERE[call.name]}, which has no counterpart here")
        elif call.name not in _SILENT:
            self.leave(call, "is not read")

    def leave(self, call: Call, why: str) -> None:
        """List a call, or a part of a call, as missing from the policy."""
        self.unread.append(f"line {call.line}: {call.name}: {why}")

    def imported(self) -> Imported:
        """Make a policy of the settings."""
        if "quasi" not in self.roles.values():
            raise TableError(
                f"{self.source}: no createSdcObj(..., keyVars = c(...)) whose key variables are written out "
                "as texts; without them there is no policy"
            )
        for column, groups in self.groups.items():
            self.hierarchies.setdefault(column, Hierarchy.from_nested({"*": groups}))
        self._prefixes()
        quasi = [name for name, role in self.roles.items() if role == "quasi"]
        weights = self._weights(quasi)
        search = self._search()
        schema = self._with_treatments(weights)
        questions = [
            (name, "may somebody know it (quasi), or must nobody learn it (sensitive)?")
            for name in dict.fromkeys((*self.numeric, *self.categories, *self.treatments))
            if name not in schema
        ]
        if self.k is None and not self.sets:
            self.unread.append("no kAnon and no localSuppression says k: it is 3 in the policy, change it")
        # A suppressed cell is missing there, and matches any.
        all_columns = [] if self.k is None and self.sets else [KAnonymity(self.k or 3)]
        models = (*all_columns, *dict.fromkeys(self.sets))
        policy = Policy(schema, models, search, wildcards="matches-any", ends="exact", suppressed="keep")
        return Imported(policy, unread=tuple(self.unread), questions=tuple(questions))

    def _search(self) -> CellSuppression | Optimal:
        """Return cell suppression for local suppression, within the strata where cells of the strata stay."""
        levels = bool(self.hierarchies or self.sets)
        if levels:
            why = "recoded key variables" if self.hierarchies else "combs"
            self.unread.append(f"{why}: a search of levels stands for local suppression, and may go higher")
        treated = any(self.within in each.columns for each in self.treatments.values())
        if self.within is None:
            return Optimal() if levels else CellSuppression()
        if levels or treated or self.k is None or self.roles[self.within] not in ("insensitive", "quasi"):
            why = "levels are searched" if levels else "its treatments need it as it is"
            if self.k is None:
                why = "nothing is suppressed"
            self.leave(self.calls["strataVar"], f"strataVar: k-anonymity is not within it, since {why}")
            return Optimal() if levels else CellSuppression()
        self.roles[self.within] = "quasi"
        return CellSuppression(strata=self.within)

    def _prefixes(self) -> None:
        """Make hierarchies for truncated texts, and list the truncations without a hierarchy."""
        for column, (count, call) in self.cuts.items():
            if self.roles.get(column) != "quasi":
                self.leave(call, f"{quoted(column)} is no key variable; change it in the data")
            elif column in self.hierarchies:
                self.leave(call, f"{quoted(column)}: is recoded otherwise, too; cut it in the data")
            else:
                self.hierarchies[column] = Prefix()
                self.leave(call, f"{quoted(column)}: prefixes, of the longest text at least {count} masked")

    def _with_treatments(self, weights: Mapping[str, float]) -> Schema:
        """Make a schema with all treatments that the columns' roles allow, and list the others."""
        accepted: dict[str, Treatment] = {}
        refused: set[str] = set()
        for column, treatment in self.treatments.items():
            # Columns that one call aggregates together are treated together, or none of them is.
            names = [name for name in (column, *treatment.columns) if name in self.treatments]
            if column in accepted or refused.intersection(names):
                continue
            candidates = accepted | {name: self.treatments[name] for name in names}
            try:
                self._schema(weights, candidates)
            except InputError as error:
                self.leave(self.calls[column], str(error))
                refused.update(names)
            else:
                accepted = candidates
        return self._schema(weights, accepted)

    def _schema(self, weights: Mapping[str, float], treatments: Mapping[str, Treatment]) -> Schema:
        treated: dict[str, Role] = dict.fromkeys(treatments, "insensitive")
        return Schema.of_attributes(
            Attribute(
                name,
                role,
                hierarchy=self.hierarchies.get(name),
                levels=(self._least(name), None) if name in self.hierarchies else None,
                weight=weights.get(name, 1.0),
                treatment=treatments.get(name),
            )
            for name, role in (treated | self.roles).items()
        )

    def _least(self, name: str) -> int:
        cut = self.hierarchies[name] == Prefix() and name in self.cuts
        return self.cuts[name][0] if cut else 1

    def _weights(self, quasi: Sequence[str]) -> Mapping[str, float]:
        """Make weights of importances: 1 is the column in which least is suppressed."""
        ranks = self.importance
        if len(ranks) != len(quasi) or not all(isinstance(rank, int) for rank in ranks):
            if ranks:
                self.unread.append("importance: is not a whole number for each key variable")
            return {}
        return {name: float(len(quasi) + 1 - rank) for name, rank in zip(quasi, ranks, strict=True)}


# --- the calls --------------------------------------------------------------------------------------------


def _create(script: _Script, call: Call) -> None:
    arguments = call.matched(*_CREATE)
    for parameter, role in _ROLES.items():
        for name in _columns(script, call, parameter, arguments):
            if script.roles.setdefault(name, role) != role:
                script.leave(call, f"{parameter}: {quoted(name)} is {script.roles[name]} already")
    script.numeric = _columns(script, call, "numVars", arguments)
    script.categories = _columns(script, call, "pramVars", arguments)
    strata = _columns(script, call, "strataVar", arguments)
    script.within = strata[0] if len(strata) == 1 else None
    if script.within is not None:
        script.roles.setdefault(script.within, "insensitive")
        script.calls["strataVar"] = call
    for parameter, why in (
        ("ghostVars", "columns that follow others; link them where a treatment is (linked = [...])"),
        ("seed", "a seed of R; treatments draw anew for every release"),
        ("alpha", "what a missing value counts"),
    ):
        if arguments.get(parameter) is not None:
            script.leave(call, f"{parameter}: {why}")


def _columns(script: _Script, call: Call, parameter: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return names of columns that are written out."""
    value = arguments.get(parameter)
    if value is None:
        return []
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(name, str) and name for name in names):
        script.leave(call, f"{parameter}: the names of the columns are not written out as texts")
        return []
    return list(dict.fromkeys(names))


def _suppress(script: _Script, call: Call) -> None:
    arguments = call.matched("obj", "k", "importance", "combs")
    k, of = arguments.get("k", 2), arguments.get("combs")
    if of is not None:
        sets = of if isinstance(of, list) else [of]
        each_k = k if isinstance(k, list) else [k] * len(sets)
        if len(each_k) != len(sets) or not all(map(_is_count, (*each_k, *sets))):
            script.leave(call, "combs: numbers of columns, with one k or as many, are not written out")
            return
        script.sets += [SubsetKAnonymity(*pair) for pair in zip(each_k, sets, strict=True)]
    elif not _is_count(k):
        script.leave(call, "k is no number that is written out")
        return
    else:
        script.k = max(k, script.k or 0)
    importance = arguments.get("importance")
    importance = [importance] if isinstance(importance, int) else importance
    if isinstance(importance, list):
        script.importance = importance
    elif importance is not None:
        script.leave(call, "importance is not written out")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _recode(script: _Script, call: Call) -> None:
    arguments = call.matched("obj", "column", "breaks", "labels", "method")
    column, breaks = arguments.get("column"), arguments.get("breaks")
    if not isinstance(column, str):
        script.leave(call, "the column is not written out")
    elif not _are_breaks(breaks):
        script.leave(call, f"{quoted(column)}: breaks are no whole numbers, each once, that are written out")
    else:
        # Bins are closed on the right there: (0, 10] are the whole numbers from 1 to 10.
        cuts = [end + 1 for end in sorted(breaks) if isinstance(end, int)]
        widths = {later - sooner for sooner, later in pairwise(cuts)}
        if len(widths) == 1 and len(cuts) == len(breaks):
            script.hierarchies[column] = Intervals((*widths,), cuts[0])
        else:
            script.hierarchies[column] = Bands(tuple(cuts))
        if len(cuts) == len(breaks):
            script.leave(call, f"{quoted(column)}: numbers beyond the breaks are missing there, not here")
        if arguments.get("labels") is not None:
            script.leave(call, f"{quoted(column)}: labels of bins; cells are written as [1-10] here")


def _are_breaks(breaks: Any) -> TypeGuard[list[int | float]]:
    """Return whether breaks are distinct whole numbers, except for infinite ends."""
    if not isinstance(breaks, list) or len(breaks) < 2 or len(set(breaks)) < len(breaks):
        return False
    integers = [end for end in breaks if isinstance(end, int) and not isinstance(end, bool)]
    others = {end for end in breaks if isinstance(end, float)}
    return bool(integers) and len(integers) + len(others) == len(breaks) and others <= {math.inf, -math.inf}


def _cut(script: _Script, call: Call) -> None:
    """Read ``dat$zip <- sub("..$", "", dat$zip)``: the last characters of all texts are cut or masked."""
    if call.name in ("substr", "substring"):
        script.leave(call, "how much is cut hangs on the texts; see the recipe prefix = true")
        return
    arguments = call.matched("pattern", "replacement", "x", "ignore.case", "perl", "fixed")
    pattern, masks, column = (arguments.get(name) for name in ("pattern", "replacement", "x"))
    literal = arguments.get("fixed") not in (None, False)
    if not isinstance(column, Column) or call.into != column.name:
        script.leave(call, "is not a column that becomes its own texts without what a pattern finds")
    elif not (isinstance(pattern, str) and _CUT.fullmatch(pattern)) or literal:
        script.leave(call, f"{quoted(column.name)}: the pattern is no count of characters at the end")
    elif not isinstance(masks, str) or "\\" in masks:
        script.leave(call, f"{quoted(column.name)}: what stands for the characters is not written out")
    else:
        count = sum(int(times or 1) for times in _CUT_PART.findall(pattern.removesuffix("$")))
        before, _ = script.cuts.get(column.name, (0, call))
        script.cuts[column.name] = (max(before + count, 1), call)


def _group(script: _Script, call: Call) -> None:
    arguments = call.matched("obj", "var", "before", "after", "addNA")
    column, before, after = arguments.get("var"), arguments.get("before"), arguments.get("after")
    before = [before] if isinstance(before, str) else before
    if not isinstance(column, str) or not isinstance(after, str) or not isinstance(before, list):
        script.leave(call, "column, levels or new level are not written out")
        return
    groups = script.groups.setdefault(column, {})
    members: list[str] = []
    for level in map(str, before):
        members += groups.pop(level, [level])
    groups.setdefault(after, []).extend(members)
    script.leave(call, f"{quoted(column)}: its hierarchy has the levels that the script names alone")
    if arguments.get("addNA"):
        script.leave(call, f"{quoted(column)}: missing values are a value of their own here (addNA)")


def _code(script: _Script, call: Call) -> None:
    arguments = call.matched("obj", "value", "replacement", "kind", "column")
    column, value, kind = arguments.get("column"), arguments.get("value"), arguments.get("kind", "top")
    if not isinstance(column, str) or not isinstance(value, int | float) or kind not in ("top", "bottom"):
        script.leave(call, "column or value are not written out")
        return
    other = script.treatments.get(column)
    limits: dict[str, float] = {kind: float(value)}
    if isinstance(other, Top | Bottom):
        limits |= {name: at for name in ("top", "bottom") if (at := getattr(other, name, None)) is not None}
        limits[kind] = float(value)
    elif other is not None:
        _treat(script, call, column, other)
        return
    if arguments.get("replacement") != value:
        script.leave(call, f"{quoted(column)}: numbers beyond become the limit here, no replacement")
    script.calls[column] = call
    script.treatments[column] = (
        Top(limits["top"], limits.get("bottom"), limits="value")
        if "top" in limits
        else Bottom(limits["bottom"], limits="value")
    )


def _aggregate(script: _Script, call: Call) -> None:
    arguments = call.matched(*_AGGREGATE)
    how = arguments.get("measure", "mean")
    if how not in ("mean", "median"):
        script.leave(call, "measure: has no counterpart here; mean and median have")
        return
    columns, k, method = (
        _treated(script, call, arguments),
        arguments.get("aggr", 3),
        arguments.get("method", "mdav"),
    )
    if not isinstance(k, int) or method not in ("mdav", "onedims"):
        script.leave(call, f"method {quoted(str(method))} or aggr: has no counterpart here; mdav has")
        return
    for column in columns:
        others = "+".join(name for name in columns if name != column) if method == "mdav" else ""
        _treat(script, call, column, Microaggregate(k, others or None, script.within, how))


def _noise(script: _Script, call: Call) -> None:
    arguments = call.matched("obj", "variables", "noise", "method")
    amount, method = arguments.get("noise", 150), arguments.get("method", "additive")
    if not isinstance(amount, int | float) or method != "additive":
        script.leave(call, f"method {quoted(str(method))}: only additive noise is taken over; see treatments")
        return
    for column in _treated(script, call, arguments):
        _treat(script, call, column, Noise(amount / 100))


def _swap(script: _Script, call: Call) -> None:
    arguments = call.matched(
        "obj", "variables", "TopPercent", "BottomPercent", "K0", "R0", "P", "missing", "seed"
    )
    share = arguments.get("P")
    if not isinstance(share, int | float) or share <= 0:
        script.leave(call, "no rank range P that is written out; K0 and R0 have no counterpart here")
        return
    for column in _treated(script, call, arguments):
        _treat(script, call, column, RankSwap(min(share / 100, 1.0), within=script.within))


def _randomize(script: _Script, call: Call) -> None:
    arguments = call.matched("obj", "variables", "strata_variables", "pd", "alpha")
    stay = arguments.get("pd", 0.8)
    if not isinstance(stay, int | float):
        script.leave(call, "pd is no single number that is written out")
        return
    columns = _treated(script, call, arguments, numeric=False)
    for column in columns:
        _treat(script, call, column, Pram(float(stay), within=script.within))
    if columns:
        script.leave(call, "pd is the least probability that a value stays there, and that of no draw here")


def _treated(script: _Script, call: Call, arguments: Mapping[str, Any], *, numeric: bool = True) -> list[str]:
    """Return the columns of a treatment, by default all of the treatment's kind."""
    if arguments.get("strata_variables") is not None:
        script.leave(call, "strata_variables: taken over is strataVar of createSdcObj alone")
    if arguments.get("variables") is not None:
        return _columns(script, call, "variables", arguments)
    columns, declared = (script.numeric, "numVars") if numeric else (script.categories, "pramVars")
    if not columns:
        script.leave(call, f"no column is named, and createSdcObj has no {declared}")
    return columns


def _treat(script: _Script, call: Call, column: str, treatment: Treatment) -> None:
    if column in script.treatments:
        script.leave(call, f"{quoted(column)}: is treated already, and a column has one treatment")
        return
    script.treatments[column] = treatment
    script.calls[column] = call


def _diversity(script: _Script, call: Call) -> None:
    arguments = call.matched("obj", "ldiv_index", "l_recurs_c", "missing")
    columns = _columns(script, call, "ldiv_index", arguments)
    for column in columns:
        script.roles.setdefault(column, "sensitive")
    of = f" of {named(columns)}" if columns else ""
    script.leave(call, f"measures l-diversity{of} and asks for none; add a model l-diversity with its l")


_READERS: dict[str, Callable[[_Script, Call], None]] = {
    "createSdcObj": _create,
    "kAnon": _suppress,
    "localSuppression": _suppress,
    "globalRecode": _recode,
    "groupAndRename": _group,
    **dict.fromkeys(("sub", "gsub", "substr", "substring"), _cut),
    "topBotCoding": _code,
    "microaggregation": _aggregate,
    "addNoise": _noise,
    "rankSwap": _swap,
    "pram": _randomize,
    "ldiversity": _diversity,
}
"""The calls that a policy has a counterpart for."""
