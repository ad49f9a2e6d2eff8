"""What can be said about a finished run."""
