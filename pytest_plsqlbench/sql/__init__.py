"""Program text, no database: lexer, script reader, program units, complexity, safety, extraction."""
