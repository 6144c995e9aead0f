"""Systems over other systems: fusion, rewriting, reranking."""
