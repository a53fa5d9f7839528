"""Engines run the programs of a dialect on a server."""
