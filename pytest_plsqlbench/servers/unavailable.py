"""The fault of a server that cannot be had."""

from __future__ import annotations

from pytest_plsqlbench.bench.task import UserError


class ServerUnavailableError(UserError):
    """No server of the wanted kind can be had here; one line that says why and the mend.

    Told apart from other user errors so that a run which may do without the server (``auto``) can go on and
    count its turns as ``engine_unavailable``.
    """
