"""The domain, pure: tasks, predictions, observations, comparison, metrics. No database, no pytest."""
