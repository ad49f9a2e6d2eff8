"""From embeddings to the pairs that are considered."""
