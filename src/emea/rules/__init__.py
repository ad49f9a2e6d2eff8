"""Rules about the dependencies between counterparts, one a file; the file name is the rule's name."""
