"""One process's part of a run: its engines, its grader, its share of the caches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from pytest_plsqlbench.bench.comparison import comparator_name
from pytest_plsqlbench.bench.dialect import Dialect
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.cachefolder import own_folder
from pytest_plsqlbench.engines.protocol import DatabaseLoadError, EngineUnavailableError, Limits
from pytest_plsqlbench.grading.blame import blame_for
from pytest_plsqlbench.grading.cache import ReferenceCache
from pytest_plsqlbench.grading.content import turn_content
from pytest_plsqlbench.grading.grader import Grader, draft_result, replace_status
from pytest_plsqlbench.grading.reference import ReferenceBook
from pytest_plsqlbench.grading.repeat import repeated
from pytest_plsqlbench.grading.reuse import reused
from pytest_plsqlbench.grading.size import reference_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_plsqlbench.bench.database import Database
    from pytest_plsqlbench.bench.result import TurnResult
    from pytest_plsqlbench.bench.task import Task, Turn
    from pytest_plsqlbench.datasets.dataset import Dataset
    from pytest_plsqlbench.engines.protocol import Engine
    from pytest_plsqlbench.grading.answers import Answers
    from pytest_plsqlbench.servers.address import ServerAddress

Reading = Literal["published", "normalized"]
TITLES: dict[Dialect, str] = {"oracle": "Oracle", "postgres": "PostgreSQL"}


class Run:
    """Grades turns on the servers of a run; engines connect when the first turn of their dialect comes."""

    def __init__(
        self,
        reading: Reading,
        timeout: float,
        addresses: Sequence[ServerAddress],
        worker: str,
        no_oracle: str = "",
        limits: Mapping[str, int] | None = None,
        *,
        repeat: int = 1,
        quarantine: Mapping[tuple[str, str, str, int], str] | None = None,
    ) -> None:
        """Take note of everything; nothing is connected yet.

        Args:
            reading: comparison rules that decide.
            timeout: least time limit of a test, in seconds.
            addresses: servers of the run, at most one a dialect.
            worker: name of this process among those of the run.
            no_oracle: why there is no Oracle server, for the results of its turns.
            limits: limits other than the default ones, by name.
            repeat: how many times each turn is played.
            quarantine: turns that are not to be graded, by subset, task, dialect and turn, and why.
        """
        self._addresses = {address.dialect: address for address in addresses}
        self._no_oracle = no_oracle
        self._engines: dict[Dialect, Engine] = {}
        self._databases: dict[tuple[int, str, Dialect], Database | DatabaseLoadError | None] = {}
        self._reading = reading
        self._repeat = repeat
        self._quarantine = quarantine or {}
        self._limits = Limits(time=timeout, **(limits or {}))
        self.notify: Callable[[str], None] = lambda _line: None
        """Told what a turn has to wait for, one line each."""
        self._facts = ReferenceCache(own_folder("facts"))
        book = ReferenceBook(ReferenceCache(own_folder("references")), self._limits)
        self._grader = Grader(self._engine, book, worker=worker, reading=reading, limits=self._limits)

    def grade(self, task: Task, turn: Turn, answers: Answers | None, dataset: Dataset) -> TurnResult:
        """Grade one turn."""
        return self._with_facts(self._graded(task, turn, answers, dataset), task, turn)

    def _with_facts(self, result: TurnResult, task: Task, turn: Turn) -> TurnResult:
        """With what the turn's reference is like, for reports."""
        facts = reference_facts(turn.reference, task.dialect, self._facts)
        return msgspec.structs.replace(result, reference=facts)

    def _graded(self, task: Task, turn: Turn, answers: Answers | None, dataset: Dataset) -> TurnResult:
        reason = self._quarantine.get((task.subset, task.id, task.dialect, turn.index))
        if reason is not None:
            draft = draft_result(task, turn, answers, self._reading)
            draft = msgspec.structs.replace(draft, flags=(*draft.flags, "quarantined"))
            return replace_status(draft, "reference_error", reason)

        def play() -> TurnResult:
            return self._grader.grade(task, turn, answers, lambda: self._database(task, dataset))

        result = repeated(play, self._repeat)
        if result.status != "graded":
            return result
        content = self._content(task, turn, answers, dataset)
        return msgspec.structs.replace(result, content_sha256=content)

    def reuse(
        self, task: Task, turn: Turn, answers: Answers | None, dataset: Dataset, earlier: TurnResult
    ) -> TurnResult | None:
        """The result of a turn whose verdict an earlier run has reached; None where it must be graded.

        Args:
            task: the task of the turn.
            turn: the turn.
            answers: programs to grade; None where there is no prediction for this turn.
            dataset: knows the task's database.
            earlier: what an earlier run found for the same turn and sample.
        """
        content = self._content(task, turn, answers, dataset)
        if content is None or (task.subset, task.id, task.dialect, turn.index) in self._quarantine:
            return None
        found = reused(draft_result(task, turn, answers, self._reading), turn, content, earlier)
        return None if found is None else self._with_facts(found, task, turn)

    def _content(self, task: Task, turn: Turn, answers: Answers | None, dataset: Dataset) -> str | None:
        """The turn's content key; None where it cannot be played: there is no program, server or database."""
        address = self._addresses.get(task.dialect)
        if address is None or answers is None or turn.index not in answers.programs:
            return None
        try:
            database = self._database(task, dataset)
        except DatabaseLoadError:
            return None
        return turn_content(
            task,
            turn,
            answers.up_to(turn.index),
            engine=(address.dialect, address.version),
            fingerprint=database.fingerprint if database else None,
            comparator=comparator_name(self._reading),
            limits=self._limits,
            repeat=self._repeat,
        )

    def _database(self, task: Task, dataset: Dataset) -> Database | None:
        if task.database is None:
            return None
        key = (id(dataset), task.database, task.dialect)
        known = self._databases.get(key)
        if known is None:  # looked for once: neither its files nor its faults change during a run
            try:
                known = dataset.database(task)
            except UserError as error:
                known = DatabaseLoadError(str(error))
            self._databases[key] = known
        if isinstance(known, DatabaseLoadError):
            raise known
        return known

    def blame(
        self, result: TurnResult, task: Task, turn: Turn, answers: Answers | None, dataset: Dataset
    ) -> TurnResult:
        """The result with where its failure comes from, unless an earlier run has found that out."""
        known = result.blame is not None and result.blame.failure != "unknown"
        if known or answers is None:
            return result
        found = blame_for(result, task, turn, answers, lambda moved: self.grade(task, turn, moved, dataset))
        return msgspec.structs.replace(result, blame=found)

    @property
    def databases(self) -> dict[str, str]:
        """Fingerprints of the databases that turns were graded on, by ``<dialect>/<name>``."""
        return {
            f"{dialect}/{name}": database.fingerprint
            for (_, name, dialect), database in self._databases.items()
            if database is not None and not isinstance(database, DatabaseLoadError)
        }

    def close(self) -> None:
        """Close lanes and engines."""
        self._grader.close()
        while self._engines:
            self._engines.popitem()[1].close()

    def _engine(self, dialect: Dialect) -> Engine:
        if dialect not in self._engines:
            address = self._addresses.get(dialect)
            if address is None:
                reason = f": {self._no_oracle}" if dialect == "oracle" and self._no_oracle else " in this run"
                raise EngineUnavailableError(f"no {TITLES[dialect]} server{reason}")
            self._engines[dialect] = _open(address, self._limits, lambda line: self.notify(line))  # noqa: PLW0108 (given later)
        return self._engines[dialect]


def _open(address: ServerAddress, limits: Limits, notify: Callable[[str], None]) -> Engine:
    """The engine of a server's dialect; its driver loads here."""
    if address.dialect == "oracle":
        from pytest_plsqlbench.engines.oracle.engine import OracleEngine  # noqa: PLC0415

        return OracleEngine(address, progress=notify)
    from pytest_plsqlbench.engines.postgres.engine import PostgresEngine  # noqa: PLC0415

    return PostgresEngine(address, limits)


def lost_turn(task: Task, turn: Turn, answers: Answers | None, reading: Reading, reason: str) -> TurnResult:
    """The result of a turn whose process died: an infrastructure error, not a verdict."""
    return replace_status(draft_result(task, turn, answers, reading), "infrastructure_error", reason)
