"""Serving: one table of methods, spoken as JSON-RPC over HTTP and as MCP, run in workers that may be killed."""
