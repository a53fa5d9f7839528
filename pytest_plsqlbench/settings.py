"""What a run was asked for, in one frozen object; made by ``options``, read by all parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pytest_plsqlbench.bench.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run was asked for."""

    predictions: Path | None
    """File of predictions; None: ``gold``."""
    dialects: frozenset[Dialect] | None
    """Variants asked for; None: decided by the predictions, or by the engines at hand."""
    postgres: str = field(repr=False)
    timeout: float
    """Seconds."""
    compare: Literal["published", "normalized"]
    report: Path
    extract: bool = False
    blame: bool = False
    postgres_image: str | None = None
    oracle: str = field(default="auto", repr=False)
    oracle_image: str | None = None
    shard: tuple[int, int] | None = None
    """The part of the turns to grade; None: all, in a run that is not divided."""
    resume: bool = False
    repeat: int = 1
    """How many times each turn is played."""
    quarantine: Path | None = None
    """List of turns that are not to be graded."""
    limits: dict[str, int] = field(default_factory=dict)
    """Limits that were given, by name; for ``bench.limits.Limits``."""
    gates: tuple[str, ...] = ()
    baseline: Path | None = None
    """Results, or a folder of them, to compare with."""
    baseline_name: str = ""
    """The baseline as the user named it."""
    baseline_common: bool = False

    @property
    def gold(self) -> bool:
        """Whether the references are graded instead of a file."""
        return self.predictions is None
