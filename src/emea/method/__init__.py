"""The method of the paper; `em` is the place to start reading."""
