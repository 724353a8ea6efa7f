"""learn(): the scores of models trained on raw and on released records, tested on raw records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import MissingExtraError, ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import SEED, SHARE

if TYPE_CHECKING:
    from incrowd.release.jobs.measure.evaluate import Evaluation

_COLUMNS = 50
_LEAST = 20


@dataclass(frozen=True, slots=True)
class LearningResult(InNotebooks):
    """Scores on raw test records of a kind of model, trained on raw and on released records.

    Attributes
    ----------
    target
        The column that was predicted.
    score
        ``accuracy``, ``auc`` (one against the rest, averaged) or ``r2``.
    raw, released, baseline
        The score after training on raw records, on the same records as they were released, and of always
        saying the most frequent value or the mean.
    kept
        (released - baseline) / (raw - baseline): 1 nothing lost; None where raw records teach nothing either.
    """

    _shown = ("target", "score", "raw", "released", "baseline", "kept")

    target: str
    score: str
    raw: float
    released: float
    baseline: float

    @property
    def kept(self) -> float | None:
        """Share of the gain from raw records that training on the release keeps."""
        gain = self.raw - self.baseline
        return (self.released - self.baseline) / gain if gain > 1e-9 else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self) | {"kept": self.kept}


def learn(
    evaluation: Evaluation, table: Any, target: str, *, holdout: float = 0.3, seed: int = 0
) -> list[LearningResult]:
    """Train on the release and on the raw table, and test both on raw records.

    Gradient-boosted trees learn from the quasi-identifiers.

    - A number is given as the middle and the width of its cell.
    - A category has a column for each of its most frequent values, at most 50. The column holds the value's
      share of the cell. Example: 1 if the cell is the value, 1/4 if it is a node with four leaves of which
      the value is one.
    - A suppressed record is given as cells that cover everything.

    Parameters
    ----------
    evaluation
        What `evaluate` returned.
    table
        The raw table that it was given, for the target.
    target
        A column of `table`, no quasi-identifier. Numbers are predicted as numbers, anything else as classes.
    holdout
        Share of the records that are tested on, 0.05 to 0.95.
    seed
        Seed of the split and of the model.

    Returns
    -------
    Accuracy and AUC for classes, R2 for numbers.

    Raises
    ------
    MissingExtraError
        When scikit-learn is not installed.
    ParameterError
        When the target does not vary, or there are too few records.
    SchemaError
        When the table has no such target.
    TableError
        When the release has cells that are not read.

    References
    ----------
    LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, section 6 (trained on the
    release, tested on records as they are).
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise MissingExtraError("scikit-learn", "ml", "measuring utility for learning") from None
    from incrowd.core.kernels.jit import PARALLEL_FROM, thread_count

    evaluation.require_read("learning")
    holdout = SHARE.within(0.05, 0.95).check(holdout, "learn", "holdout")
    seed = SEED.check(seed, "learn", "seed")
    labels, numeric = _labels(evaluation, table, target)
    rows = evaluation.frequency.key_of_row("learn")
    usable = np.flatnonzero((rows >= 0) & ~np.isnan(labels) if numeric else rows >= 0)
    random = np.random.default_rng(seed)
    order = random.permutation(usable)
    cut = round(len(order) * holdout)
    test, train = order[:cut], order[cut:]
    if len(test) < _LEAST or len(train) < _LEAST or len(np.unique(labels[train])) < 2:
        raise ParameterError(
            f"target {target!r}: {len(train)} records to learn from and {len(test)} to test on, or only one "
            "value; that says nothing"
        )
    before, after = _features(evaluation, of_release=False), _features(evaluation, of_release=True)
    maker = HistGradientBoostingRegressor if numeric else HistGradientBoostingClassifier
    # Threads that share out the nodes of a small table wait for one another most of the time.
    with threadpool_limits(thread_count() if len(train) >= PARALLEL_FROM else 1, user_api="openmp"):
        models = [
            maker(random_state=seed, max_iter=60).fit(features[rows[train]], labels[train])
            for features in (before, after)
        ]
        scores = _r2 if numeric else _accuracy_and_area
        return scores(models, target, before[rows[test]], labels[test], labels[train])


def _r2(
    models: Sequence[Any], target: str, tested: NDArray[Any], truth: NDArray[Any], learned: NDArray[Any]
) -> list[LearningResult]:
    """Return the R2 of the models for a number."""
    from sklearn.metrics import r2_score

    raw, released = (float(r2_score(truth, model.predict(tested))) for model in models)
    mean = np.full(len(truth), learned.mean())
    return [LearningResult(target, "r2", raw, released, float(r2_score(truth, mean)))]


def _accuracy_and_area(
    models: Sequence[Any], target: str, tested: NDArray[Any], truth: NDArray[Any], learned: NDArray[Any]
) -> list[LearningResult]:
    """Return the accuracy of the models, and the area under the ROC curves."""
    from sklearn.metrics import accuracy_score, roc_auc_score

    raw, released = (float(accuracy_score(truth, model.predict(tested))) for model in models)
    values, counts = np.unique(learned, return_counts=True)
    most_frequent = values[np.argmax(counts)]
    result = [LearningResult(target, "accuracy", raw, released, float((truth == most_frequent).mean()))]
    has_trained_class = np.isin(truth, values)
    if set(np.unique(truth[has_trained_class])) == set(values):
        areas = []
        for model in models:
            chances = model.predict_proba(tested[has_trained_class])
            scores = chances[:, 1] if len(values) == 2 else chances
            areas.append(
                float(roc_auc_score(truth[has_trained_class], scores, multi_class="ovr", labels=values))
            )
        result.append(LearningResult(target, "auc", areas[0], areas[1], 0.5))
    return result


def _labels(evaluation: Evaluation, table: Any, target: str) -> tuple[NDArray[Any], bool]:
    """Return the target of every row: numbers, or class numbers."""
    from incrowd.core.table.schema import Attribute, Schema
    from incrowd.engines import engine_for, loaded

    quasi = [domain.name for domain in evaluation.frequency.domains]
    engine = engine_for(loaded(table))
    schema = Schema.of_attributes([Attribute(name, "quasi") for name in quasi], unlisted="keep")
    attribute = schema.target(target, engine.columns)
    frequency = engine.count(
        Schema.of_attributes(
            [Attribute(quasi[0], "quasi", kind="category"), replace(attribute, role="sensitive")]
        )
    ).frequency
    frequency.key_of_row("learn")
    [column] = frequency.sensitive
    domain, ranks = column.domain, column.rank_of_row()
    if domain.kind == "number":
        # Trees and R2 do not depend on the unit.
        return domain.places[ranks], True
    return np.asarray(ranks, np.int64), False


def _features(evaluation: Evaluation, *, of_release: bool) -> NDArray[np.float64]:
    """Encode the quasi-identifiers of every key: float64[keys, features]."""
    from incrowd.release.jobs.measure.cell_spread import Spread

    frequency, recoding = evaluation.frequency, evaluation.recoding
    columns: list[NDArray[np.float64]] = []
    for j, (domain, cells) in enumerate(zip(recoding.domains, recoding.cells, strict=True)):
        spread = Spread(domain, cells, recoding.suppressed)
        codes = frequency.codes[j]
        values = domain.places
        middle = spread.numbers()
        if middle is not None:
            columns.append(middle[spread.entry] if of_release else values[codes])
            columns.append((spread.wide - 1)[spread.entry] if of_release else np.zeros(len(codes)))
            continue
        frequent = np.argsort(-frequency.totals(j), kind="stable")[:_COLUMNS]
        for rank in frequent.tolist():
            weight = np.zeros(domain.size)
            weight[rank] = 1.0
            columns.append(spread.over(weight)[spread.entry] if of_release else weight[codes])
    return np.column_stack(columns)
