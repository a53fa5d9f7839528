"""Where a database server comes from: embedded, or a DSN. Start, probe, stop, reap."""
