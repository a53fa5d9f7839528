"""pytest-plsqlbench: grade model-written PL/SQL and PL/pgSQL programs on real databases."""
