"""A transformer for scikit-learn, which learns a recoding from the rows of `fit`, and applies the recoding.

Examples
--------
>>> import numpy as np
>>> from incrowd.sklearn import Anonymizer
>>> ages = np.array([[20], [21], [22], [60], [61], [62]])
>>> Anonymizer("k-anonymity:3").fit(ages).transform([[20], [61]]).tolist()
[[21.0], [61.0]]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import MissingExtraError, ParameterError, named
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.cells import read_span
from incrowd.core.recoding import SUPPRESSED
from incrowd.core.recoding.observed import ranks_of
from incrowd.core.table.schema import Schema
from incrowd.core.table.settings import DEFAULT_ENDS
from incrowd.engines import engine_for
from incrowd.release.jobs.make.anonymize import anonymize
from incrowd.release.jobs.make.recode_batch import labels_of, with_own_cells

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils.validation import check_array, check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError("scikit-learn 1.6", "sklearn", "incrowd.sklearn") from None

if TYPE_CHECKING:
    from incrowd.core.recoding import Cells
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.settings import Ends

__all__ = ["Anonymizer"]

_Y, _PERSON = "y of the rows", "person of the rows"
"""Columns beside those of X; no column of a user is called so by chance."""
_ENCODINGS = ("auto", "cells")


class Anonymizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Recodes all columns of X so that the rows given to `fit` satisfy privacy models.

    `fit` searches a recoding of these rows. `transform` recodes any rows by it, each by itself. So what was
    learned from the training rows of a fold knows nothing of its test rows. What `transform` gives of other
    rows is for the model behind it and is no release: nobody checked the models on them.

    To recode some columns alone, put it into a `ColumnTransformer`.

    Parameters
    ----------
    models
        Privacy models, or their texts, as in `incrowd.anonymize`.
    algorithm
        What searches the recoding.
    hierarchies
        By column: a hierarchy, a recipe such as ``Hierarchy.intervals(5, 10)``, or a kind.
    max_suppression
        Largest share of records that may be suppressed, 0 to 1.
    protect_y
        Whether y is a sensitive attribute, for models such as l-diversity.
    encoding
        ``auto``: a column of numbers becomes the middle of its cells, any other the texts of its cells. An
        open range becomes its one end. So the number tells no more than the text, unless ends are exact.
        ``cells``: texts for all columns.
    seed
        Seed of what is random in the search.
    ends
        Ends of ranges, and means: outward (rounded, open at the tails) or exact (values of people). See
        `incrowd.Policy`.

    Attributes
    ----------
    recoding_
        What was decided. It knows raw values, and so does a pickle of this estimator.
    privacy_
        The recoded training rows, measured.
    n_features_in_, feature_names_in_
        As of every estimator.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = make_pipeline(Anonymizer("k-anonymity:5"), DecisionTreeClassifier())
    """

    def __init__(
        self,
        models: Any = "k-anonymity:5",
        *,
        algorithm: Any = "mondrian",
        hierarchies: Mapping[str, Any] | None = None,
        max_suppression: float = 0.0,
        protect_y: bool = False,
        encoding: str = "auto",
        seed: int = 0,
        ends: Ends = DEFAULT_ENDS,
    ) -> None:
        self.models = models
        self.algorithm = algorithm
        self.hierarchies = hierarchies
        self.max_suppression = max_suppression
        self.protect_y = protect_y
        self.encoding = encoding
        self.seed = seed
        self.ends = ends

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = self.protect_y
        return tags

    def fit(self, X: Any, y: Any = None, *, person: Any = None) -> Anonymizer:  # noqa: N803
        """Search a recoding of the rows of X.

        Parameters
        ----------
        X
            A frame of pandas or Polars, or an array. Every column is a quasi-identifier.
        y
            The target; looked at only with `protect_y`.
        person
            Whose row each is, where a person may have several: people are counted then. Routed by
            ``set_fit_request(person=True)``.

        Raises
        ------
        InputError
            When a parameter or the table is wrong.
        InfeasibleError
            When no recoding satisfies the models.
        """
        if self.encoding not in _ENCODINGS:
            raise ParameterError(f"Anonymizer: encoding must be one of {', '.join(_ENCODINGS)}")
        frame = self._frame(X, reset=True, least=2)
        hierarchies = dict(self.hierarchies or {})
        unknown = [name for name in hierarchies if name not in frame.columns]
        if unknown:
            raise ParameterError(
                f"Anonymizer: hierarchies names {named(unknown)}; the columns are {named(frame.columns)}"
            )
        quasi = {
            name: hierarchies.get(name, "number" if frame[name].dtype.is_numeric() else None)
            for name in frame.columns
        }
        beside = {}
        if self.protect_y:
            if y is None:
                raise ValueError(
                    "Anonymizer: protect_y needs y, and it requires y to be passed, but it is None"
                )
            beside[_Y] = y
        if person is not None:
            beside[_PERSON] = person
        whole = frame.with_columns(_series(name, given, len(frame)) for name, given in beside.items())
        schema = Schema(
            quasi=quasi,
            sensitive=[_Y] if self.protect_y else (),
            person=[_PERSON] if person is not None else (),
        )
        release = anonymize(
            whole,
            schema,
            self.models,
            self.algorithm,
            max_suppression=self.max_suppression,
            seed=self.seed,
            ends=self.ends,
            # The release stays here: what leaves is what the model behind it learns.
            unanswered="write",
            # Rows are recoded one by one, and none is left out of X.
            suppressed="keep",
        )
        self.recoding_ = release.recoding
        self.privacy_ = release.privacy
        self.numeric_ = tuple(
            self.encoding == "auto" and frame[name].dtype.is_numeric() for name in frame.columns
        )
        return self

    def transform(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Recode rows singly, in the order of X.

        A row that no class covers has ``*`` in every column. As a number this is the middle of the column: of
        its values where ends are exact, else of the ends that its cells have.

        Returns
        -------
        float64[rows, columns] where all columns are numbers, else object[rows, columns].
        """
        check_is_fitted(self)
        frame = self._frame(X, reset=False, least=1)
        domains = self.recoding_.domains
        kinds = [domain.kind if domain.hierarchy is None else "category" for domain in domains]
        schema = Schema(quasi={domain.name: kind for domain, kind in zip(domains, kinds, strict=True)})
        counted = engine_for(frame).count(schema).frequency
        # The models hold of the classes that the rows had when it was fitted.
        labels, covered, _ = with_own_cells(labels_of(self.recoding_, counted), self.recoding_, counted)
        rows = counted.key_of_row("Anonymizer")
        columns = []
        for domain, cells, column, is_numeric in zip(
            domains, self.recoding_.cells, labels, self.numeric_, strict=True
        ):
            texts = [
                cell if good else SUPPRESSED for cell, good in zip(column, covered.tolist(), strict=True)
            ]
            # A row that came in as * has no key: it takes the last place.
            texts.append(SUPPRESSED)
            values = _middles(domain, cells, texts) if is_numeric else np.array(texts, object)
            columns.append(values[rows])
        kind = np.float64 if all(self.numeric_) else object
        return np.column_stack([column.astype(kind) for column in columns])

    def _frame(self, given: Any, *, reset: bool, least: int) -> pl.DataFrame:
        """Read X as a frame of Polars, with the checks of scikit-learn."""
        if hasattr(given, "columns") and hasattr(given, "shape"):
            validate_data(self, given, reset=reset, skip_check_array=True)
            if given.shape[0] < least or not given.shape[1]:
                check_array(np.empty(given.shape), ensure_min_samples=least)
            names = [str(name) for name in given.columns]
            return pl.DataFrame(
                [
                    _series(name, given[own], len(given))
                    for name, own in zip(names, given.columns, strict=True)
                ]
            )
        array = validate_data(
            self, given, reset=reset, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=least
        )
        columns = array.T
        if array.dtype.kind == "O":
            columns = [_unboxed(column) for column in columns]
        return pl.DataFrame([_series(f"x{at}", column, len(array)) for at, column in enumerate(columns)])


def _unboxed(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of objects as numbers, where all are."""
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return column


def _series(name: str, given: Any, rows: int) -> pl.Series:
    """Return values as a column: not-a-number is missing, and anything but a number is a text."""
    if isinstance(given, pl.Series):
        series = given.alias(name)
    else:
        array = np.asarray(given)
        if array.dtype.kind == "O":
            texts = [None if _is_missing(value) else str(value) for value in array.tolist()]
            series = pl.Series(name, texts, pl.String)
        else:
            series = pl.Series(name, array)
    if len(series) != rows:
        raise ParameterError(
            f"Anonymizer: {rows:,} rows and {len(series):,} values beside them; give as many"
        )
    if series.dtype.is_float():
        # Whole numbers are written as such, so that a hierarchy of them knows them.
        series = series.fill_nan(None)
        whole = series.drop_nulls()
        if len(whole) and (whole == whole.round()).all() and whole.abs().max() < 2**53:  # type: ignore[operator]
            series = series.cast(pl.Int64)
    return series


def _is_missing(value: Any) -> bool:
    """Say whether a value of an array of objects is none: None, NaN, NaT or pandas' NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)  # noqa: PLR0124


def _middles(domain: Domain, cells: Cells, texts: Sequence[str | None]) -> NDArray[np.float64]:
    """Return the middle of each cell; a missing value is not-a-number."""
    known = domain.numbers[~np.isnan(domain.numbers)]
    if domain.grid is not None:
        # The smallest and the largest value of the column are values of people, and no text tells them.
        known = np.array([end for label in cells.labels for end in _ends(label)])
    everything = (known.min() + known.max()) / 2 if len(known) else 0.0
    distinct = list(dict.fromkeys(texts))
    found: dict[str | None, float] = {}
    for text, ranks in zip(distinct, ranks_of(domain, distinct), strict=True):
        covered = domain.numbers[ranks]
        covered = covered[~np.isnan(covered)]
        if text is None:
            found[text] = np.nan
        elif text == SUPPRESSED or not len(covered):
            found[text] = everything
        else:
            ends = covered if domain.grid is None else _ends(text) or covered
            found[text] = (min(ends) + max(ends)) / 2
    return np.array([found[text] for text in texts], np.float64)


def _ends(text: str | None) -> list[float]:
    """Return the ends that the text of a range has: two, one of an open range, none of another text."""
    span = read_span(text or "", "number")
    return [] if span is None else [float(end) for end in (span.low, span.high) if end.is_finite()]
