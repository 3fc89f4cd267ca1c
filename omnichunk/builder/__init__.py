"""Documents put together piece by piece: for loaders of containers, whose text has to be assembled first."""
