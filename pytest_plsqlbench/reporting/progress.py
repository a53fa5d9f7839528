"""How far a run is: counts of what has ended, the time that is left, and one line that says both."""

from __future__ import annotations

from collections import deque

from pytest_plsqlbench.bench.plural import numbered

WINDOW = 60.0
"""Seconds of the recent past that the pace is also taken from."""
STEP = 0.5
"""Seconds between two samples of the window."""
LEAST_SECONDS = 3.0
"""No estimate before so many seconds after the first turn."""
LEAST_DONE = 5
"""No estimate before so many turns."""


class Pace:
    """Estimates the seconds that are left of a run.

    The clock starts with the first turn that ends: until then servers and lanes warm up, which does not come
    again. The pace is the mean of two: that of all so far, and that of the last minute. Tasks of a kind lie
    together in their files, so the last minute alone would take one kind for all, and the whole past alone
    would still remember how slowly a run with many workers began.
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()
        self._first: tuple[float, int] | None = None
        self._done = 0

    def advance(self, now: float, count: int = 1) -> None:
        """Note that turns have ended.

        Args:
            now: seconds of a monotonic clock.
            count: how many of them.
        """
        self._done += count
        if self._first is None:
            self._first = (now, self._done)
            self._samples.append(self._first)
        elif now - self._samples[-1][0] >= STEP:
            self._samples.append((now, self._done))
            while len(self._samples) > 1 and self._samples[1][0] <= now - WINDOW:
                self._samples.popleft()

    def seconds_left(self, now: float, remaining: int) -> float | None:
        """Seconds until the remaining turns have ended; None where too little is known to say."""
        if self._first is None:
            return None
        overall = self._seconds_a_turn(self._first, now)
        recent = self._seconds_a_turn(self._samples[0], now)
        if overall is None or now - self._first[0] < LEAST_SECONDS or self._done < LEAST_DONE:
            return None
        if recent is None:  # nothing at all has ended for a minute: each turn takes longer than that
            recent = max(overall, now - self._samples[-1][0])
        return remaining * (overall + recent) / 2

    def _seconds_a_turn(self, since: tuple[float, int], now: float) -> float | None:
        done = self._done - since[1]
        return (now - since[0]) / done if done else None


class Tally:
    """What has ended so far."""

    def __init__(self) -> None:
        self.failed = 0
        self.errors = 0
        self._ended: set[str] = set()

    @property
    def done(self) -> int:
        """How many tests have ended."""
        return len(self._ended)

    def add(self, nodeid: str, *, failed: bool = False, error: bool = False) -> bool:
        """Note that a test has ended; give whether that is news."""
        self.errors += error
        if nodeid in self._ended:
            return False
        self.failed += failed
        self._ended.add(nodeid)
        return True


def progress_text(tally: Tally, total: int, seconds: float | None, unit: str = "turns") -> str:
    """One line: n of m, failures so far, time left.

    Args:
        tally: what has ended.
        total: how many tests the run has.
        seconds: until it ends; None where nobody can say.
        unit: what the tests are, in the plural.
    """
    words = [f"{tally.done} of {total} {unit}", f"{tally.failed} failed"]
    if tally.errors:
        words.append(numbered(tally.errors, "error"))
    if seconds is not None and tally.done < total:
        words.append(f"{_duration(seconds)} left")
    return ", ".join(words)


def _duration(seconds: float) -> str:
    """As exactly as an estimate deserves: tens of seconds, minutes, tenths of an hour."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 55:
        return f"about {round(seconds / 10) * 10 or 10} s"
    if seconds < 59.5 * 60:
        return f"about {max(1, round(seconds / 60))} min"
    hours, minutes = divmod(round(seconds / 600) * 10, 60)
    return f"about {hours} h {minutes} min" if minutes else f"about {hours} h"
