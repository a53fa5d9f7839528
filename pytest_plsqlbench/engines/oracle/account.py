"""The users of a lane: one that logs in, one a side that owns and runs programs; cleaned after every play."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pytest_plsqlbench.engines.oracle import provisioning as sql
from pytest_plsqlbench.engines.oracle.admin import Admin, drop_user
from pytest_plsqlbench.engines.oracle.capabilities import Capabilities
from pytest_plsqlbench.engines.oracle.facts import GRANT_GONE, NAME_TAKEN, NOT_THERE
from pytest_plsqlbench.engines.oracle.names import new_password, program_name, user_name
from pytest_plsqlbench.engines.oracle.needs import Needs
from pytest_plsqlbench.engines.oracle.port import DriverError, Login
from pytest_plsqlbench.engines.oracle.provisioning import DataObject
from pytest_plsqlbench.engines.oracle.session import GradedSession
from pytest_plsqlbench.engines.oracle.units import StoredObject, objects_of

_ROLES = {"candidate": "C", "reference": "R"}


class ProxyUser:
    """The user that logs in for the graded ones. Made when first needed."""

    def __init__(self, admin: Admin, worker: str) -> None:
        self._admin = admin
        self.name = user_name(admin.run_id, worker, "P", 1)
        self._password: str | None = None

    def login(self, user: str) -> Login:
        """How to log in as a graded user."""
        assert self._password is not None
        return replace(
            self._admin.login,
            user=f"{self.name}[{user}]",
            password=self._password,
            program=program_name(self._admin.run_id),
        )

    def create(self) -> None:
        """Create it; one that a crashed worker of the same name has left is replaced."""
        if self._password is not None:
            return
        password = new_password()
        create, grant = sql.create_proxy(self.name, password)
        if not self._admin.tolerate(create, NAME_TAKEN):
            drop_user(self._admin, self.name)
            self._admin.run(create)
        self._admin.run(grant)
        self._password = password

    def drop(self) -> None:
        """Drop it."""
        if self._password is not None:
            self._password = None
            drop_user(self._admin, self.name)


@dataclass(slots=True)
class _Prepared:
    """What the user can use of the data, besides its base rights."""

    stamp: str = ""
    objects: tuple[DataObject, ...] = ()
    synonyms: dict[int, StoredObject] = field(default_factory=dict)


class Account:
    """The user of one side."""

    def __init__(
        self, admin: Admin, proxy: ProxyUser, capabilities: Capabilities, *, side: str, worker: str
    ) -> None:
        self._admin = admin
        self._proxy = proxy
        self._capabilities = capabilities
        self._role = _ROLES[side]
        self._worker = worker
        self._generation = 0
        self._name: str | None = None
        self._prepared = _Prepared()
        self._rights: tuple[str, ...] = ()
        self._writing: tuple[DataObject, ...] = ()
        self._suspect = False
        """A play has not been cleaned up to its end."""

    @property
    def name(self) -> str:
        """Its present name."""
        assert self._name is not None
        return self._name

    @property
    def exists(self) -> bool:
        """Whether there is such a user now."""
        return self._name is not None

    def prepare(self, needs: Needs, stamp: str, objects: Sequence[DataObject]) -> None:
        """Give what a play needs: the user itself, sight of the data, rights for this play.

        Args:
            needs: of the play.
            stamp: names the loaded data; another one after each loading, which takes grants away.
            objects: of the data.

        Raises:
            DriverError: the server refuses.
        """
        if self._suspect:
            self.abandon()
        if self._name is None:
            self._create()
        self._suspect = True
        if self._prepared.stamp != stamp:
            self._forget_data()
            self._show_data(stamp, objects)
        if needs.writes and objects:
            self._writing = tuple(objects)
            self._admin.run_all(self._grants(self._writing, "write"))
        if needs.rights:
            self._rights = needs.rights
            self._admin.run(sql.grant_rights(self.name, needs.rights))
            self._admin.run(sql.set_quota(self.name, self._capabilities.tablespace, sql.QUOTA_MB))

    def login(self) -> GradedSession:
        """A new session.

        Raises:
            DriverError: the login fails.
        """
        return GradedSession.login(self._admin, self._proxy.login(self.name), self.name, self._capabilities)

    def own_objects(self) -> dict[int, StoredObject]:
        """What programs have made."""
        return {
            number: found
            for number, found in objects_of(self._admin, self.name).items()
            if number not in self._prepared.synonyms
        }

    def clean(self) -> None:
        """Drop all that programs have made; a user that cannot be cleaned is replaced.

        Raises:
            DriverError: the server refuses even that.
        """
        if self._name is None:
            return
        for session in self._admin.sessions_of(self.name):
            self._admin.kill(self.name, session)
        drop_objects(self._admin, self.name, self.own_objects().values())
        left = objects_of(self._admin, self.name)
        if left.keys() != self._prepared.synonyms.keys():
            self.abandon()
        self._suspect = False

    def release(self) -> None:
        """After a play: clean, and take the play's rights back."""
        self.clean()
        if self.exists:
            self._suspect = True
            self._take_back()
            self._suspect = False

    def _take_back(self) -> None:
        self._forget_password()
        if self._rights:
            self._admin.tolerate(sql.revoke_rights(self.name, self._rights), GRANT_GONE)
            self._admin.run(sql.set_quota(self.name, self._capabilities.tablespace, 0))
            self._rights = ()
        writing, self._writing = self._writing, ()
        for text in self._grants(writing, "write", undo=True):
            self._admin.tolerate(text, GRANT_GONE)

    def abandon(self) -> None:
        """Give the user up; the next play gets a new one. What cannot be dropped now is for the reaper."""
        name, self._name = self._name, None
        self._prepared, self._rights, self._writing = _Prepared(), (), ()
        self._suspect = False
        if name is not None:
            drop_user(self._admin, name)

    def _create(self) -> None:
        self._proxy.create()
        self._generation += 1
        name = user_name(self._admin.run_id, self._worker, self._role, self._generation)
        create, *rest = sql.create_graded(name, self._proxy.name, profile=self._capabilities.profile)
        while not self._admin.tolerate(create, NAME_TAKEN):
            # Left by a crashed worker whose name xdist uses again.
            if drop_user(self._admin, name):
                continue
            self._generation += 1
            name = user_name(self._admin.run_id, self._worker, self._role, self._generation)
            create, *rest = sql.create_graded(name, self._proxy.name, profile=self._capabilities.profile)
        self._admin.run_all(rest)
        self._name = name

    def _show_data(self, stamp: str, objects: Sequence[DataObject]) -> None:
        self._admin.run_all(self._grants(objects, "read"))
        for item in _first_of_each_name(objects):
            self._admin.run(sql.create_synonym(self.name, item))
        self._prepared = _Prepared(stamp, tuple(objects), objects_of(self._admin, self.name))

    def _forget_data(self) -> None:
        before, self._prepared = self._prepared, _Prepared()
        drop_objects(self._admin, self.name, before.synonyms.values())
        for text in self._grants(before.objects, "read", undo=True):
            self._admin.tolerate(text, GRANT_GONE)

    def _grants(
        self, objects: Iterable[DataObject], what: Literal["read", "write"], *, undo: bool = False
    ) -> list[str]:
        by_schema = self._capabilities.schema_rights
        return sql.data_grants(self.name, objects, what, by_schema=by_schema, undo=undo)

    def _forget_password(self) -> None:
        rows = self._admin.query(
            "SELECT authentication_type FROM dba_users WHERE username = :1", (self.name,)
        )
        if rows and rows[0][0] != "NONE":
            self._admin.run(sql.forget_password(self.name))


def drop_objects(admin: Admin, owner: str, objects: Iterable[StoredObject]) -> list[str]:
    """Drop objects in an order that works; what failed, one line each.

    What is gone already counts as dropped.

    Raises:
        DriverError: the administrating session is lost.
    """
    failures = []
    ordered = [(sql.drop_order(found.kind, found.name), found) for found in objects]
    doomed = [(order, found) for order, found in ordered if order is not None]
    for _, found in sorted(doomed, key=lambda pair: (pair[0], pair[1].number)):
        try:
            admin.tolerate(sql.drop_object(owner, found.kind, found.name), NOT_THERE)
        except (DriverError, ValueError) as error:
            if isinstance(error, DriverError) and error.session_dead:
                raise
            failures.append(f"{found.kind} {found.name}: {error}")
    return failures


def _first_of_each_name(objects: Iterable[DataObject]) -> list[DataObject]:
    """Where two schemas have an object of the same name, the first schema's is found by its bare name."""
    first: dict[str, DataObject] = {}
    for item in objects:
        first.setdefault(item.name, item)
    return list(first.values())
