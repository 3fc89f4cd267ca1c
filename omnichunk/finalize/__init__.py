"""The one stage every format goes through: boundaries, packing, context, render, chunks."""
