"""Play a turn on a lane, observe it, compare it with the reference, classify what went wrong."""
