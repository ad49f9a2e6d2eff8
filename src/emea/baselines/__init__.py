"""Complete systems that the paper compares with, one per file."""
