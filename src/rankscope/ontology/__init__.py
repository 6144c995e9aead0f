"""Ontologies: terms, which of them are above others, and how near two of them are.

- `terms`: `read_ontology` and the `Ontology` it returns; begin here
- `nearness`: the similarities of terms, one short function each, and information content
- `graph`: parents, ancestors and depths as arrays
- `term`, `obo`, `term_tables`: a term as a file has it, and the readers of such files
"""
