"""Ways to run an engine over many sources: here, in threads, in worker processes, beside an event loop."""
