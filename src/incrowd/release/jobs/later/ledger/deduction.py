"""The people whose sensitive values follow from several releases together.

A *world* gives every record a value, the same in all releases, so that each class of each release has the
values that it shows, each as often. The true table is one world. A value is possible for a record if it has
it in some world. Records that are in the same classes form a *cell*: whoever exchanges their values gets
another world, so all records of a cell have the same possible values. Other worlds are sought by integer
programmes over the numbers of records of a cell that have a value. A world that is found is checked, so it is
a proof. What is not found counts as impossible.

References
----------
Ganta, Kasiviswanathan and Smith, Composition attacks and auxiliary information in data privacy, KDD 2008.
Xiao and Tao, m-Invariance, SIGMOD 2007, section 3: possible worlds of a history of releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from incrowd.core.errors import TableError
from incrowd.core.io.columns import column_named
from incrowd.core.io.frames import numbered
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.progress import check
from incrowd.release.jobs.later.ledger.exposure import RECORDS, ReleasePeople

_MOST = 20_000
"""Pairs of a cell and a value in one integer programme."""
_TOGETHER = 500
"""Those up to which several parts share a programme."""
_NEAR = 4_000
"""Those in one around a single cell."""
_STEPS = 3
"""Classes on the way from this cell to others."""
_CALLS = 5_000
"""Programmes that are solved at most; what is open then counts as impossible."""
_NODES = 2_000
"""Nodes of the search of a small programme."""
_WORK = 2_000_000
"""Nodes times pairs of a large one. The answer must not depend on a clock, or on what else a machine does."""
_SECONDS = 200
"""Twenty times what the largest programmes take. Nothing is decided by it: the job ends with an error."""
_OUT_OF_TIME = 1
_PART = 0.9
"""How far from the best a world may be: it only has to show something new."""


def deduced_people(releases: Sequence[ReleasePeople], *, latest: bool = False) -> pl.Series:
    """Return the people with too few possible sensitive values.

    A release promises a person l values, or as many as its class has, if these are fewer. Where no release
    has an l, two have to remain, unless a release alone leaves one.

    Parameters
    ----------
    releases
        All releases, of which people are found again.
    latest
        Whether only those people are asked for whom the last release tells something about.

    Raises
    ------
    TableError
        A programme took longer than any should: nothing is decided then.
    """
    if latest and releases[-1].sets:
        return pl.Series("person", [], pl.Binary)
    releases = [each for each in releases if not each.sets]
    columns = {name for each in releases for name in each.people.columns} - {"person", "class", RECORDS}
    people_by_column = [_deduced_by_column(releases, column, latest=latest) for column in sorted(columns)]
    return pl.concat([pl.Series("person", [], pl.Binary), *people_by_column]).unique()


def _deduced_by_column(releases: Sequence[ReleasePeople], column: str, *, latest: bool) -> pl.Series:
    rows = _rows_of_releases(releases, column)
    people = rows["person"]
    persons = numbered(people.to_frame())[0].astype(np.int64)
    # Each counterfeit record is somebody of its own.
    persons = np.where(people.is_null(), len(rows) + np.arange(len(rows)), persons)
    rows = rows.select(
        "release", "least", "real", RECORDS,
        pl.Series("person", persons),
        pl.Series("class", numbered(rows.select("release", "class"))[0]),
        pl.coalesce("class", pl.col("release").cast(pl.String).cast(pl.Binary)).alias("cells"),
        pl.Series("value", numbered(rows.select("value"))[0]),
    )  # fmt: skip
    touched = [len(releases) - 1] if latest else range(len(releases))
    cells, possible = _cells(_spanning(rows, touched, [each.series for each in releases]))
    short = possible.join(cells.select("cell", "needed").unique(), on="cell")
    short = short.filter(pl.col("real") & (pl.col("stuck") | (pl.col("left") < pl.col("needed"))))
    # Who has several records in a cell could exchange them alone, which hides nothing: there is no search.
    candidates = short.filter((pl.col("own") == 1) & ~pl.col("stuck"))["cell"].unique(maintain_order=True)
    hidden = candidates.filter(_Worlds(cells).hide(candidates.to_numpy())) if len(candidates) else candidates
    exposed = short.filter(pl.col("stuck") | (pl.col("own") > 1) | ~pl.col("cell").is_in(hidden.implode()))
    return people.filter(pl.Series(np.isin(persons, exposed["person"].to_numpy()))).unique()


def _rows_of_releases(releases: Sequence[ReleasePeople], column: str) -> pl.DataFrame:
    """Return the records of all releases that show a sensitive attribute."""
    parts = []
    for number, each in enumerate(releases):
        if column not in each.people.columns:
            continue
        records = column_named(RECORDS) if RECORDS in each.people.columns else pl.lit(1)
        rows = each.people.select(
            "person", "class", column_named(column).alias("value"), records.alias(RECORDS)
        ).drop_nulls("value")
        # Counterfeit records that are alike are not of one person.
        nobody = pl.when(pl.col("person").is_null()).then(pl.int_range(pl.len())).alias("nobody")
        rows = rows.group_by("person", "class", "value", nobody).agg(
            column_named(RECORDS).sum().cast(pl.Int64)
        )
        rows = rows.drop("nobody")
        if each.linked:
            # Joined rows are seen as one: their values change place together.
            several = pl.len().over("person") > 1
            bundle = pl.col("value").bin.encode("hex").sort().str.join().over("person").cast(pl.Binary)
            once = pl.when(several).then(1).otherwise(RECORDS).alias(RECORDS)
            rows = rows.with_columns(once, value=pl.when(several).then(bundle).otherwise("value")).unique()
        least = pl.lit(each.least.get(column, 0), pl.Int64).alias("least")
        real = pl.col("person").is_not_null().alias("real")
        parts.append(rows.with_columns(least, real, pl.lit(number, pl.Int64).alias("release")))
    return pl.concat(parts)


def _spanning(rows: pl.DataFrame, touched: Sequence[int], series: Sequence[bool]) -> pl.DataFrame:
    """Return the rows of the parts that several releases show, with some release of `touched`.

    A part hangs together by classes and records. A ``record`` is a value of a person: a row for each class in
    which it is. Of a series alone the signatures are compared: they prove more than a search finds.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # Of the same records shown again, nothing new is learned.
    classes = rows.group_by("class").agg(pl.col("release", "least").first(), pl.col("value").n_unique())
    classes = classes.join(_same_records(rows), on="class").sort("release", "class")
    representatives = classes.group_by("alike", maintain_order=True).agg(
        pl.col("class", "release").first(), pl.min_horizontal("least", "value").max().alias("promised"),
        pl.col("value").min().clip(0, 2).alias("default"),
    )  # fmt: skip
    rows = rows.drop("release", "least", "cells").join(representatives.drop("alike"), on="class")
    several = pl.col("release").n_unique().over("person", "value") > 1
    # In one release alone, records of a person are exchanged one by one.
    alone = pl.when(several).then(-1).otherwise("class").alias("alone")
    record, place = numbered(rows.select("person", "value", alone))[0], numbered(rows.select("class"))[0]
    records, size = int(record.max(initial=-1)) + 1, len(rows)
    shape = records + int(place.max(initial=-1)) + 1
    graph = coo_array((np.ones(size, np.int8), (record, records + place)), (shape, shape))
    part = connected_components(graph, directed=False)[1][record] if size else record
    rows = rows.with_columns(pl.Series("record", record), pl.Series("part", part))
    is_series = pl.col("release").is_in([number for number, each in enumerate(series) if each])
    spans = (
        (pl.col("release").n_unique() > 1) & pl.col("release").is_in(list(touched)).any() & ~is_series.all()
    )
    parts = rows.group_by("part").agg(spans.alias("spans"))
    return rows.join(parts.filter("spans"), on="part", how="semi")


def _cells(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Group records of the same classes into cells.

    Returns
    -------
    cells
        ``cell``, ``value`` and ``count`` of records; ``classes`` and ``times``, how often the cell counts in
        each; ``needed``, the number of values that have to remain; ``part``.
    left
        A row for each record: ``cell``, ``person``, ``real``; ``own``, the records of the person in the cell;
        ``left``, how many values it may have by exchanges within the cell; ``stuck``, whether it is one of
        several of a person, and the cell has no record of others with another value to exchange.
    """
    records = rows.sort("class", RECORDS).group_by("record").agg(
        pl.col("class").alias("classes"), column_named(RECORDS).alias("times"),
        pl.col("person", "value", "real", "part").first(),
        pl.max_horizontal(pl.col("promised").max(), pl.col("default").min()).alias("needed"),
    )  # fmt: skip
    cells = records.group_by("classes", "times", maintain_order=True).agg(
        pl.col("needed", "part").first(), pl.col("value", "person", "real")
    )
    cells = cells.with_row_index("cell").with_columns(pl.col("cell").cast(pl.Int64))
    each = cells.select("cell", "value", "person", "real").explode("value", "person", "real")
    alone = pl.col("person").n_unique().over("cell", "value") == 1
    unique = alone.sum().over("cell", "person")
    distinct = pl.col("value").n_unique().over("cell")
    own = pl.len().over("cell", "person")
    unlike = pl.len().over("cell") - pl.len().over("cell", "value").cast(pl.Int64)
    possible = each.select(
        "cell", "person", "real", own.alias("own"), (distinct - unique + alone.cast(pl.Int64)).alias("left"),
        ((pl.len().over("person") > 1) & (unlike < own)).alias("stuck"),
    )  # fmt: skip
    counts = each.group_by("cell", "value").agg(pl.len().cast(pl.Int64).alias("count"))
    return cells.drop("value", "person", "real").join(counts, on="cell").sort("cell", "value"), possible


def _same_records(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a number ``alike`` for each class, equal for classes that show the same records."""
    # Records of a person with one value may be taken for each other, unless their cells are the same.
    several = pl.len().over("person", "value", "release") > 1
    rows = rows.select(
        "class", "release", "person", "value", RECORDS, pl.when(several).then("cells").alias("cells")
    )
    unit = pl.Series("unit", numbered(rows.drop("class", "release"))[0])
    classes = rows.with_columns(unit).group_by("class").agg(pl.col("unit").sort(), pl.col("release").first())
    again = pl.int_range(pl.len()).over("unit", "release").alias("again")
    classes = (
        classes.sort("class").with_columns(again).group_by("unit", "again", maintain_order=True).agg("class")
    )
    return classes.with_row_index("alike").select("class", "alike").explode("class")


def _incidence(cells: pl.DataFrame) -> Any:
    """Return the multiplicity of each cell's records in each class: float64[classes, cells], sparse."""
    from scipy.sparse import coo_array

    classes = numbered(cells.select(pl.col("classes").explode()))[0]
    places = np.repeat(np.arange(len(cells)), cells["classes"].list.len())
    shape = int(classes.max(initial=-1)) + 1, len(cells)
    return coo_array((cells["times"].explode().to_numpy().astype(float), (classes, places)), shape).tocsc()


class _Worlds:
    """The values known to be possible in the cells of a history.

    Parameters
    ----------
    cells
        ``cell``, ``value``, ``count``, ``classes``, ``times``, ``needed`` and ``part``, in order of cells.
    """

    def __init__(self, cells: pl.DataFrame) -> None:
        from scipy.sparse import coo_array

        each = cells.unique("cell", maintain_order=True)
        self._cells = each["cell"].to_numpy()
        self._parts = numbered(each.select("part"))[0]
        self._needed = each["needed"].to_numpy()
        self._incidence = _incidence(each)
        values = numbered(cells.select("value"))[0]
        places = np.searchsorted(self._cells, cells["cell"].to_numpy())
        shape = len(each), int(values.max(initial=-1)) + 1
        self._truth = coo_array((cells["count"].to_numpy(), (places, values)), shape).tocsr()
        self._possible: dict[int, set[int]] = {}
        self._calls = 0

    def hide(self, cells: NDArray[np.int64]) -> pl.Series:
        """Return for each of some cells whether enough values are possible to hide the true values."""
        places = np.searchsorted(self._cells, cells)
        for place in places.tolist():
            start, stop = self._truth.indptr[place : place + 2].tolist()
            self._possible[place] = set(self._truth.indices[start:stop].tolist())
        for problem in self._problems(places):
            check()
            self._search(problem)
        return pl.Series([not self._open(place) for place in places.tolist()], dtype=pl.Boolean)

    def _open(self, place: int) -> bool:
        return place in self._possible and len(self._possible[place]) < self._needed[place]

    def _problems(self, places: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Yield cells to search together: some whole parts, or the neighbours of a cell of a large part."""
        order = np.argsort(self._parts, kind="stable")
        ends = np.cumsum(np.bincount(self._parts))
        batch: list[NDArray[np.int64]] = []
        size = 0
        for part in np.unique(self._parts[places]).tolist():
            cells = order[ends[part - 1] if part else 0 : ends[part]]
            if (own := self._size(cells)) > _MOST:
                for place in places[self._parts[places] == part].tolist():
                    if self._open(place):
                        yield self._around(place)
                continue
            if batch and size + own > _TOGETHER:
                yield np.concatenate(batch)
                batch, size = [], 0
            batch.append(cells)
            size += own
        if batch:
            yield np.concatenate(batch)

    def _size(self, cells: NDArray[np.int64]) -> int:
        return len(cells) * len(np.unique(self._truth[cells].indices))

    def _around(self, place: int) -> NDArray[np.int64]:
        """Return a cell and the nearest cells of common classes, as many as fit."""
        near = np.zeros(len(self._cells))
        near[place] = 1
        for _ in range(_STEPS):
            near += self._incidence.T @ (self._incidence @ near > 0)
        order = np.argsort(-near, kind="stable")[: np.count_nonzero(near)]
        fit = len(order)
        while fit > 1 and self._size(order[:fit]) > _NEAR:
            fit //= 2
        return np.union1d(order[:fit], [place])

    def _search(self, cells: NDArray[np.int64]) -> None:
        """Search worlds that differ from the truth in the given cells, until no new value appears."""
        incidence, truth = self._incidence[:, cells], self._truth[cells]
        incidence = incidence[np.unique(incidence.indices)]
        columns = np.unique(truth.indices)
        truth = truth[:, columns].toarray()
        values_of_classes = incidence @ truth
        # A record has no value that one of its classes lacks.
        cell, value = np.nonzero(incidence.T @ (values_of_classes == 0) == 0)
        program = _Program.of_pairs(incidence, cell, value, values_of_classes, truth.sum(axis=1))
        pairs = list(zip(cells[cell].tolist(), columns[value].tolist(), strict=True))
        while self._calls < _CALLS:
            self._calls += 1
            open_pairs = np.array(
                [self._open(each) and number not in self._possible[each] for each, number in pairs]
            )
            counts = program.world(np.flatnonzero(open_pairs)) if open_pairs.any() else None
            if counts is None or not counts[open_pairs].any():
                return
            for each, number in (pairs[pair] for pair in np.flatnonzero(counts).tolist()):
                if each in self._possible:
                    self._possible[each].add(number)


@dataclass(frozen=True)
class _Program:
    """The integer program of the worlds: numbers of records per pair of cell and value.

    Attributes
    ----------
    sums
        float64[sums, pairs], sparse: sums of numbers that every world has.
    totals
        float64[sums]: what they are.
    most
        float64[pairs]: the records of the cell.
    """

    sums: Any
    totals: NDArray[np.float64]
    most: NDArray[np.float64]

    @classmethod
    def of_pairs(
        cls,
        incidence: Any,
        cell: NDArray[np.int64],
        value: NDArray[np.int64],
        values_of_classes: NDArray[np.float64],
        records: NDArray[np.float64],
    ) -> _Program:
        """Build the program for pairs of a cell and a value, and for the counts of classes."""
        from scipy.sparse import coo_array, vstack

        pairs, values = np.arange(len(cell)), values_of_classes.shape[1]
        in_class = incidence[:, cell].tocoo()
        rows = in_class.row.astype(np.int64) * values + value[in_class.col]
        by_class = coo_array((in_class.data, (rows, in_class.col)), (values_of_classes.size, len(cell)))
        by_cell = coo_array((np.ones(len(cell)), (cell, pairs)), (len(records), len(cell)))
        sums, totals = (
            vstack([by_cell, by_class]).tocsr(),
            np.concatenate((records, values_of_classes.ravel())),
        )
        return cls(sums[totals > 0], totals[totals > 0], records[cell].astype(float))

    def world(self, pairs: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return a world with some of the given pairs: int64[pairs], or None.

        Raises
        ------
        TableError
            It took so long that the time would decide.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array, hstack

        size, number = len(self.most), len(pairs)
        ones, places = np.ones(number), np.arange(number)
        occurrence = coo_array((ones, (places, pairs)), (number, size))
        occurrence = hstack([occurrence, coo_array((-ones, (places, places)), (number, number))])
        same = hstack([self.sums, coo_array((len(self.totals), number))])
        solution = milp(
            np.concatenate((np.zeros(size), -ones)),
            integrality=np.concatenate((np.ones(size), np.zeros(number))),
            bounds=Bounds(0, np.concatenate((self.most, ones))),
            constraints=[
                LinearConstraint(same.tocsr(), self.totals, self.totals),
                LinearConstraint(occurrence.tocsr(), 0, np.inf),
            ],
            options={
                "mip_rel_gap": _PART,
                "node_limit": min(_NODES, max(_WORK // size, 1)),
                "time_limit": _SECONDS,
            },
        )
        if solution.status == _OUT_OF_TIME:
            raise TableError(
                "whether the releases together expose people is not decided: one step of the deduction took "
                f"more than {_SECONDS} seconds. Nothing is recorded. Run it again when the machine has less "
                "to do, or take a coarser recoding"
            )
        if solution.x is None:
            return None
        counts = np.rint(solution.x[:size])
        # A world is a proof only if all is exact.
        return (
            counts.astype(np.int64)
            if (self.sums @ counts == self.totals).all() and counts.min() >= 0
            else None
        )


PERSON, CLASS = "person", "class"


def signatures_of(people: pl.DataFrame) -> pl.DataFrame:
    """Return the signature of each person of a release: ``person``, ``signature``, ``even``.

    Parameters
    ----------
    people
        A row for each record, counterfeit ones without a person: ``person``, ``class``, and one column of
        sensitive values.

    Returns
    -------
    A Polars frame with a row for each record of a person. ``signature`` has the distinct values of the class,
    in order. ``even`` is true if the class has each of them once.
    """
    [value] = (name for name in people.columns if name not in (PERSON, CLASS))
    counts = people.group_by(CLASS, column_named(value)).agg(pl.len().alias("records"))
    classes = counts.group_by(CLASS).agg(
        column_named(value).sort().alias("signature"), (pl.col("records").max() == 1).alias("even")
    )
    return people.drop_nulls(PERSON).join(classes, on=CLASS).select(PERSON, "signature", "even")


def without_m_invariance(releases: Sequence[pl.DataFrame], m: int) -> pl.Series:
    """Return people of the last release with too small, uneven or changed signatures.

    A release in which nobody has a signature like that, beside releases of the same kind, is m-invariant
    (Xiao and Tao, m-Invariance, SIGMOD 2007).
    """
    *earlier, latest = (signatures_of(each) for each in releases)
    wrong = latest.filter((pl.col("signature").list.len() < m) | ~pl.col("even"))
    people = [wrong[PERSON]]
    for each in earlier:
        both = latest.join(each, on=PERSON, suffix=" before")
        people.append(both.filter(pl.col("signature") != pl.col("signature before"))[PERSON])
    return pl.concat(people).unique()
