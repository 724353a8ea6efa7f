"""An analysis of a policy: the formula, the kind of model, and how released cells are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from incrowd.core.errors import ParameterError, did_you_mean, named, those_are
from incrowd.core.parameters import COUNT, SEED, Parameter, check_fields
from incrowd.release.analyses.formula import columns_of

Kind = Literal[
    "ols",
    "logit",
    "poisson",
    "cox",
    "kaplan-meier",
    "means",
    "quantiles",
    "correlation",
    "classifier",
    "table",
]
Ranges = Literal["middle", "mean", "draws", "interval"]
Categories = Literal["level", "fractions"]

_ONE_SIDED = ("correlation", "table")
"""Kinds whose formula has no outcome."""
_TIMES = ("cox", "kaplan-meier")
"""Kinds of times to an event."""
_DESIGNED = ("ols", "logit", "poisson", "cox", "means", "table")
"""Kinds whose errors may be those of a sample with strata and clusters."""
SETTINGS: dict[str, Any] = {
    "kind": Parameter(str, "the model", choices=get_args(Kind)).field("ols"),
    "ranges": Parameter(
        str,
        "how a range counts as a number: middle, mean of the raw values in it, draws, or interval regression",
        choices=get_args(Ranges),
    ).field("middle"),
    "categories": Parameter(
        str,
        "how a group of categories counts: as a level of its own, or as fractions of its members",
        choices=get_args(Categories),
    ).field("level"),
    "draws": COUNT.within(2, 1000).field(20),
    "confidence": Parameter(float, "confidence of the intervals", above=0, high=0.9999).field(0.95),
    "seed": SEED.field(0),
    "tried": Parameter(int, "settings that were tried to keep the analysis; `tune` writes it", low=0).field(
        0
    ),
}
"""The settings with a range, by name."""
TEXTS = {
    "name": "what the analysis is called",
    "formula": "the model, as cost ~ age + C(sex)",
    "event": "the column that is 1 where the event came, for cox and kaplan-meier",
    "weights": "the column of sampling weights; by default the one of this role",
    "strata": "the column of the strata of a survey, in each of which people were drawn",
    "clusters": "the column of the clusters of a survey that were drawn, such as households",
}
"""The settings that are texts, and what each means."""


@dataclass(frozen=True)
class Analysis:
    """A table ``[[analyses]]`` of a policy: a model that a recipient of the release fits.

    Attributes
    ----------
    name
        What the analysis is called.
    formula
        The model in the notation of R and statsmodels, as ``"cost ~ age + C(sex)"``. A column whose name is
        no word stands in ``Q("...")``. Formulas may call functions of patsy, and a few of ``np``.
    kind
        A regression: ``ols`` (least squares), ``logit`` (of an outcome with two values), ``poisson`` (of
        counts) or ``cox`` (of times to an event). By group: ``kaplan-meier`` (survival curves), ``means`` or
        ``quantiles`` of a number. Or ``correlation`` of all pairs of numbers, ``classifier`` (accuracy of
        gradient-boosted trees, cross-validated) or ``table`` (shares of the combinations of values).
    function
        A function in place of a formula, for Python alone. It takes a frame of pandas, and returns numbers
        by name, each with the ends of its interval where it has one: ``{"rate": (0.2, 0.1, 0.3)}``.
    columns
        The columns that it reads: those of the formula, or the ones given with a function.
    event
        The column that is 1 where the event came, for ``cox`` and ``kaplan-meier``; by default to all.
    weights
        The column of sampling weights; by default the one that the policy gives this role. Only the raw table
        needs to have it: see `incrowd.release.analyses.measure.RawAnalyses.compare`.
    strata, clusters
        The columns of the strata and of the first clusters of a survey's sample, for ``ols``, ``logit``,
        ``poisson``, ``cox``, ``means`` and ``table``. Errors are then those of such a sample.
    quantiles
        The quantiles, for ``quantiles``: shares above 0 and below 1.
    ranges
        How a range counts as a number. ``middle`` is its middle. ``mean`` is the mean of the raw values in
        it, which the owner then has to publish. ``draws`` are repeated draws within the range, and their fits
        are pooled by Rubin's rules. ``interval`` is interval regression of an ``ols`` outcome, where other
        ranges count as their middle.
    categories
        How a group of categories counts: as a ``level`` of its own, or as ``fractions`` of its members by the
        published distribution.
    draws, seed
        How many draws there are, and their seed.
    confidence
        Confidence of the intervals.
    tried
        How many settings were tried to keep this analysis, if the policy was chosen so; `tune` writes it.

    Raises
    ------
    ParameterError
        When a setting is outside its range, or the formula calls what it may not.

    Examples
    --------
    >>> Analysis("stay", "length_of_stay ~ age + C(sex)").columns
    ('length_of_stay', 'age', 'sex')
    """

    name: str
    formula: str | None = None
    kind: Kind = SETTINGS["kind"]
    function: Callable[[Any], Mapping[str, Any]] | None = field(default=None, repr=False)
    columns: tuple[str, ...] = ()
    event: str | None = None
    weights: str | None = None
    strata: str | None = None
    clusters: str | None = None
    quantiles: tuple[float, ...] = (0.25, 0.5, 0.75)
    ranges: Ranges = SETTINGS["ranges"]
    categories: Categories = SETTINGS["categories"]
    draws: int = SETTINGS["draws"]
    confidence: float = SETTINGS["confidence"]
    seed: int = SETTINGS["seed"]
    tried: int = SETTINGS["tried"]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 0 < len(self.name) <= 60 or not self.name.isprintable():
            raise ParameterError("analyses: a name is a text of at most 60 signs")
        where = f"analysis {self.name}"
        check_fields(self, where)
        for setting in ("event", "weights", "strata", "clusters"):
            if not isinstance(getattr(self, setting), str | None):
                raise ParameterError(f"{where}: {setting} names one column")
        for setting, kind, kinds in (("columns", str, "texts"), ("quantiles", float, "shares")):
            values = getattr(self, setting)
            if not isinstance(values, list | tuple) or not all(isinstance(value, kind) for value in values):
                raise ParameterError(f"{where}: {setting} is a list of {kinds}")
            object.__setattr__(self, setting, tuple(values))
        if not all(0 < share < 1 for share in self.quantiles):
            raise ParameterError(f"{where}: quantiles are above 0 and below 1")
        if self.function is not None:
            alone = (self.formula, self.strata, self.clusters) == (None, None, None)
            if not callable(self.function) or not alone or not self.columns:
                raise ParameterError(f"{where}: a function has columns, and no formula, strata or clusters")
            return
        self._check_formula(where)

    def _check_formula(self, where: str) -> None:
        if not isinstance(self.formula, str):
            raise ParameterError(f"{where}: write its formula, as formula = 'cost ~ age + C(sex)'")
        sides = self.formula.split("~")
        if len(sides) != 2 or bool(sides[0].strip()) == (self.kind in _ONE_SIDED):
            shape = "'~ age + cost'" if self.kind in _ONE_SIDED else "'cost ~ age'"
            raise ParameterError(f"{where}: the formula of {self.kind} looks like {shape}")
        if self.event is not None and self.kind not in _TIMES:
            raise ParameterError(f"{where}: event is for cox and kaplan-meier")
        if (self.strata, self.clusters) != (None, None) and self.kind not in _DESIGNED:
            raise ParameterError(f"{where}: strata and clusters are for {named(_DESIGNED, 10)}")
        if self.ranges == "interval" and self.kind != "ols":
            raise ParameterError(f"{where}: interval regression is for kind = 'ols'; take ranges = 'middle'")
        names = [*self.side(0), *self.side(1), *([] if self.event is None else [self.event])]
        if not names or (self.kind not in _ONE_SIDED and not self.side(0)):
            raise ParameterError(f"{where}: the formula names no column")
        object.__setattr__(self, "columns", tuple(dict.fromkeys(names)))

    def side(self, number: int) -> list[str]:
        """Return the columns before ``~``, with `number` 0, or behind it, with 1."""
        return columns_of(str(self.formula).split("~")[number], f"analysis {self.name}")

    def settings(self) -> dict[str, Any]:
        """Return the settings other than the defaults, in the notation of a policy file.

        Raises
        ------
        ParameterError
            When the analysis is a function of Python.
        """
        if self.function is not None:
            raise ParameterError(f"analysis {self.name}: a function of Python has no place in a policy file")
        return {
            each.name: list(value) if isinstance(value, tuple) else value
            for each in fields(self)
            if each.name != "columns" and (value := getattr(self, each.name)) != each.default
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Analysis:
        """Read a table ``[[analyses]]``.

        Raises
        ------
        ParameterError
        """
        options = [each.name for each in fields(cls) if each.name not in ("function", "columns")]
        for name in settings:
            if name not in options:
                raise ParameterError(
                    f"analyses: there is no setting {name!r}; there are {named(options, 20)}"
                    f"{did_you_mean(name, options)}"
                )
        if "name" not in settings:
            raise ParameterError('analyses: name the analysis, e.g. name = "length of stay"')
        return cls(**settings)


def check_analyses(analyses: Iterable[Analysis]) -> tuple[Analysis, ...]:
    """Check that these are analyses, and that no two have one name.

    Raises
    ------
    ParameterError
    """
    analyses = tuple(analyses)
    for each in analyses:
        if not isinstance(each, Analysis):
            raise ParameterError("analyses: each is an Analysis, as ic.Analysis('stay', 'stay ~ age')")
    names = [each.name for each in analyses]
    if len(set(names)) < len(names):
        raise ParameterError("analyses: two analyses have one name")
    return analyses


def analysis_of(goal: str | Analysis, analyses: Sequence[Analysis]) -> Analysis:
    """Return the analysis that a goal such as ``analysis:stay`` names.

    Raises
    ------
    ParameterError
    """
    if isinstance(goal, Analysis):
        return goal
    prefix, _, name = str(goal).partition(":")
    if prefix != "analysis" or not name:
        raise ParameterError("goal: write analysis:NAME, where [[analyses]] of the policy has the name")
    for each in analyses:
        if each.name == name:
            return each
    raise ParameterError(
        f"goal: there is no analysis {name!r}; {those_are([a.name for a in analyses], name)}"
    )
