"""Structure providers: a segment of text to spans."""
