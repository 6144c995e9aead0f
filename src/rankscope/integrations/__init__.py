"""Edges to other tools: what they write and read."""
