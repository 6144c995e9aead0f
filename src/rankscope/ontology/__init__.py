"""Ontologies: terms, how they are related, and how near two of them are."""
