"""File formats, one a file, reader and writer together; the file name is the format's name."""
