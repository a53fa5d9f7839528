"""The HTML report: what it says (source, figures, turns), how it is drawn (charts) and put together."""
