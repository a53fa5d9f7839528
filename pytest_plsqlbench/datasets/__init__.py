"""Published formats and our own, read into tasks; converters; database descriptions."""
