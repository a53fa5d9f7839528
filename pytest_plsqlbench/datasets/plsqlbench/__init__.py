"""The published PLSQLBench release as it lies: subsets, gold queries, schema and data files."""
