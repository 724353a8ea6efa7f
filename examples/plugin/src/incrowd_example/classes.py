"""`incrowd classes`: how many equivalence classes a table has."""

from __future__ import annotations

from incrowd.faces.cli import option_groups, options


def classes(
    data: options.Data, source: option_groups.CsvOptions, columns: option_groups.MeasuredColumns
) -> None:
    """Count the equivalence classes of a table."""
    import incrowd as ic
    from incrowd.faces.cli.tables import console

    table, _ = source.read(data)
    policy = columns.policy_for(table.columns, lenient=True)
    console().print(f"{ic.assess(table, policy.schema).classes:,} classes")
