"""From embeddings to candidate pairs."""
