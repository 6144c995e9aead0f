"""One module for each subject; `numbers` returns what is frozen."""
