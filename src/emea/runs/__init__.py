"""A run: its inputs, what can be said beforehand, and its folder on disk."""
