"""Diagnosis: where a difference comes from: stages of a pipeline, groups of queries."""
