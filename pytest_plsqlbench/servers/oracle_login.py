"""Oracle logins as users write them, and as they are handed to workers. Pure; no driver."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, unquote, urlencode

import msgspec

from pytest_plsqlbench.bench.redaction import learn, learn_from
from pytest_plsqlbench.bench.task import UserError

_OPTIONS = ("config_dir", "wallet_location", "wallet_password")
_FORM = "write oracle://user:password@host:1521/service, or user/password@host:1521/service"


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
        shown = self.dsn if len(self.dsn) <= 60 and not self.dsn.startswith("(") else "descriptor"
        return f"{self.user.split('[', 1)[0]}@{shown}"

    def __repr__(self) -> str:
        return f"OracleLogin({self.label})"

    @property
    def conninfo(self) -> str:
        """As one text, which ``parse_login`` reads back."""
        options = [(name, value) for name in _OPTIONS if (value := getattr(self, name))]
        query = f"?{urlencode(options)}" if options else ""
        account = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}"
        return f"oracle://{account}@{quote(self.dsn, safe=':/')}{query}"


def parse_login(text: str) -> OracleLogin:
    """Read a login.

    Args:
        text: ``oracle://user:password@host:port/service?wallet_location=…&wallet_password=…&config_dir=…``
        with
            percent-encoding, or SQL*Plus' ``user/password@connect_string``.

    Raises:
        UserError: it is neither; the message shows no part of it that may be secret.
    """
    text = text.strip()
    learn_from(text)
    login = _url(text) if text.lower().startswith("oracle://") else _classic(text)
    learn(login.password)
    learn(login.wallet_password)
    return login


def _url(text: str) -> OracleLogin:
    rest, _, query = text[len("oracle://") :].partition("?")
    account, at, dsn = rest.rpartition("@")
    user, colon, password = account.partition(":")
    if not (at and colon and user and password and dsn):
        raise UserError(f"the Oracle login is incomplete: {_FORM}")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise UserError(f"the Oracle login has no option {unknown[0]!r}: it knows {', '.join(_OPTIONS)}")
    return OracleLogin(
        user=unquote(user),
        password=unquote(password),
        dsn=unquote(dsn),
        **{k: v for k, v in options.items() if v},
    )


def _classic(text: str) -> OracleLogin:
    user, slash, rest = text.partition("/")
    if rest.startswith('"'):
        password, at, dsn = rest[1:].partition('"@')
    else:
        password, at, dsn = rest.partition("@")
    if not (slash and at and user and password and dsn) or " as sys" in dsn.lower():
        raise UserError(f"the Oracle login is not understood: {_FORM}; not AS SYSDBA")
    return OracleLogin(user=user, password=password, dsn=dsn.removeprefix("//"))
