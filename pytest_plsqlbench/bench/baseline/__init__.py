"""An earlier run to compare with: what both have, and what changed."""
