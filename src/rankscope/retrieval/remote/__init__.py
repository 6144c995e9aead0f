"""Systems and models outside this process: engines, search APIs, language models."""
