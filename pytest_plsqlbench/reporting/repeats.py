"""What the terminal says of turns that were played several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.plural import numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_plsqlbench.bench.result import TurnResult

_SHOWN = 5


def repeat_lines(results: Iterable[TurnResult], times: int) -> Iterator[str]:
    """Which turns did not show the same verdict in all plays; nothing where each was played once.

    Args:
        results: of the run.
        times: how many times each turn was played.
    """
    if times == 1:
        return
    played = [result for result in results if result.repeats]
    varying = [result for result in played if "varies" in result.flags]
    yield f"varying: {len(varying)} of {numbered(len(played), 'turn')}, each played {times} times"
    for result in varying[:_SHOWN]:
        solved = sum(all(verdict == "passed" for verdict in verdicts) for verdicts in result.repeats)
        sample = f", sample {result.sample}" if result.sample else ""
        yield f"  {result.turn_id} ({result.dialect}{sample}): solved in {solved} of {times} plays"
    if len(varying) > _SHOWN:
        yield f"  and {len(varying) - _SHOWN} more, flagged varies in results.jsonl"
