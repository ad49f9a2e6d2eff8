"""Systems of their own, which the paper compares with; one a file."""
