"""Scoring: from a run and its judgments to numbers."""
