"""Results store, terminal summary, JUnit properties."""
