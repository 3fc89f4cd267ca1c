"""What is known of any text: decoding, positions, breaks."""
