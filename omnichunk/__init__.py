"""omnichunk: exact, structured, budgeted chunks of repositories and document collections."""
