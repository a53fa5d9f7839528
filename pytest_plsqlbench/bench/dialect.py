"""The dialects of procedural SQL that tasks are written in. Importable at no cost."""

from __future__ import annotations

from typing import Literal, get_args

Dialect = Literal["oracle", "postgres"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
