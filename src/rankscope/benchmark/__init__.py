"""Benchmarks: from one config to runs, scores, comparisons and reports."""
