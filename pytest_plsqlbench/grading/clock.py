"""Whether what a reference shows may be another thing tomorrow: its text or a test's asks for the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORDS = (
    *("now(", "now (", "'now'", "'today'", "'tomorrow'", "'yesterday'", "age("),
    *("current_date", "current_time", "localtime", "timeofday"),
    *("clock_timestamp", "statement_timestamp", "transaction_timestamp", "sysdate", "systimestamp"),
)
"""One is in every text that asks PostgreSQL or Oracle for date or time, unless it puts the word together when
it runs; a text that holds one without asking costs a play of its reference, no verdict."""


def asks_for_time(texts: Iterable[str]) -> bool:
    """Tell whether any of these texts may ask for the date or the time."""
    return any(word in low for low in map(str.lower, texts) for word in _WORDS)
