"""Search engines as systems: one base, and an adapter for each engine."""
