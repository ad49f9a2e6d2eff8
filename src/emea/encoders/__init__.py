"""Embedding models, one a file; the file name is the encoder's name."""
