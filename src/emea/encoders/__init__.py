"""Embedding models, one per file; the file name is the encoder's name."""
