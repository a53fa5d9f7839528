"""The Oracle engine."""

from __future__ import annotations

from pytest_plsqlbench.bench.result import EngineInfo
from pytest_plsqlbench.engines.oracle import provisioning as sql
from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.capabilities import Capabilities, probe
from pytest_plsqlbench.engines.oracle.facts import NAME_TAKEN, is_infrastructure, one_line
from pytest_plsqlbench.engines.oracle.lane import OracleLane
from pytest_plsqlbench.engines.oracle.loader import Progress
from pytest_plsqlbench.engines.oracle.port import Driver, DriverError, Login
from pytest_plsqlbench.engines.protocol import EngineUnavailableError, InfrastructureError
from pytest_plsqlbench.servers.address import ServerAddress
from pytest_plsqlbench.servers.oracle_login import parse_login

FORBIDDEN = frozenset((1031,))
"""ORA-01031: a limit that this account may not set is done without."""


class OracleEngine:
    """Runs Oracle programs on a server.

    Args:
        address: the started server.
        driver: opens sessions; python-oracledb unless a test brings another.
        progress: told what is loaded.

    Raises:
        EngineUnavailableError: the login fails, or the account lacks what is needed.
        InfrastructureError: the server cannot be reached.
    """

    def __init__(
        self, address: ServerAddress, driver: Driver | None = None, progress: Progress | None = None
    ) -> None:
        self._address = address
        self.driver = driver or default_driver()
        self._progress = progress
        self._admin = open_admin(address, self.driver)
        try:
            self.capabilities: Capabilities = probe(self._admin)
            self._limit_users()
        except DriverError as error:
            self._admin.close()
            raise login_failure(error, address.label) from error
        except EngineUnavailableError:
            self._admin.close()
            raise

    @property
    def info(self) -> EngineInfo:
        """As results record it."""
        return EngineInfo("oracle", self.capabilities.version, self._address.label)

    @property
    def header(self) -> tuple[str, ...]:
        """Lines for the report header: what is done without, and how many workers suit the server."""
        return (*self.capabilities.notes, self.capabilities.workers[1])

    def lane(self, worker: str) -> OracleLane:
        """Open the lane of a worker; its users are made when it is first played on."""
        admin = open_admin(self._address, self.driver)
        return OracleLane(admin, self.capabilities, worker, self._progress)

    def close(self) -> None:
        """Close the engine's own session."""
        self._admin.close()

    def _limit_users(self) -> None:
        """Set backstops against sessions whose client has died, where they are allowed."""
        if self.capabilities.profile:
            self._admin.tolerate(sql.create_profile(), NAME_TAKEN)
        if self._address.kind == "container":  # a setting of the whole server: only where that is ours
            self._admin.tolerate(sql.enforce_profiles(), FORBIDDEN)


def open_admin(address: ServerAddress, driver: Driver) -> Admin:
    """The administrating session of a server; it logs in when it is first used."""
    login = parse_login(address.conninfo)
    return Admin(
        driver,
        Login(
            user=login.user,
            password=login.password,
            dsn=login.dsn,
            config_dir=login.config_dir,
            wallet_location=login.wallet_location,
            wallet_password=login.wallet_password,
        ),
        address.run_id,
    )


def login_failure(error: DriverError, label: str = "") -> EngineUnavailableError | InfrastructureError:
    """A login that failed: worth a retry, or a mistake that only the user can mend.

    Args:
        error: what the driver said.
        label: of the server, where the message stands alone.
    """
    server = f"the Oracle server {label}".strip()
    if is_infrastructure(error):
        return InfrastructureError(f"{server} cannot be reached: {one_line(error)}")
    return EngineUnavailableError(f"{server} refuses us: {one_line(error)}")


def probe_login(conninfo: str, run_id: str, driver: Driver | None = None) -> str:
    """Log in once as the administrating account; the server's version.

    Raises:
        EngineUnavailableError: the login is refused.
        InfrastructureError: the server cannot be reached (yet).
    """
    address = ServerAddress(
        dialect="oracle", kind="dsn", conninfo=conninfo, label="", version="", run_id=run_id, superuser=True
    )
    admin = open_admin(address, driver or default_driver())
    try:
        connection = admin.fresh()
        version = connection.version
        connection.close()
    except DriverError as error:
        raise login_failure(error) from error
    return version


def default_driver() -> Driver:
    """python-oracledb in thin mode."""
    from pytest_plsqlbench.engines.oracle.driver import OracledbDriver  # noqa: PLC0415 (heavy)

    return OracledbDriver()
