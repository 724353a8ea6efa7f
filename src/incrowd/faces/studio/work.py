"""The work of a browser window: a table, a policy in the making, and the results."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import InfeasibleError, InputError, SchemaError, TableError, VerdictError
from incrowd.core.io.columns import columns_named
from incrowd.core.io.files import CsvFormat
from incrowd.core.io.streams import Files
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.progress import Cancelled, Within
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.engines import open_table
from incrowd.faces.studio.choices import DRAFTED
from incrowd.faces.studio.declared import give_role
from incrowd.faces.studio.exploring import Try, Tuned, keep, try_of
from incrowd.faces.studio.history import State
from incrowd.faces.studio.linked import LinkedTables, is_linked_source, open_tables
from incrowd.faces.studio.places import Batch, Project
from incrowd.faces.studio.sampling import leaving, places_of, recoded_rows, sampled, sliced
from incrowd.faces.studio.sets import set_columns
from incrowd.faces.studio.tables import Source, called, path_of, read_policy
from incrowd.faces.studio.values import most_frequent
from incrowd.faces.studio.window_table import WindowTable
from incrowd.measures.utility import measure_all
from incrowd.release.accounts.bins import attribute_entry
from incrowd.release.policy.limits import UnlistableError
from incrowd.release.policy.policy import Policy
from incrowd_gate.points import answered
from incrowd_gate.profiles import Attestation

if TYPE_CHECKING:
    from incrowd.attacks import Attack
    from incrowd.core.progress import Progress
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.measures.risk import Identifying
    from incrowd.measures.utility import MetricResult
    from incrowd.release.jobs.compare.fidelity import Fidelity
    from incrowd.release.jobs.compare.suggest import Suggestion
    from incrowd.release.jobs.compare.tune import Tuning
    from incrowd.release.jobs.make.anonymize import Recoded, SearchStart
    from incrowd.release.jobs.make.release import Release
    from incrowd.release.jobs.make.tabulate import TableRelease
    from incrowd.release.jobs.measure.assess import Assessment
    from incrowd.search.lattice.space import SolutionSpace
    from incrowd_gate.points import Accepted

__all__ = ["ATTACKED", "Source", "Work"]

_LOOKED_AT = 30
"""Columns of which all pairs are measured."""
ATTACKED = 20_000
"""Rows that are attacked of a table that is not in memory."""
FOLLOWED = 100_000
"""Rows of a table that is recoded at each change; of a larger one, rows of a sample."""
QUICK = 4_000
"""Rows of a sample that answers at once, before the table is recoded."""
RISK = "prosecutor"
"""The attacker whose risk stays in sight: who knows the quasi-identifiers, and nothing else."""
_LIMITS = ("models", "attackers", "algorithm", "max_suppression", "accepted", "profile", "seed", "tables")
"""Keys of a policy that change nothing about how a table is counted."""


class Counted(NamedTuple):
    """A counted table: the choices at the count, the start of a search, and the largest risk."""

    under: Any
    start: SearchStart
    risk: float


class Tabulated(NamedTuple):
    """Count tables with the policy behind the count."""

    policy: Policy
    release: TableRelease

    @property
    def hidden(self) -> float:
        """The share of the cells that are suppressed."""
        tables = self.release.tables
        return sum(int(each.hidden.sum()) for each in tables) / sum(len(each.values) for each in tables)

    def accepting(self, answers: Sequence[Accepted]) -> Tabulated:
        """Return the tables under a policy that accepts further points."""
        policy = replace(self.policy, accepted=(*self.policy.accepted, *answers))
        points = answered(self.release.points, policy.accepted)
        return Tabulated(policy, replace(self.release, points=points))


class Work(WindowTable):
    """Everything that a window knows, shared with no other window.

    Whatever reads a table, a policy or a file raises `InputError`; a search raises any `IncrowdError`.

    Parameters
    ----------
    given
        A policy file as plain data and its path, where the command named one.
    """

    def __init__(self, given: tuple[dict[str, Any], Path] | None = None) -> None:
        super().__init__(given)
        self.assessment: Assessment | None = None
        self.release: Release | None = None
        self.tables: Tabulated | None = None
        self.refused_tables: VerdictError | None = None
        self._places: NDArray[np.int64] | None = None
        self.account: dict[str, Any] = {}
        self.infeasible = False
        self.recoded: Recoded | None = None
        self.estimate: Recoded | None = None
        self._counted: dict[bool, Counted] = {}
        self._session = ExitStack()
        self._lock = threading.Lock()
        self.tries: list[Try] = []
        self.tuned: Tuned | None = None
        self.batch: Batch | None = None
        self.linked: LinkedTables | None = None
        self.refined: dict[str, Try | None] = {}
        self._measured: tuple[Recoded | None, MetricResult | None] = None, None
        self.attacks: list[Attack] = []
        self.written: Path | None = None
        self.about = {"recipient": "", "purpose": "", "owner": ""}
        self.reasons: dict[str, str] = {}

    def close(self) -> None:
        """Forget everything, and remove the window's files."""
        self.table = self._rows = self.release = self.assessment = self.recoded = self.estimate = None
        self._counted, self.batch, self.linked, self._measured = {}, None, None, (None, None)
        self._session.close()
        self._private.remove()

    # --- the table --------------------------------------------------------------------------------

    def begin_from(self, path: Path, name: str) -> bool:
        """Take roles and limits from a policy file or archive, under the owner's name of the file."""
        with called(self._private.path, name), called(path, name):
            self._given, self.policy_name = read_policy(path, self.place("")), name
        if self.source is not None and self._rows is not None:
            self.choices = self._choices_for(self.table, self.height, self.source, self.csv_format)
            self.changed()
        return True

    def open(
        self, source: Source, csv_format: CsvFormat | None = None, progress: Progress | None = None
    ) -> None:
        """Read a table and draft a policy, and forget the results of the table before on success."""
        super().open(source, csv_format, progress)
        self.assessment = self.release = self.recoded = self.estimate = self.batch = self.tables = None
        self._counted, self.linked = {}, None
        self._session.close()
        self.tries, self.tuned, self.refined, self._measured = [], None, {}, (None, None)
        self.reasons.clear()

    def open_linked(self, source: Source) -> bool:
        """Open the tables of a folder, if they are linked, in place of a table; return whether they are."""
        if not is_linked_source(source, self._given and self._given[0]):
            return False
        linked = open_tables(source, self._given, self.policy_name, self.place)
        self.close_table()
        self.linked, self.source = linked, source
        return True

    def close_table(self) -> None:
        """Forget the table, or the linked tables, with all results."""
        self._session.close()
        self.source = self.table = self._rows = self.choices = self.linked = self.batch = None
        self.assessment = self.release = self.recoded = self.estimate = self.tables = None
        self._counted, self._measured, self.tries, self.refined = {}, (None, None), [], {}
        self.reasons.clear()

    def begin_batch(
        self, project: Project, source: Source, csv_format: CsvFormat | None, progress: Progress
    ) -> None:
        """Read the next batch of a project, in place of a table."""
        with called(source.path, source.name):
            table, csv_format = open_table(source.path, csv_format, progress=progress)
        if not isinstance(table, pl.DataFrame):
            raise TableError(f"{source.name}: a batch has to be one file, which a ledger compares in memory")
        self.batch, self.source = Batch(project, source, table, csv_format), source

    # --- what is done with it ---------------------------------------------------------------------

    def set_population(self, path: str) -> None:
        """Take the file of a population, which has to be there; an empty text takes none."""
        place = path_of(path).absolute()
        if path and not place.is_file():
            raise TableError(f"{path}: there is no such file")
        self.population = str(place) if path else None
        self.changed()

    def restore(self, state: State) -> None:
        """Take the choices of another time, as the history has them."""
        self.choices, self.population = state
        self.changed()

    def changed(self) -> None:
        """Record the change of the choices, and forget the results of those before."""
        self.history.record(State(self.chosen, self.population))
        with self._lock:
            self.release = self.assessment = self.recoded = self.estimate = None
            self.tables = self.refused_tables = None
        self.attacks = []
        self.infeasible = False
        self._session.close()

    def assess(self, progress: Progress) -> Assessment:
        """Measure the raw table against the models."""
        from incrowd.release.jobs.measure.assess import assess

        policy = self.policy()
        with self._asked() as table:
            assessment = assess(
                table,
                policy.written,
                policy.models,
                population=self.population,
                progress=progress,
                wildcards=policy.wildcards,
            )
        self.assessment = assessment
        return assessment

    def anonymize(self, progress: Progress) -> Release:
        """Make the release."""
        from incrowd.release.jobs.make.anonymize import anonymize

        self.infeasible = False
        self._session.close()
        document = deepcopy(self.chosen.document)
        with ExitStack() as session:
            table = session.enter_context(self._asked())
            try:
                release = anonymize(
                    table, self.policy(document), progress=progress, unanswered="write", **self._beside
                )
            except (InfeasibleError, UnlistableError):
                self.infeasible = True
                raise
            if document != self.chosen.document:
                raise Cancelled  # The choices changed meanwhile, and this is no release under them.
            # The release of a database is written from the snapshot that was counted.
            self._session = session.pop_all()
        # Figures are measured when they are first asked for: here, and not while the page waits.
        progress.stage("report")
        release = self._with_trials(release)
        account = release.document()
        self.recoded = None
        return self._keep(release, account)

    def tabulate(self, progress: Progress) -> Tabulated:
        """Make the count tables of the policy, audited together."""
        document = deepcopy(self.chosen.document)
        try:
            tables = self.trial_tables(document, progress)
        except VerdictError as refused:
            self.refused_tables = refused
            raise
        if document != self.chosen.document:
            raise Cancelled  # The choices changed meanwhile, and these are no tables under them.
        self.tables = tables
        return tables

    def trial_tables(
        self, document: dict[str, Any], progress: Progress, seconds: float | None = None
    ) -> Tabulated:
        """Make the count tables of a policy that is tried, with so many seconds for their protection."""
        from incrowd.release.jobs.make.tabulate import tabulate

        policy = self.policy(document)
        limits: dict[str, Any] = {} if seconds is None else {"seconds": seconds}
        with self._asked() as table:
            release = tabulate(
                table,
                policy,
                **limits,
                csv_format=self.csv_format,
                unanswered="write",
                progress=progress,
            )
        return Tabulated(policy, release)

    def _with_trials(self, release: Release) -> Release:
        """Return a release with the trials by which its setting was chosen, if it was."""
        if self.tuned is None or release.analyses is None or self.tuned.document != self.chosen.document:
            return release
        return replace(release, analyses=replace(release.analyses, trials=self.tuned.trials))

    def _keep(self, release: Release, account: dict[str, Any]) -> Release:
        """Store a release as the window's release, with an account, and among the tried settings."""
        self.account, self.release, self.written = account, release, None
        self._places = self._places_that_leave(release)
        keep(self.tries, try_of(release, self.chosen.document))
        return release

    @property
    def sets(self) -> list[str]:
        """The columns whose cells hold sets, which are recoded apart, by `anonymize` alone."""
        return set_columns(self.chosen.columns)

    @property
    def follows(self) -> bool:
        """Whether a release follows each change at once: the table is in memory, and of moderate size."""
        is_here = self.source is not None and self.source.database is None
        return isinstance(self.table, pl.DataFrame) and self.height <= FOLLOWED and is_here

    @property
    def risk_before(self) -> float | None:
        """The largest risk of the counted table, against an attacker with the quasi-identifiers alone."""
        if self.sets:
            return None  # Which raw items are shared is not counted.
        if self.release is not None:
            return self.release.before.risk[RISK]["max"]
        counted = self._counted.get(self.estimate is not None)
        return None if counted is None else counted.risk

    @property
    def sampled(self) -> bool:
        """Whether the figures are those of a sample of the table, and of no release."""
        return self.estimate is not None or (self.recoded is not None and not self.follows)

    def recode(self, progress: Progress, *, quick: bool = False) -> Recoded:
        """Recode the table, or a sample of a larger table, under the current choices.

        The table is counted once, and again only where its columns or their hierarchies change.

        Parameters
        ----------
        quick
            Whether `QUICK` rows are recoded, which gives an `estimate` of the figures alone.

        Raises
        ------
        InfeasibleError
            When the table cannot satisfy the policy; `infeasible` then says so.
        """
        from incrowd.core.progress import Clock
        from incrowd.release.jobs.make.anonymize import recode, start_search
        from incrowd.release.policy.limits import with_histories

        self.infeasible, self.recoded, self.estimate = False, None, None
        # The page goes on changing the choices, so that they are read once.
        document = deepcopy(self.chosen.document)
        for name in self.chosen.having(OPEN_ROLE):
            # What is known of the others is shown while questions are open.
            give_role(document["columns"][name], name, "identifying")
        policy, clock = with_histories(self.policy(document)), Clock(progress)
        if quick:
            # A sample may lack values that an analysis needs, and an estimate shows no analyses.
            policy = replace(policy, analyses=())
        fixed = {key: value for key, value in document.items() if key not in _LIMITS}
        needs = any(model.is_joint for model in policy.models), policy.algorithm.predicts, self.population
        counted_for = fixed, needs
        try:
            counted = self._counted.get(quick)
            if counted is None or counted.under != counted_for:
                start = start_search(self._sample(quick), policy, self.population, self.csv_format, clock)
                risk = _largest_risk(start.frequency, policy.wildcards)
                counted = self._counted[quick] = Counted(counted_for, start, risk)
            recoded = recode(counted.start, policy, clock)
        except (InfeasibleError, UnlistableError):
            # A table may satisfy what a sample of it does not.
            self.infeasible = not quick
            raise
        self.recoded, self.estimate = (None, recoded) if quick else (recoded, None)
        return recoded

    def _sample(self, quick: bool) -> pl.DataFrame:
        """Return the table, or random rows of a table that is too large to be recoded at once."""
        assert self._rows is not None
        whole = self.follows and not quick
        return self.table if whole else sampled(self._rows, self.height, QUICK if quick else FOLLOWED)

    def judge(self, progress: Progress) -> Release:
        """Make the release of the recoded table, with a verdict and an account."""
        from incrowd.core.progress import Clock
        from incrowd.release.jobs.make.anonymize import release_of

        recoded = self.recoded
        if recoded is None:
            raise Cancelled  # A change came between.
        release = self._with_trials(release_of(recoded, Clock(progress)))
        progress.stage("report")
        account = release.document()
        with self._lock:
            if self.recoded is not recoded:
                raise Cancelled  # The choices changed meanwhile, and this is no release under them.
            return self._keep(release, account)

    def accept(self, answers: Sequence[Accepted], attested: Sequence[dict[str, str]] = ()) -> bool:
        """Accept points in the policy, in the existing release and tables, and in later results.

        Parameters
        ----------
        attested
            Answers to clauses of the profile, each as a policy file has it.
        """
        document, release = self.chosen.document, self.release
        if release is not None:
            release = release.accepting(answers, map(Attestation.of_entry, attested))
            account = release.document()
        document.setdefault("accepted", []).extend(answer.to_dict() for answer in answers)
        if attested:
            document["profile"].setdefault("attested", []).extend(attested)
        self.history.record(State(self.chosen, self.population))
        if self.tables is not None:
            self.tables = self.tables.accepting(answers)
        if release is not None:
            self._keep(release, account)
        return True

    def advise(self, progress: Progress) -> list[Suggestion]:
        """Find single changes of the policy that make a release possible, by trials."""
        from incrowd.release.jobs.compare.suggest import helping

        def feasible(change: Suggestion) -> bool:
            return self.is_feasible(change.policy, Within(progress, change.text))

        return list(helping(self.policy(), feasible))

    def is_feasible(self, policy: Policy, progress: Progress) -> bool:
        """Say whether a run under a policy gives a release."""
        with suppress(InfeasibleError, InputError):
            self.trial(policy, progress)
            return True
        return False

    def trial(self, policy: Policy, progress: Progress) -> Release:
        """Make the release of a tried policy, and refuse a broken verdict."""
        from incrowd.release.jobs.make.anonymize import anonymize

        with self._asked() as table:
            release = anonymize(table, policy, progress=progress, unanswered="write", **self._beside)
            release.verdict.refuse(only_broken=True)
            return release

    def tune(self, policy: Policy, goal: str, most: int, progress: Progress) -> Tuning:
        """Search the setting that keeps an analysis of a policy best, among so many."""
        from incrowd.release.jobs.compare.tune import tune

        with self._asked() as table:
            return tune(table, policy, goal, most=most, progress=progress, **self._beside)

    def explore(self, progress: Progress) -> SolutionSpace:
        """Search the lattice of full-domain recodings."""
        from incrowd.release.jobs.make.anonymize import explore

        with self._asked() as table:
            return explore(table, self.policy(), progress=progress, **self._beside)

    def fidelity(self) -> Fidelity:
        """Compare distributions and associations in the release and in the table."""
        from incrowd.release.jobs.compare.fidelity import fidelity

        assert self.release is not None
        return fidelity(self.release)

    def attack(self, progress: Progress) -> list[Attack]:
        """Try the attacks that the table allows, and count successes.

        Of a table that streams, or is in a database, some rows are attacked; see `attacked`.
        """
        from incrowd.attacks import attack

        release = self.release
        assert release is not None
        schema = release.policy.schema
        if schema.sets:
            # The first of the two is the raw table.
            self.attacks = attack(self.table, release.texts, schema, progress=progress)[1:]
            return self.attacks
        if isinstance(self.table, Files):
            assert self._rows is not None
            progress.stage("draw rows")
            raw = sampled(self._rows, self.height, ATTACKED)
            self.attacks = attack(*leaving(release, raw), schema, aligned=True, progress=progress)
            return self.attacks
        keeps_order = release.policy.keep_order and not release.left_out
        rows = None if keeps_order else release.row_map()
        self.attacks = attack(
            self.table, release.texts, schema, aligned=keeps_order, row_map=rows, progress=progress
        )
        return self.attacks

    @property
    def attacked(self) -> int:
        """How many rows are attacked."""
        return min(self.height, ATTACKED) if isinstance(self.table, Files) else self.height

    def identifying(self) -> list[Identifying]:
        """Measure the columns, and the pairs of columns, that tell most records apart."""
        from incrowd.measures.risk import quasi_identifiers

        names = self.chosen.having("quasi", "insensitive", OPEN_ROLE)[:_LOOKED_AT]
        if not names:
            raise SchemaError(
                "no column is a quasi-identifier, insensitive or still open; there is nothing to compare"
            )
        return quasi_identifiers(self.table, names, max_size=min(2, len(names)))

    @property
    def same_rows(self) -> bool:
        """Whether rows before and after are the same, which an unordered database cannot tell.

        There each row is found by its quasi-identifiers, unless columns are treated.
        """
        assert self.source is not None
        in_database = self.source.database is not None
        return not in_database or self.release is None or not self.release.policy.schema.treated

    @property
    def is_recoded(self) -> bool:
        """Whether rows after can be shown: the table was recoded at once, or has a release."""
        return self.recoded is not None or self.release is not None

    @property
    def recoding(self) -> tuple[FrequencyTable, Recoding] | None:
        """The keys with the recoding, of the release or of rows recoded at once."""
        if self.recoded is not None:
            return self.recoded.start.frequency, self.recoded.recoding
        return None if self.release is None else (self.release.frequency, self.release.recoding)

    @property
    def loss(self) -> MetricResult | None:
        """The loss of the release, or of the rows that were recoded at once."""
        if self.release is not None:
            return self.release.utility["loss"]
        recoded = self.recoded or self.estimate
        if recoded is None:
            return None
        # Heads and figures ask after each change, and to measure takes longer than to draw.
        of, loss = self._measured
        if loss is None or of is not recoded:
            loss = measure_all(recoded.start.frequency, recoded.recoding)["loss"]
            self._measured = recoded, loss
        return loss

    @property
    def privacy(self) -> Assessment | None:
        """The assessment after recoding, of the release or of the rows that were recoded at once."""
        recoded = self.recoded or self.estimate
        if recoded is not None:
            return recoded.after
        return None if self.release is None else self.release.privacy

    def distribution(self, name: str) -> list[tuple[Any, ...]]:
        """Count the records of a column by value: the label and the records, before and after if recoded.

        Rows that stream are not all read. Of sets the items are counted: those that leave, or raw ones.
        """
        if name in self.sets and self.release is not None:
            [own] = [each for each in self.account["attributes"] if each["name"] == name]
            return [(each["label"], each["after"]) for each in own["bins"]]
        current = None if name in self.sets else self.recoding
        if current is not None:
            frequency, recoding = current
            for position, domain in enumerate(frequency.domains):
                if domain.name == name:
                    entry = attribute_entry(position, domain, frequency, recoding, 0, internal=False)
                    return [(each["label"], each["before"], each["after"]) for each in entry["bins"]]
        most = DRAFTED if self.streams else self.height
        return most_frequent(self.rows(0, most)[name], self.chosen.columns.get(name)) or [("no rows", 0)]

    @property
    def suppressed(self) -> tuple[int, int] | None:
        """How many records of the recoded table are suppressed or left out, and of how many."""
        if self.privacy is None:
            return None
        recoded = self.recoded or self.estimate
        source = self.release if recoded is None else recoded.result
        assert source is not None
        return source.suppression.records, self.privacy.records + source.suppression.left_out

    def pairs(self, start: int, count: int) -> tuple[pl.DataFrame, pl.DataFrame, int]:
        """Return some rows before, the same rows after, and how many rows there are.

        Of a larger table that was recoded at once, the rows are those of the sample. Rows that are left out
        of a release have no place among them, and columns that stay stand last before.
        """
        if self.recoded is not None:
            raw = self.recoded.start.treatments.raw.native
            released = self.recoded.result.released
            places = released.places()
            if places is None:
                return raw.slice(start, count), released.table.slice(start, count), raw.height
            there = places[start : start + count]
            return raw[there], released.table.slice(start, len(there)), len(places)
        release, places = self.release, self._places
        assert release is not None
        if places is None:
            before = self.rows(start, count)
        else:
            there = places[start : start + count]
            first, end = (int(there[0]), int(there[-1]) + 1) if len(there) else (0, 0)
            before = self.rows(first, end - first)[there - first]
        after = self._released(before, start)
        left_out = [name for name in before.columns if name not in after.columns]
        before = before.head(after.height).select(columns_named([*after.columns, *left_out]))
        return before, after, self.height - release.left_out

    def _released(self, before: pl.DataFrame, start: int) -> pl.DataFrame:
        """Return released rows of a table, with the first row at `start`."""
        assert self.release is not None
        assert self.source is not None
        texts, order = self.release.texts, self.release.order
        if not self.same_rows:
            return sliced(texts.batches(), start, before.height)
        if self.source.database is not None:
            return recoded_rows(self.release, before)
        if isinstance(texts, Files):
            # In their order before they were put in a random one.
            if texts.shuffled is None:
                return texts.frame.slice(start, before.height).collect(engine="streaming")
            return texts.shuffled.before(start, before.height)
        whole: pl.DataFrame = texts
        if order is None:
            return whole.slice(start, before.height)
        there = np.argsort(order.rows(whole.height))[start : start + before.height]
        return whole[there]

    def _places_that_leave(self, release: Release) -> NDArray[np.int64] | None:
        """Return the places of the rows that are in a release, None where all are, or nobody can tell."""
        if release.places is not None or not release.left_out or not self.same_rows:
            return release.places
        # A database has no order: each row of the copy is found in the release.
        starts = range(0, self.height, FOLLOWED)
        return np.concatenate([each + places_of(release, self.rows(each, FOLLOWED)) for each in starts])


def _largest_risk(frequency: FrequencyTable, wildcards: str) -> float:
    """Return the largest risk of a counted table, 0..1, in the account's definition."""
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.matching import matched
    from incrowd.measures.risk import RISKS

    counted = matched(EquivalenceClasses.of_keys(frequency), wildcards).counted
    return float(RISKS.get(RISK)().measure(counted)["max"])
