"""Rules about the dependencies between counterparts, one per file; the file name is the rule's name."""
