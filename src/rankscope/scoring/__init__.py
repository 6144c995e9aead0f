"""Scoring: from a run and its judgments to numbers.

- What a call asks for: `scoring_options`, one frozen object; `rules`, the profiles of other tools;
  `plans`, its measures by the rules that count for each.
- What it is given: `inputs` take gold and runs in any form, `judgments` are gold made ready,
  `coverage` and `judged_terms` are for gold that is spans, texts or terms of an ontology.
- Ranks: `align` joins a run with judgments; a run is a dict (`dicts`), a table (`scan_tables`) or a
  file that is not read, of which `scans` tell the same.
- Numbers: `evaluate` makes `scored_runs`; `soundness` says what cannot be scored, and what should
  be known; `score_files` keep them, with their accounting.
- About one run: `explain`, `bounds`, `why`.
- `trec_eval` and `preferences` print what NIST's program prints.
"""
