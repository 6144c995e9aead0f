"""Systems that compare vectors."""
