"""What files in the folder of an experiment are called."""

QUERIES, QRELS = "queries.parquet", "qrels.parquet"
"""The questions and judgments of an experiment."""

DOCUMENTS = "documents.parquet"
"""How the documents begin that are shown: those in the top of an answer, and the best judged."""

ONTOLOGY, ANNOTATIONS = "ontology.tsv.gz", "annotations.tsv.gz"
"""What nearness rests on, where documents are terms of an ontology."""

TIMINGS = "Timings.json"
"""What the clock says; with the pages, all that differs from one run to the next."""
