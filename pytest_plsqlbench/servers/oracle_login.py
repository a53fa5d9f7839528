"""Oracle logins as users write them, and as they are handed to workers. No driver."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode

import msgspec

from pytest_plsqlbench.bench.redaction import learn, learn_from
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers.oracle_address import fault_of, is_alias, shown_address

_OPTIONS = ("config_dir", "wallet_location", "wallet_password")
LOGIN_FORM = "write oracle://user:password@host:1521/service, or user/password@host:1521/service"
_WALLET, _NAMES = "ewallet.pem", "tnsnames.ora"
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?://|[a-z0-9]+:|[^/@]*/[^@]*@)", re.IGNORECASE)
"""``postgresql://``, ``jdbc:oracle:thin:``, ``oracle:user/password@``: accounts of SQL*Plus hold no colon."""
_USER = re.compile(r'(?:"[^"]+"|[^\s:@"/\[\]]+)(?:\[[^\s:@/\[\]]+\])?')
_SYSDBA = re.compile(r"\sas\s+sys\w+\s*$", re.IGNORECASE)


class OracleLogin(msgspec.Struct, frozen=True, kw_only=True):
    """An administrating account and the way to its server. Holds secrets: never print it, show ``label``."""

    user: str
    password: str
    dsn: str
    """Connect string for the driver: ``host:port/service``, a TNS alias or a full descriptor."""
    config_dir: str | None = None
    wallet_location: str | None = None
    wallet_password: str | None = None

    @property
    def label(self) -> str:
        """For headers and results: no password, no path."""
        return f"{self.user.split('[', 1)[0]}@{shown_address(self.dsn)}"

    def __repr__(self) -> str:
        return f"OracleLogin({self.label})"

    @property
    def conninfo(self) -> str:
        """As one text, which ``parse_login`` reads back."""
        options = [(name, value) for name in _OPTIONS if (value := getattr(self, name))]
        query = f"?{urlencode(options, quote_via=quote)}" if options else ""
        account = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}"
        return f"oracle://{account}@{quote(self.dsn, safe=':/')}{query}"


def parse_login(text: str) -> OracleLogin:
    """Read a login.

    Args:
        text: ``oracle://user:password@host:port/service?wallet_location=…&wallet_password=…&config_dir=…``
            with percent-encoding, or SQL*Plus' ``user/password@connect_string``. The last ``@`` ends the
            password.

    Raises:
        UserError: it is neither, or its address cannot be one; the message shows no part of it that may be
            secret.
    """
    text = text.strip()
    learn_from(text)
    login = _url(text) if text.lower().startswith("oracle://") else _classic(text)
    learn(login.password)
    learn(login.wallet_password)
    if fault := fault_of(login.dsn):
        raise UserError(f"the Oracle login is not understood: {fault}")
    return login


def check_files(
    login: OracleLogin, environment: Mapping[str, str] = os.environ, *, given: str = "Oracle"
) -> None:
    """Look for the files that a login needs on this machine, before the driver misses them.

    Args:
        login: of a server that is about to be used.
        environment: tells where ``tnsnames.ora`` is, where the login does not.
        given: where the login was given, for messages.

    Raises:
        UserError: one is not there or cannot be read.
    """
    if login.wallet_location and not (Path(login.wallet_location) / _WALLET).is_file():
        raise UserError(
            f"{given}: wallet_location: there is no {_WALLET} in {login.wallet_location}:"
            " unzip the wallet there"
        )
    if not is_alias(login.dsn):
        return
    home = environment.get("ORACLE_HOME")
    folder = login.config_dir or environment.get("TNS_ADMIN") or (f"{home}/network/admin" if home else None)
    if folder is None:
        raise UserError(
            f"{given}: the address of the login is neither host:1521/service nor a descriptor; if it is an"
            " alias, say where tnsnames.ora is: oracle://user:password@alias?config_dir=FOLDER"
        )
    names = Path(folder) / _NAMES
    try:
        names.open("rb").close()
    except OSError as error:
        raise UserError(f"{given}: {names} cannot be read: {error.strerror or error}") from None


def _url(text: str) -> OracleLogin:
    rest, question, query = text[len("oracle://") :].partition("?")
    account, at, dsn = rest.rpartition("@")
    user, colon, password = account.partition(":")
    if question and ("@" in query or not at):
        raise UserError(
            "the Oracle login is not understood: write ? in a password as %3F, and @ behind a ? as %40"
        )
    if not (at and colon and user and password and dsn):
        raise UserError(f"the Oracle login is incomplete: {LOGIN_FORM}")
    options = dict(parse_qsl(query.replace("+", "%2B"), keep_blank_values=True))
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:  # which may be what follows an & in a password
        named = (
            f" {unknown[0]!r}" if "password" not in query and unknown[0].isidentifier() else " of that name"
        )
        raise UserError(
            f"the Oracle login has no option{named}: it knows {', '.join(_OPTIONS)};"
            " write & in a value as %26"
        )
    return OracleLogin(
        user=unquote(user),
        password=unquote(password),
        dsn=unquote(dsn),
        **{k: v for k, v in options.items() if v},
    )


def _classic(text: str) -> OracleLogin:
    user, slash, rest = text.partition("/")
    if _SCHEME.match(text):
        raise UserError(f"the Oracle login is not understood: it is a URL of another kind; {LOGIN_FORM}")
    if _SYSDBA.search(rest):
        raise UserError(
            "the Oracle login asks for AS SYSDBA, which is not needed: name SYSTEM,"
            " or an account with the rights of docs/oracle-privileges.md"
        )
    if rest.startswith('"'):
        password, at, dsn = rest[1:].rpartition('"@')
    else:
        password, at, dsn = rest.rpartition("@")
    if not (slash and at and _USER.fullmatch(user) and password and dsn):
        raise UserError(f"the Oracle login is not understood: {LOGIN_FORM}")
    return OracleLogin(user=user, password=password, dsn=dsn.removeprefix("//"))
