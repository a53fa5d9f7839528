"""The terminal summary: metrics by subset, coverage, statuses, categories, files; 80 columns wide."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.difference import escape
from pytest_plsqlbench.bench.plural import noun, numbered
from pytest_plsqlbench.reporting.chances import chances_lines
from pytest_plsqlbench.reporting.headline import WIDTH, headlines, models_named, percent, table_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_plsqlbench.bench.blame import BlameCounts
    from pytest_plsqlbench.bench.summary import Summary

CATEGORIES_SHOWN = 5
LEGEND = {
    "missing": "no prediction, scored 0",
    "reference_error": "the reference fails or varies; not counted",
    "infrastructure_error": "server or worker failed; not a verdict, not counted",
    "unsupported": "cannot be run exactly; not counted",
    "engine_unavailable": "no server of the dialect; not counted",
}


def summary_title(summary: Summary) -> str:
    """Whose results, by which comparison rules."""
    return f"plsqlbench: {models_named(summary)}, {summary.comparator}"


def summary_lines(
    summary: Summary,
    *,
    collected: int,
    left_out: Mapping[str, int],
    files: str = "",
    flags: Mapping[str, int] | None = None,
    blame_seconds: float | None = None,
    more: Sequence[str] = (),
) -> Iterator[str]:
    """The lines of the summary: scores, what they rest on, what failed, what is worth a look, files.

    Args:
        summary: what the results add up to.
        collected: how many turns the run set out to grade.
        left_out: turns of dialects that no engine of this version runs, by dialect.
        files: where the report files are; empty: said elsewhere.
        flags: how many turns carry a flag, by flag.
        blame_seconds: what finding out whose failures they are took; None where nobody measured.
        more: lines about the run, before the files.
    """
    tables = headlines(summary)
    for table in tables:
        yield from table_lines(table)
    if any(table.has_intervals for table in tables):
        yield "beside each score: its 95% confidence interval, in percent"
    yield from chances_lines(summary)
    yield ""
    turns = summary.counts.turns
    if turns < collected:
        of = f"{numbered(collected, 'turn')} {noun(collected, 'was', 'were')}"
        yield f"incomplete: {turns} of {of} graded before the run ended"
    yield from _status_lines(summary)
    for dialect, count in sorted(left_out.items()):
        yield f"left out: {numbered(count, 'turn')} in dialect {dialect}, whose engine is not at hand"
    yield from _category_lines(summary)
    late = summary.counts.timeouts
    if late.tests:
        yield f"timeouts: {numbered(late.tests, 'test')}, {numbered(late.turns, 'turn')}"
    gap = summary.counts.formatting_only
    if gap.tests:
        gained = f"{numbered(gap.tests, 'test')}, {numbered(gap.turns, 'turn')}"
        yield f"would pass if only formatting were ignored: {gained}"
    strict = summary.counts.strict_only
    if strict.tests:
        lost = f"{numbered(strict.tests, 'test')}, {numbered(strict.turns, 'turn')}"
        yield f"would fail the strict reading: {lost}"
    if summary.counts.blame is not None:
        yield _blame_line(summary.counts.blame, blame_seconds)
    if flags:
        yield from listing("flags", (f"{count} {escape(flag)}" for flag, count in sorted(flags.items())))
    yield from more
    if files:
        yield f"files: {files}"


def _blame_line(blame: BlameCounts, seconds: float | None) -> str:
    """Of the failed turns of conversations: how many fail by what went before, and what it cost to know."""
    words = [f"{blame.inherited} inherited ({percent(blame.inherited_share)})", f"{blame.own} own"]
    if blame.unknown:
        words.append(f"{blame.unknown} unknown")
    cost = f" in {seconds:.1f} s" if seconds is not None else ""
    return f"blame: {', '.join(words)}; {numbered(blame.replays, 'turn')} replayed{cost}"


def listing(title: str, words: Iterable[str]) -> Iterator[str]:
    """A title and what it lists, on as many lines as it takes."""
    text = ", ".join(word.replace(" ", "\0") for word in words)  # each of them in one piece
    indent = " " * (len(title) + 2)
    for line in textwrap.wrap(
        f"{title}: {text}",
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        yield line.replace("\0", " ")


def _status_lines(summary: Summary) -> Iterator[str]:
    found = {status: count for status, count in summary.statuses.items() if count}
    yield from listing("turns", (f"{count} {status}" for status, count in found.items()))
    for status in found:
        if status in LEGEND:
            yield f"  {status}: {LEGEND[status]}"


def _category_lines(summary: Summary) -> Iterator[str]:
    if not summary.categories:
        return
    yield "failed tests by category:"
    for entry in summary.categories[:CATEGORIES_SHOWN]:
        yield f"  {entry.tests:>5}  {entry.category}/{entry.subcategory}"
    rest = summary.categories[CATEGORIES_SHOWN:]
    if rest:
        yield f"  {sum(entry.tests for entry in rest):>5}  others, see summary.json"
