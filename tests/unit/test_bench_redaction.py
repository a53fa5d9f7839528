"""Secrets are taken out of texts in whatever form they stand there."""

from __future__ import annotations

import pytest
from psycopg.conninfo import make_conninfo

from pytest_plsqlbench.bench import redaction
from pytest_plsqlbench.bench.redaction import learn, learn_from, presentable, redact, redact_connection
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.engines.oracle.port import Login
from pytest_plsqlbench.engines.protocol import InfrastructureError
from pytest_plsqlbench.servers.address import ServerAddress
from pytest_plsqlbench.servers.oracle_login import parse_login

SECRET = "Hush-7/x@9%z's\\"
ENCODED = "Hush-7%2Fx%409%25z%27s%5C"


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", set())


FORMS = {
    "url": f"postgresql://boss:{ENCODED}@db:5432/postgres?sslmode=require",
    "url without encoding": "postgres://boss:Hush-7@x@db/postgres",
    "url query": f"postgresql://db/postgres?user=boss&password={ENCODED}&connect_timeout=3",
    "keywords": make_conninfo("", host="db", user="boss", password=SECRET),
    "bare keyword": "host=db password=Hush-7x user=boss",
    "spaced keyword": "host = db password = 'Hush-7 with \\' blanks' user = boss",
    "oracle url": f"oracle://system:{ENCODED}@db:1521/FREE?wallet_location=/w&wallet_password={ENCODED}",
    "classic": "system/Hush-7x@db:1521/FREE",
    "classic quoted": 'system/"Hush-7 x@y"@db:1521/FREE',
    "classic with an at": "system/a@Hush-7x@db:1521/FREE",
    "classic with blanks": "system/a Hush-7x@db:1521/FREE",
    "classic behind a scheme": "jdbc:oracle:thin:system/Hush-7x@db:1521/FREE",
    "proxy": "system[app]/Hush-7x@db_high",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_connection_string_is_shown_without_its_secret(form: str) -> None:
    shown = redact_connection(FORMS[form])
    assert "Hush" not in shown
    assert "***" in shown
    assert "db" in shown


@pytest.mark.parametrize("form", FORMS)
def test_what_a_connection_string_taught_is_hidden_everywhere(form: str) -> None:
    learn_from(FORMS[form])
    for spelled in (FORMS[form], repr(FORMS[form]), f"args = ({FORMS[form]!r},)"):
        assert "Hush" not in redact(f"could not reach {spelled}, try again")


def test_what_is_left_of_a_secret_that_was_cut_is_hidden() -> None:
    learn("Hush-7-long")
    assert redact("dsn = 'host=db Hush-7-l...ng host=db'") == "dsn = 'host=db ***...ng host=db'"
    assert redact("dsn = 'host=d...-7-long host=db'") == "dsn = 'host=d...*** host=db'"
    assert redact("Hus... and so on...") == "Hus... and so on..."


def test_bytes_of_the_environment_that_are_no_text_are_hidden_too() -> None:
    learn("Hush-7\udcff")
    assert redact("Hush-7\udcff Hush-7%FF Hush-7\\udcff") == "*** *** ***"


def test_all_spellings_of_a_known_secret_are_hidden() -> None:
    learn(SECRET)
    for spelled in (
        SECRET,
        ENCODED,
        repr(SECRET),
        f'"{SECRET}"',
        SECRET.replace("\\", "\\\\").replace("'", "\\'"),
    ):
        assert "Hush" not in redact(f"x {spelled} y")


@pytest.mark.parametrize(
    "text",
    [
        "{'user': 'boss', 'password': 'ab'}",
        "password = 'ab'",
        "ALTER ROLE x PASSWORD 'ab'",
        "wallet_password=ab",
        "Login(user='x', password='ab')",
    ],
)
def test_short_secrets_are_hidden_in_their_places(text: str) -> None:
    assert "ab" not in redact(text)


def test_words_that_are_no_secrets_stay() -> None:
    learn_from("postgresql://postgres:postgres@localhost/postgres")
    assert (
        redact("postgres 18.6 (embedded): missing password") == "postgres 18.6 (embedded): missing password"
    )


@pytest.mark.parametrize(
    "text", ["tests/a.py@b", "see https://example.org/a@b", "a/b@c of d", "2 passwords: none"]
)
def test_other_text_is_not_touched(text: str) -> None:
    assert redact(text) == text


def test_errors_are_presentable() -> None:
    learn(SECRET)
    for error in (UserError(f"no {SECRET}\x1b[31m\n"), InfrastructureError(f"no {SECRET}\x1b[31m\n")):
        assert str(error) == "no ***\\x1b[31m\\n"
    assert presentable(f"{SECRET}\n\x1b") == "***\n\\x1b"


def test_representations_hold_no_secrets() -> None:
    address = ServerAddress(
        dialect="postgres",
        kind="dsn",
        conninfo=f"password={SECRET}",
        label="db:1",
        version="1",
        run_id="x",
        superuser=True,
    )
    login = parse_login(FORMS["oracle url"])
    driver = Login(user="a", password=SECRET, dsn="db", wallet_password=SECRET)
    for shown in (repr(address), str(address), repr(login), str(login), f"{driver}", repr([driver])):
        assert "Hush" not in shown
