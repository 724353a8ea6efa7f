"""Treatments in a job: columns treated before the rows are counted, and before release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, named
from incrowd.core.io.shuffle import Draws
from incrowd.core.lazy import NDArray, np
from incrowd.core.table.schema import require_columns
from incrowd.core.table.treated_columns import TreatedColumn
from incrowd.core.treatments._linked import Linked
from incrowd.core.treatments.keys import Secret, read_key

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema
    from incrowd.core.table.settings import Judge
    from incrowd.engines import Counted, Engine


@dataclass(frozen=True)
class TableTreatments:
    """The treatments of a table.

    What follows from the value alone is treated before rows are counted, so models judge what an attacker
    sees. What perturbs a sensitive attribute is treated after that: its values may look more diverse than
    what can be learned of them, so models judge those before, too.

    Attributes
    ----------
    raw
        The engine of the table as it came.
    counted
        The engine that counts.
    decided
        What was decided once for each column, with the treatment that decided: plain data, confidential.
    """

    raw: Engine
    counted: Engine
    schema: Schema
    decided: dict[str, Any] = field(default_factory=dict, repr=False)
    _columns: tuple[TreatedColumn, ...] = field(default=(), repr=False)

    @classmethod
    def of_table(
        cls, engine: Engine, schema: Schema, decided: Mapping[str, Any] | None = None
    ) -> TableTreatments:
        """Read the keys and the columns, and decide the treatments.

        Parameters
        ----------
        decided
            What was decided of an earlier table, for the next batch of rows.

        Raises
        ------
        InputError
            When a key is missing or weak, or a column cannot be treated so.
        """
        if decided is not None:
            _check_same(schema, decided)
        if not schema.treated:
            return cls(engine, engine, schema)
        columns = _columns_of(engine, schema)
        linked = [column for column in columns if isinstance(column.treatment, Linked)]
        treated: list[TreatedColumn] = []
        for column in (each for each in columns if each not in linked):
            decisions = None if decided is None else decided[column.name]["decided"]
            # Also of a batch all values are read beforehand, so that nothing is half written.
            values = column.distinct(*engine.values_of(column.counted))
            if decisions is None:
                decisions = column.treatment.learn(values, column.secret)
            else:
                column.treatment.check_batch(values, decisions, column.secret)
            treated.append(replace(column, decided=decisions))
        treated += [_linked_column(column, treated, engine, decided) for column in linked]
        first = [
            column
            for column in treated
            if column.attribute.role in ("quasi", "sensitive") and not column.treatment.perturbs
        ]
        return cls(
            engine,
            engine.treated(first) if first else engine,
            schema,
            {
                each.name: {"treat": each.treatment.published().spec(), "decided": dict(each.decided)}
                for each in treated
            },
            tuple(treated),
        )

    @property
    def is_drawn(self) -> bool:
        """Whether sensitive values are random, so that a new draw gives other values."""
        return bool(self._random_draws())

    def _random_draws(self) -> set[int]:
        """Return the ids of the random numbers of sensitive values."""
        return {
            id(each.draws)
            for each in self._columns
            if each.attribute.role == "sensitive" and each.treatment.perturbs and each.treatment.is_random
        }

    def redraw(self, places: NDArray[np.int64] | None) -> TableTreatments:
        """Return the same treatments with other random numbers for sensitive values.

        Parameters
        ----------
        places
            The rows that are drawn anew; None for all rows. Of columns that are treated as a whole, all rows
            are.
        """
        random_draws, new_draws = self._random_draws(), dict[int, Draws]()

        def renewed(column: TreatedColumn) -> TreatedColumn:
            draws = column.draws
            if id(draws) not in random_draws:
                return column
            if id(draws) not in new_draws:
                new_draws[id(draws)] = draws.renewed(None if column.treatment.is_whole else places)
            return replace(column, draws=new_draws[id(draws)])

        return replace(self, _columns=tuple(map(renewed, self._columns)))

    def rows(self) -> Engine:
        """Return the engine of the rows with all treated columns."""
        return self.raw.treated(self._columns)

    def released(self, counted: Counted, *, judged: bool = False) -> Counted:
        """Return the same count, over the released rows.

        Parameters
        ----------
        judged
            Whether drawn values are judged and rows may be drawn anew.
        """
        return counted.over(self.rows(), apart=judged and self.is_drawn) if self._columns else counted


def _linked_column(
    column: TreatedColumn, leads: Sequence[TreatedColumn], engine: Engine, decided: Mapping[str, Any] | None
) -> TreatedColumn:
    """Decide the values of a linked column from the treated values of the lead column."""
    assert isinstance(column.treatment, Linked)
    values = engine.values_of(column.columns)
    decisions = None if decided is None else decided[column.name]["decided"]
    if decisions is None:
        [lead] = (each for each in leads if each.name == column.treatment.lead)
        return column.following(*values, lead.decided)
    # Also of a batch all values are read beforehand, so that nothing is half written.
    column = replace(column, treatment=replace(column.treatment, kind=decisions["kind"]), decided=decisions)
    column.batch(column.named(values[0]))
    return column


def _columns_of(engine: Engine, schema: Schema) -> list[TreatedColumn]:
    secrets: dict[str, Secret] = {}
    draws: dict[tuple[str, ...], Draws] = {}
    columns = []
    for attribute in schema.treated:
        treatment = attribute.treatment
        assert treatment is not None
        where = f"column {attribute.name!r}: {treatment.name}"
        source = treatment.key_source
        if source is not None and source not in secrets:
            secrets[source] = read_key(source, where)
        column = TreatedColumn(
            attribute,
            treatment,
            schema.null_values,
            schema.person,
            schema.household,
            # A copy each: what one treatment has computed is not another's.
            None if source is None else secrets[source].copy(),
            others=schema.attributes,
        )
        if group := treatment.moves_with(attribute.name):
            column = replace(column, draws=draws.setdefault((treatment.name, *group), column.draws))
        require_columns(column.columns, engine.columns, f"{where}: ", user_names=[attribute.name])
        columns.append(column)
    return columns


def _check_same(schema: Schema, decided: Mapping[str, Any]) -> None:
    """Refuse treatments that differ from the earlier table's treatments."""
    treatments = {
        each.name: each.treatment.published().spec() for each in schema.treated if each.treatment is not None
    }
    earlier_treatments = {name: entry["treat"] for name, entry in decided.items()}
    wrong = [
        name
        for name in {**treatments, **earlier_treatments}
        if treatments.get(name) != earlier_treatments.get(name)
    ]
    if wrong:
        raise ParameterError(
            f"apply: the treatment of column {named(wrong)} is not the one that the recoding was made with; "
            "take the policy that the table was anonymized with"
        )


def treatment_entries(schema: Schema) -> list[dict[str, Any]]:
    """Return the treatment of each treated column, as plain data."""
    return [
        {
            "name": each.name,
            "treatment": each.treatment.published().spec(),
            "does": each.treatment.promise,
            "does_not": each.treatment.no_promise,
        }
        for each in schema.treated
        if each.treatment is not None
    ]


def treatment_sentences(schema: Schema, judge: Judge = "released") -> list[str]:
    """Describe the treatment of each treated column, with limits."""
    sentences = []
    for each in schema.treated:
        assert each.treatment is not None
        sentences.append(each.treatment.sentence(each.name))
        if each.role == "person" and schema.linked:
            sentences.append(
                f"Rows of one person can be joined by {each.name}, and limits on class sizes hold for all of "
                "them together. The release is pseudonymous: whoever has the key finds everybody."
            )
        elif each.role == "person":
            sentences.append(
                f"Nobody has two rows here. But {each.name} joins rows of one person across tables that have "
                "the same key, and the models judge every row by itself. The release is pseudonymous, not "
                "anonymous."
            )
        elif each.role == "sensitive" and each.perturbed:
            also = (
                ", and not by those that are released" if judge == "original" else " and by those that leave"
            )
            sentences.append(f"The models judge {each.name} by its values before it was perturbed{also}.")
    return sentences


def refuse_untreatable(schema: Schema, job: str) -> None:
    """Refuse treatments that `treat_table` cannot apply for a job.

    Raises
    ------
    ParameterError
    """
    refuse_perturbed(schema, job, "give it another treatment, or leave it out")
    people = [each.name for each in schema.having("person") if each.treatment is not None]
    if people:
        raise ParameterError(
            f"{job} counts people by column {named(people)}, and cannot release its pseudonym, too; leave "
            "the treatment out, so that the column does not leave"
        )


def treat_table(engine: Engine, schema: Schema, job: str) -> tuple[Engine, Schema]:
    """Treat all columns of a table, and return the engine with the schema without treatments.

    Raises
    ------
    InputError
        When a column cannot be treated so, or values before would have to be judged.
    """
    if not schema.treated:
        return engine, schema
    refuse_untreatable(schema, job)
    return TableTreatments.of_table(engine, schema).rows(), schema.with_attributes(
        each.as_counted() for each in schema.attributes
    )


def refuse_perturbed(schema: Schema, job: str, way_out: str = "anonymize both tables together") -> None:
    """Refuse perturbed sensitive attributes if models would see released values only.

    Raises
    ------
    ParameterError
    """
    perturbed = [each.name for each in schema.sensitive if each.perturbed]
    if perturbed:
        raise ParameterError(
            f"{job} judges what was released, and column {named(perturbed)} is perturbed, so it looks more "
            f"diverse than what can be learned of it; {way_out}"
        )
