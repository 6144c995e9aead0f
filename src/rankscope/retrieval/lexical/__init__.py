"""Systems that match words."""
