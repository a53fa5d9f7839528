"""Spider on PostgreSQL: the Oracle conversion, converted and translated. See docs/spider.md."""
