"""What a look for leftovers has found."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Reaped:
    """Things of runs by what became of them; each as one line names it."""

    dropped: list[str] = field(default_factory=list)
    """Of dead runs: removed, or to be removed where nothing was to be done yet."""
    kept: list[str] = field(default_factory=list)
    """Of runs that are alive."""
    unknown: list[str] = field(default_factory=list)
    """Of runs of other machines: nobody here can say whether they live."""
    failed: list[str] = field(default_factory=list)
    """What could not be removed, and why."""

    def add(self, other: Reaped) -> None:
        """Take over what was found in another place."""
        self.dropped += other.dropped
        self.kept += other.kept
        self.unknown += other.unknown
        self.failed += other.failed
