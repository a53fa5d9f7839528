"""Secrets: learned from the connection strings that a process is given, and taken out of all it says.

Nothing here decides how to connect; forms are recognised generously: a word too many that is hidden costs
less than a password that is shown.
"""

from __future__ import annotations

import re
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from pytest_plsqlbench.bench.visible import visible

HIDDEN = "***"
_LEAST = 4
"""Characters of a secret that is looked for anywhere; shorter ones are hidden only in their places."""
_WORDS = frozenset(("oracle", "password", "plsqlbench", "postgres", "public", "root", "system", "test"))
"""No secrets, whoever uses them as passwords: hidden only where their place shows them."""
_NAMES = r"(?:password|passwd|pwd|sslpassword|wallet_password)"
_KEYWORD = re.compile(
    rf"\b({_NAMES}['\"]?(?:\s*[=:]\s*|\s+(?=')))('(?:[^'\\]|\\.)*'|\"[^\"]*\"|[^\s'\"&,;)]+)", re.IGNORECASE
)
"""``password=…`` in connection strings and the query of a URL, ``'password': '…'``, ``PASSWORD '…'``."""
_URL = re.compile(
    r"(\b[a-z][a-z0-9+.-]*://[^\s/:@?#'\"]*:)(?!password@[^@\s]*(?:\s|$))([^\s'\"]*)(@)", re.IGNORECASE
)
"""``scheme://user:…@``; to the last ``@``, since people forget to encode theirs. Not the word
``password``, which stands in our own examples."""
_CLASSIC = re.compile(r"^\s*((?:[a-z]+:)*[^\s/@:]+/)(\".*\"|.+)(@[^@]+)$", re.IGNORECASE | re.DOTALL)
"""SQL*Plus' ``user/password@service``, alone or behind ``jdbc:oracle:thin:``; to the last ``@``."""
_CUT = "..."
"""In place of the middle of what is too long, in tracebacks."""
_known: set[str] = set()


def learn(secret: str | None) -> None:
    """Hide a secret, in all its spellings, from now on."""
    if secret and len(secret) >= _LEAST and secret.lower() not in _WORDS:
        raw = secret.encode(errors="surrogateescape")  # the environment may hold any bytes
        _known.update((secret, quote(raw, safe=""), quote_plus(raw), repr(secret)[1:-1]))
        _known.update((secret.replace("\\", "\\\\").replace("'", "\\'"), secret.replace('"', '\\"')))


def learn_from(text: str | None) -> None:
    """Hide what is secret in a connection string of any form."""
    if not text:
        return
    for pattern in (_KEYWORD, _URL, _CLASSIC):
        for match in pattern.finditer(text):
            value = match[2]
            learn(value)
            if value[:1] in "'\"" and value[-1:] == value[:1]:
                value = re.sub(r"\\(.)", r"\1", value[1:-1])
                learn(value)
            learn(unquote(value))
            learn(unquote_plus(value))


def redact(text: str) -> str:
    """The text without secrets: known ones wherever they stand, others where their place shows them."""
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    if _CUT in text:
        text = _redact_cut(text)
    if "://" in text:
        text = _URL.sub(rf"\1{HIDDEN}\3", text)
    return _KEYWORD.sub(rf"\1{HIDDEN}", text)


def _redact_cut(text: str) -> str:
    """The text without what is left of a known secret through whose middle it was cut."""
    for secret in _known:
        for length in range(len(secret) - 1, _LEAST - 1, -1):
            text = text.replace(secret[:length] + _CUT, HIDDEN + _CUT)
            text = text.replace(_CUT + secret[-length:], _CUT + HIDDEN)
    return text


def redact_connection(text: str) -> str:
    """A connection string without secrets."""
    return _CLASSIC.sub(rf"\1{HIDDEN}\3", redact(text))


def presentable(text: str, keep: str = "\n") -> str:
    """The text without secrets and without anything invisible; see ``visible``."""
    return visible(redact(text), keep)
