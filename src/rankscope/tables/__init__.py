"""How any table of the field is read and written, before it is known to be qrels or a run."""
