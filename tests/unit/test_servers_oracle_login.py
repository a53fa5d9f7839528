"""Oracle logins as people write them: what is read, what is refused, and no password is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_plsqlbench.bench import redaction
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers.dsn import DsnServer
from pytest_plsqlbench.servers.oracle import resolve_oracle
from pytest_plsqlbench.servers.oracle_login import OracleLogin, check_files, parse_login


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hides secrets afterwards must not be what keeps them out of messages."""
    monkeypatch.setattr(redaction, "_known", set())
    monkeypatch.setattr(redaction, "learn", lambda _: None)
    for module in ("oracle_login", "dsn"):
        for name in ("learn", "learn_from"):
            monkeypatch.setattr(f"pytest_plsqlbench.servers.{module}.{name}", lambda _: None)


@pytest.mark.parametrize(
    ("text", "password", "address"),
    [
        ("system/a@geheim@localhost:1521/FREEPDB1", "a@geheim", "localhost:1521/FREEPDB1"),
        ("system/gehe@im6@localhost/x", "gehe@im6", "localhost/x"),
        ("system//ge:he/im@@localhost/x", "/ge:he/im@", "localhost/x"),
        ('system/"a@b"@localhost/x', "a@b", "localhost/x"),
        ('system/"a"@b"@localhost/x', 'a"@b', "localhost/x"),
        ('system/a"b@localhost/x', 'a"b', "localhost/x"),
        ('"My User"/geheim@//localhost/x', "geheim", "localhost/x"),
        (
            "app[owner]/geheim@tcps://h1,h2:1522/x?wallet_location=/w",
            "geheim",
            "tcps://h1,h2:1522/x?wallet_location=/w",
        ),
        ("system/geheim@[::1]:1521/x", "geheim", "[::1]:1521/x"),
        ("oracle://system:a@geheim@localhost:1521/FREEPDB1", "a@geheim", "localhost:1521/FREEPDB1"),
        ("oracle://system:gehe/im:6@localhost/x", "gehe/im:6", "localhost/x"),
        ("oracle://system:p@h/x%3Fwallet_password=geheim", "p", "h/x?wallet_password=geheim"),
    ],
)
def test_the_last_at_ends_the_password(text: str, password: str, address: str) -> None:
    login = parse_login(text)
    assert (login.password, login.dsn) == (password, address)
    assert "heim" not in login.label
    assert "@" not in login.label.partition("@")[2]
    assert parse_login(login.conninfo) == login


def test_a_plus_in_a_password_of_a_wallet_is_one() -> None:
    login = parse_login("oracle://a:b@h/s?wallet_location=/w&wallet_password=x+y%20z%2B")
    assert login.wallet_password == "x+y z+"
    assert parse_login(login.conninfo) == login


FORM = "write oracle://user:password@host:1521/service, or user/password@host:1521/service"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("oracle+oracledb://system:geheim@localhost:1521/x", "a URL of another kind; write oracle://"),
        ("jdbc:oracle:thin:system/geheim@localhost:1521/x", "a URL of another kind; write oracle://"),
        ("jdbc:oracle:thin:@//localhost:1521/x", "a URL of another kind; write oracle://"),
        ("oracle:system/geheim@localhost:1521/x", "a URL of another kind; write oracle://"),
        ("postgresql://system:geheim@localhost:5432/x", "a URL of another kind; write oracle://"),
        ("system:ge/heim@localhost/x", FORM),
        ("system:geheim@localhost/x", FORM),
        ("system@ge/heim@localhost/x", FORM),
        ("system@geheim@localhost", FORM),
        ("oracle://system/geheim@localhost/x", FORM),
        ("oracle://system:ge?heim@localhost/x", "write ? in a password as %3F"),
        ("oracle://system:a@ge?heim@localhost/x", "write ? in a password as %3F"),
        ("oracle://system:a@h/s?wallet_password=x&geheim", "no option of that name"),
        ("oracle://system:a@h/s?ge-heim=1", "no option of that name"),
        ("oracle://system:a@h/s?colour=1", "no option 'colour'"),
        ("sys/geheim@localhost/x as sysdba", "AS SYSDBA"),
        ('system/"geheim@localhost/x', FORM),
        ("oracle://system:geheim@localhost:1521", "the address 'localhost:1521' has no service: write host"),
        ("oracle://system:geheim@localhost:1521/", "the address 'localhost:1521' has no service: write host"),
        ("system/a@localhost:port/geheim", "a port that is not a number"),
        ("system/a@localhost:99999/x", "a port that is not a number"),
        ("system/a@/geheim", "has no host"),
        ("system/geheim@localhost:1521:FREE", "'localhost:1521:FREE' is in the old form with a SID"),
        ("system/a@geh,eim", "the address has no service"),
    ],
)
def test_what_is_no_login_is_refused_without_its_secrets(text: str, message: str) -> None:
    for read in (parse_login, lambda text: resolve_oracle(text, environment={})):
        with pytest.raises(UserError) as caught:
            read(text)
        shown = str(caught.value)
        assert message in shown
        assert "\n" not in shown
        assert "heim" not in shown
        if "sysdba" not in text:
            assert "SYSDBA" not in shown


def alias(text: str = "prod_high", **more: str) -> OracleLogin:
    return OracleLogin(user="a", password="b", dsn=text, **more)


def test_an_alias_needs_a_folder() -> None:
    for text in ("12", "localhost", "prod_high"):
        with pytest.raises(UserError, match="config_dir=FOLDER"):
            check_files(parse_login(f"system/p@{text}"), {})
    check_files(alias("h/s"), {})
    check_files(alias("(DESCRIPTION=…)"), {})


@pytest.mark.parametrize("place", ["config_dir", "TNS_ADMIN", "ORACLE_HOME"])
def test_tnsnames_that_cannot_be_read_is_named(place: str, tmp_path: Path) -> None:
    folder = tmp_path / "network" / "admin" if place == "ORACLE_HOME" else tmp_path
    login = alias(config_dir=str(tmp_path)) if place == "config_dir" else alias()
    environment = {} if place == "config_dir" else {place: str(tmp_path)}
    with pytest.raises(UserError) as caught:
        check_files(login, environment)
    assert str(caught.value) == f"Oracle: {folder / 'tnsnames.ora'} cannot be read: No such file or directory"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tnsnames.ora").touch()
    check_files(login, environment)


def test_a_wallet_that_is_not_there_is_named(tmp_path: Path) -> None:
    login = alias("h/s", wallet_location=str(tmp_path))
    with pytest.raises(UserError, match=f"there is no ewallet.pem in {tmp_path}"):
        check_files(login, {})
    (tmp_path / "ewallet.pem").touch()
    check_files(login, {})


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://boss:a@geheim@localhost/db",
        "postgresql://boss:geheim/x@localhost/db",
        "postgresql://boss:1/geheim@localhost/db",
        "postgresql://boss:a@geheim:5432/x@localhost/db",
    ],
)
def test_a_postgres_url_that_the_driver_would_split_elsewhere_is_refused(text: str) -> None:
    with pytest.raises(UserError) as caught:
        DsnServer.start(text)
    assert "write @ in a password as %40" in str(caught.value)
    assert "heim" not in str(caught.value)
