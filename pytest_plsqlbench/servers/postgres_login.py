"""Why a PostgreSQL server of the user's cannot be reached, on one line with the mend."""

from __future__ import annotations

CONNECT_SECONDS = 10
"""After which a server that does not answer is given up, unless its DSN says otherwise."""
_MENDS = (
    (
        ("Connection refused",),
        "nothing listens there: start the server, or mend host and port",
    ),
    (
        ("failed to resolve host", "could not translate host name"),
        "mend the host",
    ),
    (
        ("timeout expired", "timed out", "No route to host", "Network is unreachable"),
        "mend host and port, or see whether a firewall is in the way",
    ),
    (
        ("No such file or directory",),
        "no server has its socket there: start it, or mend host (the folder of the socket) and port",
    ),
    (
        ("password authentication failed", "no password supplied", "empty password"),
        "mend user and password: in the DSN, in PGPASSWORD, or in a password file",
    ),
    (
        ("no pg_hba.conf entry", "pg_hba.conf rejects", "authentication failed"),
        "let this user in from this host in the server's pg_hba.conf",
    ),
    (
        ("too many clients", "remaining connection slots", "too many connections"),
        "wait until others have gone, or raise max_connections",
    ),
    (
        ("is starting up", "is shutting down", "in recovery mode", "not yet accepting"),
        "try again in a moment",
    ),
    (
        ("server does not support SSL",),
        "write sslmode=prefer, or give the server a certificate",
    ),
    (
        ("certificate verify failed", "root certificate file", "SSL error"),
        "mend sslrootcert and sslmode",
    ),
    (
        ("received invalid response", "expected authentication request"),
        "what listens there is no PostgreSQL server: mend host and port",
    ),
    (
        ("server closed the connection unexpectedly", "Connection reset by peer"),
        "see the server's log, or what stands between",
    ),
)
"""What the driver or the server says, and what helps. In another language than English it goes without."""


def login_failure(error: BaseException) -> str:
    """The driver's message and the mend, one line; it holds host and user, never the password."""
    reason = first_reason(error)
    mend = next((mend for words, mend in _MENDS if any(word in reason for word in words)), "")
    if not mend and 'database "' in reason and reason.endswith("does not exist"):
        mend = "name a database that is there, such as postgres"
    return f"{reason}; {mend}" if mend else reason


def first_reason(error: BaseException) -> str:
    """The driver's message on one line, without what it says twice."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    for twice in ("connection failed: ", "connection is bad: "):
        text = text.removeprefix(twice)
    return text
