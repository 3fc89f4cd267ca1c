"""Built-in loaders: bytes to text and segments, one file a format."""
