"""Systems that make runs: each answers queries over a corpus, and says exactly what it is."""
