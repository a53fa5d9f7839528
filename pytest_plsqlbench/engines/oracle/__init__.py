"""The Oracle engine.

Written from documentation: docs/oracle-status.md lists what was never run on a server.
"""
