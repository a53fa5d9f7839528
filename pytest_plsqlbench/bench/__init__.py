"""The domain, pure: tasks, predictions, observations, comparison, metrics, results. No database, no pytest."""
