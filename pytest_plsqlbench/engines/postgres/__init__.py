"""The PostgreSQL engine."""

from pytest_plsqlbench.engines.postgres.engine import PostgresEngine

__all__ = ["PostgresEngine"]
