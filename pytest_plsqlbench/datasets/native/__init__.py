"""Native tasks: YAML and JSON lines of one schema. See docs/tasks.md."""
