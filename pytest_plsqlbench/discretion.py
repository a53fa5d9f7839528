"""Tracebacks of faults and interruptions tell no secrets, even with all variables, and move no cursor."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_plsqlbench.bench.redaction import presentable


class Discretion:
    """Goes over what pytest is about to say of an internal error or an interruption, in whichever process."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: Any) -> None:
        """Make it presentable before those who come next show it, or send it to the controller."""
        make_presentable(excrepr)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Have whoever comes next be given presentable representations only."""
        getrepr = excinfo.getrepr

        def presentably(*arguments: Any, **options: Any) -> Any:
            return make_presentable(getrepr(*arguments, **options))

        excinfo.getrepr = presentably  # type: ignore[method-assign]


def make_presentable(shown: Any) -> Any:
    """Go over the lines, arguments, local variables and messages of a representation of pytest's, in place.

    Args:
        shown: of an exception, as ``ExceptionInfo.getrepr`` gives it; a text, or anything else, stays whole.

    Returns:
        The same object.
    """
    for traceback, crash, _ in getattr(shown, "chain", ()):
        _go_over(traceback, crash)
    _go_over(getattr(shown, "reprtraceback", None), getattr(shown, "reprcrash", None))
    return shown


def _go_over(traceback: Any, crash: Any) -> None:
    if crash is not None:
        crash.message = presentable(crash.message)
    for entry in getattr(traceback, "reprentries", ()):
        entry.lines = [presentable(line) for line in entry.lines]
        if (variables := getattr(entry, "reprlocals", None)) is not None:
            variables.lines = [presentable(line) for line in variables.lines]
        if (arguments := getattr(entry, "reprfuncargs", None)) is not None:
            arguments.args = [(name, presentable(value)) for name, value in arguments.args]
        if (place := getattr(entry, "reprfileloc", None)) is not None:
            place.message = presentable(place.message)
