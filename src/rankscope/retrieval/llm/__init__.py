"""Language models behind an OpenAI-compatible endpoint: embed, rewrite, rerank, judge."""
