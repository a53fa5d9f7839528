"""Gates: what a run must show, read from text and judged. See docs/gates.md."""
