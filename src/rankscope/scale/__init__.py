"""Larger than memory, larger than a machine: work in parts, on threads, processes, clusters."""
