"""What is searched and judged: documents, queries, judgments and their file formats."""
