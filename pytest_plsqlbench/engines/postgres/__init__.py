"""The PostgreSQL engine: lanes, sessions, isolation, limits."""
