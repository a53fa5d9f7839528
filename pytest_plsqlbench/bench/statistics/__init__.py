"""Intervals, paired differences and what they stand on. See docs/statistics.md."""
