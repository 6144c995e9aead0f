"""Results in, text out: Markdown, LaTeX, csv, trec_eval's lines. Reports compute nothing."""
