"""What a person reads: figures and tables."""
