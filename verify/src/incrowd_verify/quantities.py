"""The disclosure of a sensitive column by a part of a class, in SQL: a value for every part.

Every function returns a query of part, home and value. With N records in all and s in a part, a share in the
part minus a share in the table is (n/s - N_v/N) = (n*N - N_v*s) / (N*s). So differences are sums of whole
numbers (HUGEINT, 128 bits; DuckDB raises on overflow) with one division at the end.

Where people are counted, somebody may have several values. So a share may be of the people of a part (its
size), or of all counts of a part (their total). Entropies and distances look at a distribution, whose shares
add up to 1. They take the total.

Only values that occur in a part are looked at. What all other values add has a closed form. So no table is as
large as parts times values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from incrowd_gate.errors import PolicyError
from incrowd_verify.attribute import Attribute
from incrowd_verify.checks import Checks
from incrowd_verify.limits import SLACK

_EULER = 0.57721566490153286


def of_model(attribute: Attribute, counts: str, model: str, settings: Mapping[str, Any]) -> str:
    """Disclosure by a model that looks at values, without the distances, which have other functions."""
    match model:
        case "l-diversity":
            return diversity(attribute, counts, settings)
        case "normalized-entropy":
            return evenness(counts)
        case "alpha-k-anonymity" | "lkc-privacy":
            return share(attribute, counts, settings["value"])
        case "beta-likeness":
            return gain(attribute, counts, settings["kind"])
        case "delta-disclosure":
            return log_ratio(attribute, counts, settings["absent"])
    raise PolicyError(f"verify cannot measure {model}")


def diversity(attribute: Attribute, counts: str, settings: Mapping[str, Any]) -> str:
    """Distinct values; the exp of an entropy; or the l of recursive diversity."""
    kind = settings["kind"]
    if kind == "distinct":
        return f"SELECT part, home, count(*) AS value FROM {counts} GROUP BY part, home"
    if kind == "entropy":
        # With n of s records: exp(-sum n/s ln(n/s)) = s / exp(sum n ln n / s).
        return (
            "SELECT part, home, total::DOUBLE / exp(sum(n::DOUBLE * ln(n::DOUBLE)) / total::DOUBLE) "
            f"AS value FROM {counts} GROUP BY part, home, total"
        )
    if kind in ("grassberger", "grassberger-arx"):
        _tabulate_grassberger(attribute.con, counts)
        if kind == "grassberger":
            log, lost = "ln(total::DOUBLE)", "sum(n::DOUBLE * g)"
        else:
            # ARX adds up in the order of a hash table, and leaves where the sum is too large. In the worst
            # order the terms below 0 come last: those of values that one record has.
            log = "any_value(of_all)"
            lost = "coalesce(sum(n::DOUBLE * g) FILTER (n > 1), any_value(g))"
        return (
            f"SELECT part, home, least(exp({log} - {lost} / total::DOUBLE), "
            f"count(*)::DOUBLE) AS value FROM {counts} JOIN grassberger USING (n) "
            "JOIN (SELECT n AS total, g AS of_all FROM grassberger) USING (total) GROUP BY part, home, total"
        )
    # The largest l with r1 < c (rl + ... + rm), where r1 >= r2 >= ... are the counts.
    return (
        "SELECT part, home, coalesce(max(place) FILTER (largest::DOUBLE < "
        f"{float(settings['c'])!r}::DOUBLE * tail::DOUBLE), 0) AS value FROM ("
        "SELECT part, home, row_number() OVER down AS place, first_value(n) OVER down AS largest, "
        "sum(n) OVER (PARTITION BY part ORDER BY n DESC, v ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) "
        f"AS tail FROM {counts} WINDOW down AS (PARTITION BY part ORDER BY n DESC, v)) GROUP BY part, home"
    )


def _tabulate_grassberger(con: Checks, counts: str) -> None:
    """Make the table `grassberger` (n, g) with Grassberger's G(n) up to the largest part."""
    # G(1) = -gamma - ln 2, G(2) = 2 + G(1), G(2m + 2) = G(2m) + 2 / (2m + 1), and G(2m + 1) = G(2m).
    con.execute(
        f"CREATE OR REPLACE TABLE grassberger AS SELECT n::HUGEINT AS n, {-_EULER - math.log(2)!r}::DOUBLE "
        "+ sum(CASE WHEN n % 2 = 0 THEN 2::DOUBLE / (n - 1) ELSE 0 END) OVER (ORDER BY n) AS g "
        f"FROM range(1, (SELECT max(total) + 1 FROM {counts})::BIGINT) AS counted(n)"
    )


def evenness(counts: str) -> str:
    """Entropy over the logarithm of the number of values in the part; 0 for a single value."""
    return (
        "SELECT part, home, CASE WHEN count(*) = 1 THEN 0 ELSE "
        "(ln(total::DOUBLE) - sum(n::DOUBLE * ln(n::DOUBLE)) / total::DOUBLE) / ln(count(*)::DOUBLE) END "
        f"AS value FROM {counts} GROUP BY part, home, total"
    )


def share(attribute: Attribute, counts: str, value: str | None) -> str:
    """Share of the most frequent value, or of a named value."""
    amount = "n" if value is None else f"CASE WHEN v = {attribute.code_of(value)} THEN n ELSE 0 END"
    return (
        f"SELECT part, home, max({amount})::DOUBLE / size::DOUBLE AS value "
        f"FROM {counts} GROUP BY part, home, size"
    )


def gain(attribute: Attribute, counts: str, kind: str) -> str:
    """Largest relative gain (p - q) / q; enhanced: infinite where a gain is above -ln q."""
    everybody = attribute.everybody()
    whole = f"whole_{attribute.coded()}"
    bounded = "gain"
    if kind == "enhanced":
        bounded = f"CASE WHEN gain > {SLACK} - ln(q) THEN 'inf'::DOUBLE ELSE gain END"
    return (
        f"SELECT part, home, max({bounded}) AS value FROM (SELECT part, home, "
        f"greatest(c.n * {everybody} - w.n * size, 0)::DOUBLE / (w.n * size)::DOUBLE AS gain, "
        f"w.n::DOUBLE / {everybody} AS q FROM {counts} AS c JOIN {whole} AS w USING (v)) GROUP BY part, home"
    )


def log_ratio(attribute: Attribute, counts: str, absent: str) -> str:
    """Largest absolute ln(p / q); where a value is absent from the part infinite, or passed over."""
    everybody = attribute.everybody()
    whole = f"whole_{attribute.coded()}"
    value = f"max(abs(ln((c.n * {everybody})::DOUBLE / (w.n * size)::DOUBLE)))"
    if absent == "infinite":
        value = f"CASE WHEN count(*) < (SELECT count(*) FROM {whole}) THEN 'inf'::DOUBLE ELSE {value} END"
    return (
        f"SELECT part, home, {value} AS value FROM {counts} AS c JOIN {whole} AS w USING (v) "
        "GROUP BY part, home"
    )


# --- distances to the whole table -----------------------------------------------------------------------


def distance(attribute: Attribute, counts: str, name: str) -> str:
    """Distance of a part to the whole table by codes, with a `name` from `Attribute.distance_named`."""
    if name == "maximal-frequency-difference":
        return _most_different(attribute, counts)
    return {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}[name](attribute, counts)


def _equal(attribute: Attribute, counts: str) -> str:
    """Half the sum of |n/s - N_v/N|; a value absent from the part adds N_v/N."""
    table_total = attribute.occurrences()
    return f"""
        SELECT part, home, apart::DOUBLE / (2 * {table_total}::HUGEINT * total)::DOUBLE AS value
        FROM (
            SELECT
                part, home, total,
                sum(abs(c.n * {table_total} - w.n * total)) + total * ({table_total} - sum(w.n)) AS apart
            FROM {counts} AS c JOIN whole_{attribute.coded()} AS w USING (v)
            GROUP BY part, home, total
        )
    """


def _most_different(attribute: Attribute, counts: str) -> str:
    """Largest |n/s - N_v/N| of a value that the part has."""
    table_total = attribute.occurrences()
    return f"""
        SELECT
            part, home,
            max(abs(c.n * {table_total} - w.n * total)::DOUBLE / ({table_total}::HUGEINT * total)::DOUBLE)
                AS value
        FROM {counts} AS c JOIN whole_{attribute.coded()} AS w USING (v)
        GROUP BY part, home
    """


def _ordered(attribute: Attribute, counts: str) -> str:
    """Sum over i of |C_i/s - W_i/N| over m - 1, with C and W the cumulative counts of part and table.

    From a value present in the part to the next one C stays the same while W rises. Up to the last value
    with W_i*s < C*N the part is ahead, from then on behind; an ASOF join finds that value within
    each step, and prefix sums of W give both sides.
    """
    tables, table_total = attribute.coded(as_text=False), attribute.occurrences(as_text=False)
    values = f"(SELECT count(*) FROM whole_{tables})"
    return f"""
        WITH
        cumulative AS (SELECT v, sum(n) OVER (ORDER BY v) AS w FROM whole_{tables}),
        -- before and after: the sum of w over the values below v, and up to v
        prefix AS (
            SELECT v, w, sum(w) OVER (ORDER BY v) - w AS before, sum(w) OVER (ORDER BY v) AS after
            FROM cumulative
        ),
        summed AS (SELECT max(after) AS w_sum FROM prefix),
        step AS (
            SELECT
                part, home, total, v AS start,
                sum(n) OVER by_value * {table_total} AS ahead,
                lead(v) OVER by_value AS stop,
                row_number() OVER by_value = 1 AS is_first
            FROM {counts}
            WINDOW by_value AS (PARTITION BY part ORDER BY v)
        ),
        bounded AS (
            SELECT
                part, home, total, start, ahead, is_first,
                coalesce(stop, {values}) AS stop,
                (ahead + total - 1) // total AS target,
                opening.before AS at_start,
                coalesce(closing.before, w_sum) AS at_stop
            FROM step
            JOIN prefix AS opening ON opening.v = step.start
            LEFT JOIN prefix AS closing ON closing.v = step.stop
            CROSS JOIN summed
        ),
        crossed AS (
            SELECT bounded.*, coalesce(prefix.v + 1, 0) AS crossing, prefix.after AS at_crossing
            FROM bounded ASOF LEFT JOIN prefix ON bounded.target > prefix.w
        ),
        clipped AS (
            SELECT
                part, home, total, start, stop, ahead, is_first, at_start, at_stop,
                greatest(start, least(crossing, stop)) AS middle,
                CASE WHEN crossing <= start THEN at_start WHEN crossing >= stop THEN at_stop
                     ELSE at_crossing END AS at_middle
            FROM crossed
        )
        -- Where the table has one value alone nothing is apart: no distance, and no way to divide it by.
        SELECT
            part, home,
            apart::DOUBLE / (greatest({values} - 1, 1)::HUGEINT * {table_total} * total)::DOUBLE AS value
        FROM (
            SELECT
                part, home, total,
                sum(
                    ahead * (middle - start) - total * (at_middle - at_start)
                    + total * (at_stop - at_middle) - ahead * (stop - middle)
                    + CASE WHEN is_first THEN total * at_start ELSE 0 END
                ) AS apart
            FROM clipped
            GROUP BY part, home, total
        )
    """


def _hierarchical(attribute: Attribute, counts: str) -> str:
    """Sum over the nodes below the root of (h(parent) - h(node)) / 2H times |P(node) - Q(node)|.

    height(LCA)/H is the length of the way between two leaves when the edge above a node has the length
    (h(parent) - h(node)) / 2H, since a leaf has height 0; and on a tree the earth mover's distance is the
    sum over the edges of length times what must cross: the difference of the shares below the edge.
    A missing value is one more leaf right under the root.
    """
    tables, table_total = attribute.coded(as_text=True), attribute.occurrences(as_text=True)
    height = attribute.climb()
    return f"""
        WITH
        whole_node AS (
            SELECT node, edge, sum(n) AS n FROM whole_{tables} JOIN above_{tables} USING (v)
            GROUP BY node, edge
        ),
        part_node AS (
            SELECT part, home, total, node, sum(n) AS n FROM {counts} JOIN above_{tables} USING (v)
            GROUP BY part, home, total, node
        ),
        summed AS (SELECT sum(edge * n) AS edge_sum FROM whole_node)
        SELECT part, home, apart::DOUBLE / (2 * {height}::HUGEINT * {table_total} * total)::DOUBLE AS value
        FROM (
            SELECT
                part, home, total,
                sum(edge * abs(part_node.n * {table_total} - whole_node.n * total))
                    + total * (any_value(edge_sum) - sum(edge * whole_node.n)) AS apart
            FROM part_node JOIN whole_node USING (node) CROSS JOIN summed
            GROUP BY part, home, total
        )
    """
